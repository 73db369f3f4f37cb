"""Tables with a column of texts and a column of labels: JSONL, CSV and Parquet.

The data sets they give have texts and no X. Label columns are in the order of the sorted names, or
of `label_names.txt` where that lies in the same folder. `_records` reads JSONL and CSV, as it does
for `longtail.data.streaming`; polars reads Parquet.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longtail.data._budget import ROW, Budget
from longtail.data._label_cells import (
    OnError,
    TableOptions,
    TableRows,
    labels_as_text,
    missing_column,
)
from longtail.data._names import LABEL_NAMES, set_name, write_names_beside
from longtail.data._parquet import decoded
from longtail.data._records import TextFormat, check_delimiter, table_rows, usual_delimiter
from longtail.data._source import (
    MAX_LINE_BYTES,
    LineBlocks,
    PathLike,
    as_utf8,
    checked_file,
    written_whole,
)
from longtail.data.dataset import Dataset
from longtail.errors import DataError, InputError
from longtail.runtime.turns import is_forked


def read_jsonl(
    path: PathLike,
    *,
    text_column: str | Sequence[str] = "text",
    labels_column: str | None = "labels",
    label_separator: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_error: OnError = "raise",
    memory_limit: float | None = None,
) -> Dataset:
    """Read one JSON object per line, gzipped or not. Blank lines are skipped.

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
        only one of `;`, `|` and `,` that occurs in the file's label strings; if several do, you
        must give it. Strings that are lists in JSON are read as such.
    max_line_bytes : int
        A longer line is refused.
    on_error : {"raise", "skip"}
        What becomes of a bad row. "skip": it is left out, and a warning names the first of them.
    memory_limit : float, optional
        GB that reading may take; by default all that is left here. A file that needs more is
        refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.jsonl")
    ...     _ = file.write_text('{"text": "at the beach", "labels": ["sea", "sun"]}\\n')
    ...     read_jsonl(file).label_sets()
    [('sea', 'sun')]
    """
    options = TableOptions(text_column, labels_column, label_separator, on_error)
    wanted = "one JSON object per line"
    return _read_lines(path, "jsonl", options, max_line_bytes, memory_limit, wanted)


def read_csv(
    path: PathLike,
    *,
    text_column: str | Sequence[str] = "text",
    labels_column: str | None = "labels",
    label_separator: str | None = None,
    delimiter: str | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_error: OnError = "raise",
    memory_limit: float | None = None,
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
    on_error, memory_limit
        As in `read_jsonl`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.csv")
    ...     _ = file.write_text("text,labels\\nat the beach,sea;sun\\nindoors,\\n")
    ...     read_csv(file).label_sets()
    [('sea', 'sun'), ()]
    """
    options = TableOptions(text_column, labels_column, label_separator, on_error)
    check_delimiter(delimiter)
    wanted = "a header line with names of columns"
    return _read_lines(path, "csv", options, max_line_bytes, memory_limit, wanted, delimiter)


def _read_lines(
    path: PathLike,
    format: TextFormat,
    options: TableOptions,
    max_line_bytes: int,
    memory_limit: float | None,
    wanted: str,
    delimiter: str | None = None,
) -> Dataset:
    budget = Budget(path, memory_limit)
    with LineBlocks(path, max_line_bytes=max_line_bytes, budget=budget) as blocks:
        if blocks.is_empty:
            raise blocks.error(f"the file is empty; expected {wanted}")
        rows = TableRows(blocks.path, options, budget)
        for row in table_rows(
            blocks, format, options, delimiter=delimiter, max_field_bytes=max_line_bytes
        ):
            if isinstance(row, DataError):
                rows.refuse(row)
            else:
                rows.add(*row)
    return rows.dataset(set_name(rows.path))


def read_parquet(
    path: PathLike,
    *,
    text_column: str | Sequence[str] = "text",
    labels_column: str | None = "labels",
    label_separator: str | None = None,
    on_error: OnError = "raise",
    memory_limit: float | None = None,
    trusted: bool = False,
) -> Dataset:
    """Read a Parquet file.

    Parameters
    ----------
    path : path-like
        The file.
    text_column, labels_column, label_separator, on_error, memory_limit
        As in `read_jsonl`; the labels are a column of lists, strings or whole numbers.
    trusted : bool
        Whether to decode the file in this process. By default another process decodes it, with
        limits on its memory and time, because a damaged file can end the process that decodes it.
        That takes a third of a second more.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.parquet")
    ...     write_parquet(Dataset(None, [("sea", "sun")], texts=["at the beach"]), file)
    ...     read_parquet(file).label_sets()
    [('sea', 'sun')]
    """
    options = TableOptions(text_column, labels_column, label_separator, on_error)
    path = checked_file(path)
    if not path.stat().st_size:
        raise DataError("the file is empty; expected Parquet", path=path)
    budget = Budget(path, memory_limit)
    rows = TableRows(path, options, budget, by_line=False)
    number = 0
    for part in decoded(path, options.columns, budget, trusted=trusted):
        if isinstance(part, dict):
            for name in options.columns:
                if name not in part["columns"]:
                    raise missing_column(path, name, part["columns"], None)
            budget.look(ROW * part["rows"])
            continue
        for cells in part:
            number += 1
            texts = cells[: len(options.text_columns)]
            rows.add(number, texts, None if labels_column is None else cells[-1])
    return rows.dataset(set_name(path))


def write_jsonl(dataset: Dataset, path: PathLike) -> None:
    """Write one JSON object per line: `text` and the list of `labels`.

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
    delimiter = usual_delimiter(Path(path))
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

    Otherwise as `write_jsonl`; for an example see `read_parquet`. A forked process cannot do it.
    """
    import polars as pl

    if is_forked():
        raise DataError(
            "a forked process cannot write Parquet; write JSONL or CSV, or start the process by "
            "spawn",
            path=path,
        )
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
