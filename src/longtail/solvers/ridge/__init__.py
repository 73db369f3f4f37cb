"""Least squares with an l2 penalty, for many targets at once."""
