"""The version of longtail, read by the build and by the model store."""

__version__ = "0.1.0.dev0"
