"""longtail: classification with very many labels, most of them rare."""

from longtail._version import __version__

__all__ = ["__version__"]
