"""Tables with a column of texts and a column of labels: JSONL, CSV and Parquet.

The data sets they give have texts and no X. Label columns are in the order of the sorted names, or
of `label_names.txt` where that lies in the same folder. CSV is read by Python's own `csv`, which
knows the line of every fault and needs no more memory than the rows; Parquet by polars.
"""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from longtail.data._label_cells import (
    TableOptions,
    TableRows,
    at_line,
    at_row,
    labels_as_text,
    missing_column,
)
from longtail.data._names import LABEL_NAMES, set_name, write_names_beside
from longtail.data._sink import as_utf8, written_whole
from longtail.data._source import (
    MAX_LINE_BYTES,
    LineBlocks,
    PathLike,
    checked_file,
    decoded,
    shown,
    without_gz,
)
from longtail.data.dataset import Dataset
from longtail.errors import DataError, InputError, ParameterError

_FIELD_LIMIT = threading.Lock()
_PLAUSIBLE_ROWS = 10_000_000
_PLAUSIBLE_ROWS_A_BYTE = 200


def read_jsonl(
    path: PathLike,
    *,
    text_column: str | Sequence[str] = "text",
    labels_column: str | None = "labels",
    label_separator: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Dataset:
    """Read a JSON object a line, gzipped or not. Blank lines are skipped.

    Parameters
    ----------
    path : path-like
        The file.
    text_column : str or sequence of str
        The key of the text; several are joined by newlines.
    labels_column : str or None
        The key of the labels: a list of strings or of whole numbers, a string of labels with a
        separator, or null. None: there are no labels, as in data to predict.
    label_separator : str, optional
        What stands between labels in a string; "" for a string that is one label. By default the
        only one of `;`, `|` and `,` that occurs in the file's label strings; if several do, you are
        asked to say. Strings that are lists in JSON are read as such.
    max_line_bytes : int
        A longer line is refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.jsonl")
    ...     _ = file.write_text('{"text": "at the beach", "labels": ["sea", "sun"]}\\n')
    ...     read_jsonl(file).label_sets()
    [('sea', 'sun')]
    """
    options = TableOptions(text_column, labels_column, label_separator)
    with LineBlocks(path, max_line_bytes=max_line_bytes) as blocks:
        if blocks.is_empty:
            raise blocks.error("the file is empty; expected a JSON object a line")
        rows = TableRows(blocks.path, options, at_line)
        for number, line in blocks.lines():
            text = decoded(blocks, number, line)
            if not text.strip():
                continue
            record = _json_object(blocks.path, number, text)
            for name in options.columns:
                if name not in record:
                    raise missing_column(blocks.path, name, list(record), number)
            cell = None if labels_column is None else record[labels_column]
            rows.add(number, (record[name] for name in options.text_columns), cell)
    return rows.dataset(set_name(rows.path))


def read_csv(
    path: PathLike,
    *,
    text_column: str | Sequence[str] = "text",
    labels_column: str | None = "labels",
    label_separator: str | None = None,
    delimiter: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Dataset:
    """Read a table with a header line and quoted fields where needed, gzipped or not.

    Parameters
    ----------
    path : path-like
        The file.
    text_column, labels_column, label_separator
        As in `read_jsonl`; an empty cell means no labels.
    delimiter : str, optional
        What stands between fields: by default a tab if the name says `.tsv`, a comma otherwise.
    max_line_bytes : int
        A longer line or field is refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.csv")
    ...     _ = file.write_text("text,labels\\nat the beach,sea;sun\\nindoors,\\n")
    ...     read_csv(file).label_sets()
    [('sea', 'sun'), ()]
    """
    options = TableOptions(text_column, labels_column, label_separator)
    if delimiter is None:
        delimiter = "\t" if without_gz(Path(path)).suffix.lower() == ".tsv" else ","
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(f"delimiter must be a single character, not {delimiter!r}.")
    with LineBlocks(path, max_line_bytes=max_line_bytes) as blocks, _field_limit(max_line_bytes):
        if blocks.is_empty:
            raise blocks.error("the file is empty; expected a header line with names of columns")
        records = _csv_records(blocks, delimiter)
        _, header = next(records, (1, []))
        for name in options.columns:
            if name not in header:
                raise missing_column(blocks.path, name, header, 1)
            if header.count(name) > 1:
                raise blocks.error(f"the header names {name!r} twice; rename one", line=1)
        text_places = [header.index(name) for name in options.text_columns]
        labels_place = None if labels_column is None else header.index(labels_column)
        rows = TableRows(blocks.path, options, at_line)
        for number, record in records:
            if len(record) != len(header):
                raise blocks.error(
                    f"expected {len(header)} fields as in the header, found {len(record)}; fields "
                    f"that hold {delimiter!r} need quotes",
                    line=number,
                )
            cell = None if labels_place is None else record[labels_place]
            rows.add(number, (record[place] for place in text_places), cell)
    return rows.dataset(set_name(rows.path))


def read_parquet(
    path: PathLike,
    *,
    text_column: str | Sequence[str] = "text",
    labels_column: str | None = "labels",
    label_separator: str | None = None,
) -> Dataset:
    """Read a Parquet file.

    Parameters
    ----------
    path : path-like
        The file.
    text_column, labels_column, label_separator
        As in `read_jsonl`; the labels are a column of lists, strings or whole numbers.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.parquet")
    ...     write_parquet(Dataset(None, [("sea", "sun")], texts=["at the beach"]), file)
    ...     read_parquet(file).label_sets()
    [('sea', 'sun')]
    """
    import polars as pl

    options = TableOptions(text_column, labels_column, label_separator)
    path = checked_file(path)
    if not path.stat().st_size:
        raise DataError("the file is empty; expected Parquet", path=path)
    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = frame.collect_schema().names()
        for name in options.columns:
            if name not in columns:
                raise missing_column(path, name, columns, None)
        n_rows = frame.select(pl.len()).collect().item()
        if n_rows > max(_PLAUSIBLE_ROWS, _PLAUSIBLE_ROWS_A_BYTE * path.stat().st_size):
            raise DataError(
                f"the file claims {n_rows} rows, far more than its size can hold", path=path
            )
        table = frame.select(list(dict.fromkeys(options.columns))).collect()
        columns_of_text = [table[name].to_list() for name in options.text_columns]
        cells = [None] * len(table) if labels_column is None else table[labels_column].to_list()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"this is not a Parquet file, or a damaged one ({shown(str(error), 120)})", path=path
        ) from None
    rows = TableRows(path, options, at_row)
    for number, (*texts, cell) in enumerate(zip(*columns_of_text, cells, strict=True), 1):
        rows.add(number, texts, cell)
    return rows.dataset(set_name(path))


def write_jsonl(dataset: Dataset, path: PathLike) -> None:
    """Write a JSON object a line: `text` and the list of `labels`.

    X is not written. Where the labels that occur, sorted, are not the label columns, these are
    written to `label_names.txt` in the same folder.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.jsonl")
    ...     write_jsonl(Dataset(None, [("sea", "sun")], texts=["at the beach"]), file)
    ...     print(file.read_text(), end="")
    {"text": "at the beach", "labels": ["sea", "sun"]}
    """
    texts = _texts(dataset)
    with written_whole(path) as file:
        _write_label_order(dataset, Path(path))
        for text, labels in zip(texts, dataset.label_sets(), strict=True):
            record = json.dumps({"text": text, "labels": list(labels)}, ensure_ascii=False)
            file.write(as_utf8(record + "\n"))


def write_csv(dataset: Dataset, path: PathLike) -> None:
    """Write a table of `text` and `labels`, tab-separated if the name says `.tsv`.

    Labels are joined by `;`, or written as lists in JSON where names would not come back from that.
    Otherwise as `write_jsonl`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.csv")
    ...     write_csv(Dataset(None, [("sea", "sun")], texts=["at the beach"]), file)
    ...     print(file.read_text(), end="")
    "text","labels"
    "at the beach","sea;sun"
    """
    texts = _texts(dataset)
    delimiter = "\t" if without_gz(Path(path)).suffix.lower() == ".tsv" else ","
    with written_whole(path) as file:
        _write_label_order(dataset, Path(path))
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(("text", "labels"))
        for row in zip(texts, labels_as_text(dataset.label_sets()), strict=True):
            writer.writerow(row)
            if buffer.tell() > 2**20:
                file.write(as_utf8(buffer.getvalue()))
                buffer.seek(0)
                buffer.truncate()
        file.write(as_utf8(buffer.getvalue()))


def write_parquet(dataset: Dataset, path: PathLike) -> None:
    """Write a Parquet file with a column `text` and a column `labels` of lists.

    Otherwise as `write_jsonl`; for an example see `read_parquet`.
    """
    import polars as pl

    texts = _texts(dataset)
    labels = [list(row) for row in dataset.label_sets()]
    kind = pl.Int64 if dataset.classes.dtype.kind in "iu" else pl.String
    for text in (*texts, *(name for row in labels for name in row if kind == pl.String)):
        as_utf8(text)
    frame = pl.DataFrame(
        {"text": texts, "labels": labels}, schema={"text": pl.String, "labels": pl.List(kind)}
    )
    with written_whole(path) as file:
        _write_label_order(dataset, Path(path))
        frame.write_parquet(file)


def _texts(dataset: Dataset) -> list[str]:
    if dataset.texts is None:
        raise InputError(
            "Tables hold texts, and the data set has none; save it as XMC text, svmlight or ARFF."
        )
    if not dataset.texts:
        raise InputError("The data set has no points, and an empty table cannot be read back.")
    kinds = {type(name) for name in dataset.classes.tolist()}
    if not (kinds <= {str} or kinds <= {int}):
        raise InputError(
            "Tables hold labels that are all strings or all whole numbers; rename the labels."
        )
    return dataset.texts


def _write_label_order(dataset: Dataset, path: Path) -> None:
    """Keep the label columns in a file of names if reading would not find them by itself."""
    names = dataset.classes.tolist()
    if len(np.unique(dataset.Y.indices)) < len(names) or names != sorted(names):
        write_names_beside(path, dataset.classes, LABEL_NAMES)


def _json_object(path: Path, number: int, text: str) -> dict[str, Any]:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise DataError("a key occurs twice in the object", path=path, line=number)
        return found

    try:
        value = json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        raise DataError(
            f"expected a JSON object, found {shown(text)} ({error.msg} at column {error.colno})",
            path=path,
            line=number,
        ) from None
    except DataError:
        raise
    except RecursionError:
        raise DataError("the JSON is nested too deep", path=path, line=number) from None
    except ValueError:
        raise DataError(
            "the JSON holds a number too long to read", path=path, line=number
        ) from None
    if not isinstance(value, dict):
        raise DataError(
            f'expected a JSON object such as {{"text": ..., "labels": [...]}}, found {shown(text)}',
            path=path,
            line=number,
        )
    return value


def _csv_records(blocks: LineBlocks, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line that each starts in; blank lines are skipped."""
    lines = (f"{decoded(blocks, n, line)}\n" for n, line in blocks.lines(keep_returns=True))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise blocks.error(
                f"the quotes or fields from here on cannot be made out ({error})", line=start
            ) from None
        if record is None:
            return
        if record:
            yield start, record


@contextmanager
def _field_limit(size: int) -> Iterator[None]:
    """Let `csv` take fields up to `size`; its own limit is one setting for the whole process."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(size)
        try:
            yield
        finally:
            csv.field_size_limit(before)
