"""What the labels look like: encoding, counts and tail, propensities, the co-occurrence graph."""

from longtail.labels.encoding import (
    EncodedLabels,
    decode_labels,
    encode_labels,
    matrix_to_names,
    name_array,
    names_to_matrix,
)

__all__ = [
    "EncodedLabels",
    "decode_labels",
    "encode_labels",
    "matrix_to_names",
    "name_array",
    "names_to_matrix",
]
