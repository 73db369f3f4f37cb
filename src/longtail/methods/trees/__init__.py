"""Classifiers that go down a tree of labels."""

from longtail.methods.trees.log_tree import LogTree

__all__ = [
    "LogTree",
]
