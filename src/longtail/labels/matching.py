"""Labels for a model that has classes already: tables are matched with them by name.

A table whose column names have nothing in common with the classes is taken by place, like a matrix
without names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from longtail.errors import InputError
from longtail.labels.columns import place_columns
from longtail.labels.encoding import EncodedLabels, Kind, decode_labels, encode_labels
from longtail.labels.names import listed, name_array
from longtail.labels.tables import are_numbers, table_columns


def encode_like(Y: Any, classes: Iterable[Hashable] | None) -> EncodedLabels:
    """As `encode_labels`, but a table that is matched by name is of the kind "names".

    Examples
    --------
    >>> import polars
    >>> table = polars.DataFrame({"sun": [0, 1], "fog": [1, 0]})
    >>> encode_like(table, ["sea", "sun"]).kind, encode_like(table, ["a", "b"]).kind
    ('names', 'dense')
    """
    encoded = encode_labels(Y)
    columns = table_columns(Y)
    if columns is None or classes is None or encoded.kind not in ("dense", "sparse"):
        return encoded
    if not _speak_of_the_same(columns, listed(classes)):
        return encoded
    return replace(encoded, classes=name_array(columns), kind="names", named=True)


def _speak_of_the_same(columns: list[Any], names: list[Any]) -> bool:
    if are_numbers(columns) and are_numbers(names):
        return False  # by place, so that one table too wide is an error
    return bool(set(columns) & set(names))


def as_predicted(Y: Any, classes: Iterable[Hashable], kind: Kind) -> Any:
    """A table as labels of the kind that a model with these classes predicts; others as they are.

    A matrix comes sparse. A table that is matched by name must have a column for every class, and
    none besides.

    Examples
    --------
    >>> import polars
    >>> table = polars.DataFrame({"sun": [0, 1], "sea": [1, 1]})
    >>> as_predicted(table, ["sea", "sun"], "names")
    [('sea',), ('sea', 'sun')]
    >>> as_predicted([("sea",)], ["sea", "sun"], "names")
    [('sea',)]
    """
    columns = table_columns(Y)
    if columns is None:
        return Y
    encoded, names = encode_labels(Y), listed(classes)
    matrix = encoded.matrix
    if encoded.kind in ("names", "multiclass"):  # a table whose cells hold names
        return decode_labels(matrix, encoded.classes, encoded.kind)
    if _speak_of_the_same(columns, names):
        places = {name: place for place, name in enumerate(names)}
        unknown = [name for name in columns if name not in places]
        if unknown:
            raise InputError(
                f"Y has a column {unknown[0]!r}, which the model does not know; leave it out."
            )
        given = set(columns)
        absent = [name for name in names if name not in given]
        if absent:
            raise InputError(
                f"Y has no column for the label {absent[0]!r} of the model; give one for each."
            )
        matrix = place_columns(replace(encoded, classes=name_array(columns)), places)
    elif matrix.shape[1] != len(names):
        raise InputError(
            f"Y has {matrix.shape[1]} label columns, the model {len(names)}; give both the same "
            "columns."
        )
    return decode_labels(matrix, name_array(names), "sparse" if kind == "dense" else kind)
