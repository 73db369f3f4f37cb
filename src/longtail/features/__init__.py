"""X from raw material: texts to weighted words, rows to one scale."""

from longtail.features.registry import find_transformer, transformers
from longtail.features.scaling import RowScaler
from longtail.features.text import TextFeatures

__all__ = [
    "RowScaler",
    "TextFeatures",
    "find_transformer",
    "transformers",
]
