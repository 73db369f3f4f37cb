"""Boosted trees, by LightGBM."""
