"""Labels for a model that has classes already: tables are matched with them by name.

A table whose column names have nothing in common with the classes is taken by place, like a matrix
without names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from longtail.errors import InputError
from longtail.labels.encoding import EncodedLabels, Kind, decode_labels, encode_labels
from longtail.labels.names import listed, name_array, place_columns
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


def in_columns_of(
    Y: Any, classes: Iterable[Hashable], *, all_of_table: bool = False
) -> EncodedLabels:
    """Labels with the columns of a model, and behind these one for each name that it lacks.

    Parameters
    ----------
    Y : array, sparse matrix, table or sequence of label collections
        As `encode_labels` takes it. What has no names is taken by place.
    classes : sequence
        The labels of the model.
    all_of_table : bool
        Whether a table that is matched by name must have a column for every class, and none
        besides.

    Examples
    --------
    >>> in_columns_of([("sun",), ("fog",)], ["sea", "sun"]).matrix.toarray().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    names = listed(classes)
    encoded = encode_like(Y, names)
    if encoded.kind not in ("names", "multiclass"):
        if encoded.matrix.shape[1] != len(names):
            raise InputError(
                f"y has {encoded.matrix.shape[1]} label columns, the model {len(names)}; give both "
                "the same columns, or y as names."
            )
        return replace(encoded, classes=name_array(names))
    if all_of_table and encoded.classes.tolist() == table_columns(Y):
        _refuse_other_columns(encoded.classes.tolist(), names)
    places = {name: place for place, name in enumerate(names)}
    matrix = place_columns(encoded, places)
    return replace(encoded, matrix=matrix, classes=name_array(list(places)))


def _refuse_other_columns(columns: list[Any], names: list[Any]) -> None:
    known, given = set(names), set(columns)
    unknown = next((name for name in columns if name not in known), None)
    if unknown is not None:
        raise InputError(
            f"y has a column {unknown!r}, which the model does not know; leave it out."
        )
    absent = next((name for name in names if name not in given), None)
    if absent is not None:
        raise InputError(
            f"y has no column for the label {absent!r} of the model; give one for each."
        )


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
    if table_columns(Y) is None:
        return Y
    encoded = encode_labels(Y)
    if encoded.kind in ("names", "multiclass"):  # a table whose cells hold names
        return decode_labels(encoded.matrix, encoded.classes, encoded.kind)
    encoded = in_columns_of(Y, classes, all_of_table=True)
    return decode_labels(encoded.matrix, encoded.classes, "sparse" if kind == "dense" else kind)
