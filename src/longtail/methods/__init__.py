"""The classifiers, one folder per family, and the registry that finds them by name."""

from longtail.methods.registry import Method, find_method, methods

__all__ = ["Method", "find_method", "methods"]
