"""Mulan's format: an ARFF file with all attributes, and an XML file that says which are labels.

Dense and sparse ARFF are read. MEKA's way, the number of labels in the name of the relation
(`@relation 'emotions: -C 6'`), is understood where there is no XML file.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from longtail.data._arff import (
    ArffError,
    Attribute,
    quoted_name,
    read_arff_header,
    row_tokens,
    sparse_tokens,
)
from longtail.data._budget import LABEL, ROW, Budget
from longtail.data._label_xml import label_xml, read_label_xml
from longtail.data._names import set_name
from longtail.data._source import (
    MAX_LINE_BYTES,
    LineBlocks,
    PathLike,
    as_utf8,
    checked_file,
    decoded,
    shown,
    sibling,
    without_gz,
    written_whole,
)
from longtail.data._sparse_lines import LineOptions, MissingValue
from longtail.data._sparse_writing import feature_tokens, features_of, row_ranges
from longtail.data.dataset import Dataset, dataset_from_file
from longtail.errors import DataError, InputError

_MEKA = re.compile(r"-C\s+(-?\d{1,9})")
_PART = re.compile(r"[-_](train|test|trn|tst)$", re.IGNORECASE)


def read_mulan(
    path: PathLike,
    *,
    labels_file: PathLike | None = None,
    n_labels: int | None = None,
    missing_value: MissingValue = "error",
    dtype: DTypeLike = np.float32,
    max_line_bytes: int = MAX_LINE_BYTES,
    memory_limit: float | None = None,
) -> Dataset:
    """Read a Mulan ARFF file with its XML file, gzipped or not.

    Labels are attributes listed as `{0,1}` or numbers that are 0 or 1; their columns are in the
    order of the ARFF file. Numbers, and nominal attributes whose values are numbers, become one
    column; any other nominal attribute with k values becomes k - 1 columns `name=value`, all zero
    for the first value. Attributes of text or dates are refused.

    Parameters
    ----------
    path : path-like
        The ARFF file.
    labels_file : path-like, optional
        The XML file. By default the one of the same name, with or without `-train` or `-test`.
    n_labels : int, optional
        Instead of an XML file: so many attributes are labels, the first if positive, the last if
        negative.
    missing_value : "error" or float
        What `?` means for a feature.
    dtype : float32 or float64
        Type of the values.
    max_line_bytes : int
        A longer line is refused.
    memory_limit : float, optional
        GB that reading may take; by default all that is left here. A file that needs more is
        refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.arff")
    ...     write_mulan(Dataset([[0.5], [0]], [("sea",), ("sea", "sun")], ["depth"]), file)
    ...     print(file.read_text())
    ...     read_mulan(file).label_sets()
    @relation 'tiny'
    <BLANKLINE>
    @attribute 'depth' numeric
    @attribute 'sea' {0,1}
    @attribute 'sun' {0,1}
    <BLANKLINE>
    @data
    {0 0.5,1 1}
    {1 1,2 1}
    <BLANKLINE>
    [('sea',), ('sea', 'sun')]
    """
    options = LineOptions(missing_value=missing_value, dtype=dtype)
    budget = Budget(path, memory_limit)
    with LineBlocks(path, max_line_bytes=max_line_bytes, budget=budget) as blocks:
        path = blocks.path
        relation, attributes = read_arff_header(blocks)
        labels = _label_names(path, relation, attributes, labels_file, n_labels, budget)
        rows = _Rows(attributes, labels, options, budget)
        for number, raw in blocks.lines():
            budget.look_at_line(raw, b",")
            line = raw.strip()
            if not line or line.startswith(b"%"):
                continue
            try:
                if not rows.add_plain(line):
                    rows.add(decoded(blocks, number, raw).strip())
            except ArffError as fault:
                raise blocks.error(str(fault), line=number) from None
    X, Y = rows.matrices()
    return dataset_from_file(
        path,
        X,
        Y,
        feature_names=budget.name_array(rows.feature_names),
        label_names=budget.name_array(rows.label_names),
        name=set_name(path),
    )


def write_mulan(dataset: Dataset, path: PathLike) -> None:
    """Write a sparse ARFF file and, under the same name, the XML file of its labels.

    The format names every column: without names these are `f0`, `f1`, ... and `l0`, `l1`, ..., and
    that is what comes back. Texts are not written. An example stands at `read_mulan`.

    Parameters
    ----------
    dataset : Dataset
        With features.
    path : path-like
        The ARFF file; packed if its name ends in `.gz`.
    """
    X, Y, path = features_of(dataset, "ARFF"), dataset.Y, Path(path)
    features = _names(dataset.feature_names, "f", dataset.n_features)
    labels = _names(dataset.label_names, "l", dataset.n_labels)
    names = features + labels
    if not names or len(set(names)) < len(names) or "" in names:
        raise InputError("ARFF needs a name of its own for every feature and label; rename some.")
    stem = without_gz(path).stem
    with written_whole(path.with_name(f"{stem}.xml")) as file:
        file.write(label_xml(labels))
    header = [f"@relation {quoted_name(stem)}", ""]
    header += [f"@attribute {quoted_name(name)} numeric" for name in features]
    header += [f"@attribute {quoted_name(name)} {{0,1}}" for name in labels]
    header += ["", "@data", ""]
    with written_whole(path) as file:
        file.write(as_utf8("\n".join(header)))
        for begin, end in row_ranges(X):
            rows = sp.hstack([X[begin:end], Y[begin:end]], format="csr")
            lines = feature_tokens(rows, 0, end - begin, form="{} {}", joint=",")
            file.write("".join(f"{{{line}}}\n" for line in lines).encode("ascii"))


@dataclass
class _Rows:
    """The rows read so far, in flat arrays."""

    attributes: list[Attribute]
    labels: set[str]
    options: LineOptions
    budget: Budget
    feature_names: list[str] = field(default_factory=list)
    label_names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.feature_ends, self.label_ends = array("q", [0]), array("q", [0])
        self.feature_ids, self.label_ids = array("i"), array("i")
        self.values = array("f" if self.options.dtype == np.float32 else "d")
        self.columns = np.empty(len(self.attributes), dtype=np.int64)
        self.is_label = np.zeros(len(self.attributes), dtype=bool)
        for number, attribute in enumerate(self.attributes):
            names = self.label_names if attribute.name in self.labels else self.feature_names
            self.columns[number] = len(names)
            self.is_label[number] = names is self.label_names
            names += [attribute.name] if self.is_label[number] else attribute.column_names
        kinds = [attribute.of for attribute in self.attributes]
        self.is_binary = np.array([kind.is_binary for kind in kinds])
        self.is_plain = all(kind.values is None or kind.is_binary for kind in kinds)
        self.unsafe_if_sparse = [a.name for a in self.attributes if not a.of.zero_first]

    def add_plain(self, line: bytes) -> bool:
        """Take a row of nothing but numbers the quick way; False if it is not one, or faulty."""
        if not self.is_plain or b"_" in line:
            return False
        try:
            if line.startswith(b"{"):
                pairs = [piece.split() for piece in line[1:].removesuffix(b"}").split(b",")]
                numbers = np.array([int(number) for number, _ in pairs])
                row = np.array([float(value) for _, value in pairs])
            else:
                row = np.array(list(map(float, line.split(b","))))
                numbers = np.arange(len(row))
        except (ValueError, OverflowError):
            return False
        if line.startswith(b"{"):
            if not line.endswith(b"}") or self.unsafe_if_sparse:
                return False
            if numbers.min() < 0 or numbers.max() >= len(self.attributes):
                return False
            if len(np.unique(numbers)) < len(numbers):
                return False
        elif len(row) != len(self.attributes):
            return False
        if not (np.abs(row) < self.options.too_large).all():
            return False
        is_label = self.is_label[numbers]
        binary = row[is_label | self.is_binary[numbers]]
        if not ((binary == 0) | (binary == 1)).all():
            return False
        columns = self.columns[numbers]
        filled = row != 0
        self.label_ids.extend(columns[filled & is_label].tolist())
        self.feature_ids.extend(columns[filled & ~is_label].tolist())
        self.values.extend(row[filled & ~is_label].tolist())
        self._end_row()
        return True

    def add(self, line: str) -> None:
        """Take a row of any kind."""
        if line.startswith("{"):
            if self.unsafe_if_sparse:
                raise ArffError(
                    f"the attribute {shown(self.unsafe_if_sparse[0])} lists another value before "
                    "0, so rows that leave it out would not mean 0; list 0 first"
                )
            for number, token, quoted in sparse_tokens(line):
                if number >= len(self.attributes):
                    raise ArffError(
                        f"there is no attribute {number}; the last is {len(self.attributes) - 1}"
                    )
                self._add_value(number, token, quoted)
        else:
            tokens = row_tokens(line)
            if len(tokens) != len(self.attributes):
                raise ArffError(
                    f"expected {len(self.attributes)} values, one per attribute, "
                    f"found {len(tokens)}"
                )
            for number, (token, quoted) in enumerate(tokens):
                self._add_value(number, token, quoted)
        self._end_row()

    def _add_value(self, number: int, token: str, quoted: bool) -> None:
        attribute = self.attributes[number]
        if token == "?" and not quoted:
            if self.is_label[number] or self.options.missing_value == "error":
                hint = "" if self.is_label[number] else "; pass missing_value=0 to take it as 0"
                raise ArffError(f"the value of {shown(attribute.name)} is missing{hint}")
            offset, value = 0, float(self.options.missing_value)
        else:
            offset, value = attribute.entry(token)
        if value == 0:
            return
        if abs(value) >= self.options.too_large:
            hint = "; pass dtype='float64'" if self.options.dtype == np.float32 else ""
            raise ArffError(f"the value {shown(token)} is too large for {self.options.dtype}{hint}")
        if not self.is_label[number]:
            self.feature_ids.append(int(self.columns[number]) + offset)
            self.values.append(value)
        elif value == 1:
            self.label_ids.append(int(self.columns[number]))
        else:
            raise ArffError(f"the label {shown(attribute.name)} is {value:g}; expected 0 or 1")

    def _end_row(self) -> None:
        entries = len(self.feature_ids) - self.feature_ends[-1]
        labels = len(self.label_ids) - self.label_ends[-1]
        self.budget.take(ROW + LABEL * labels + (LABEL + self.values.itemsize) * entries)
        self.feature_ends.append(len(self.feature_ids))
        self.label_ends.append(len(self.label_ids))

    def matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """X and Y."""
        ones = np.ones(len(self.label_ids), dtype=np.float32)
        X, Y = (
            sp.csr_array(
                (np.asarray(values), np.asarray(ids), np.asarray(ends)),
                shape=(len(ends) - 1, len(names)),
            )
            for values, ids, ends, names in (
                (self.values, self.feature_ids, self.feature_ends, self.feature_names),
                (ones, self.label_ids, self.label_ends, self.label_names),
            )
        )
        for matrix in (X, Y):
            matrix.sort_indices()
            matrix.eliminate_zeros()
        return X, Y


def _label_names(
    path: Path,
    relation: str,
    attributes: list[Attribute],
    labels_file: PathLike | None,
    n_labels: int | None,
    budget: Budget,
) -> set[str]:
    """Which attributes are labels: by XML file, by number, or by the name of the relation."""
    names = [attribute.name for attribute in attributes]
    file = _xml_beside(path) if labels_file is None else checked_file(labels_file)
    if n_labels is None and file is not None:
        labels = set(read_label_xml(file, budget))
        unknown = labels.difference(names)
        if unknown:
            raise DataError(
                f"the label {shown(min(unknown))} is not an attribute of {path.name}", path=file
            )
    else:
        meka = _MEKA.search(relation)
        count = n_labels if n_labels is not None or meka is None else int(meka[1])
        if count is None:
            raise DataError(
                f"nothing says which attributes are labels; expected {without_gz(path).stem}.xml "
                "beside this file, or pass labels_file or n_labels",
                path=path,
            )
        if abs(count) > len(names):
            raise DataError(
                f"{abs(count)} labels were asked for, but there are {len(names)} attributes",
                path=path,
            )
        labels = set(names[:count] if count >= 0 else names[count:])
    for attribute in attributes:
        if attribute.name in labels and not (attribute.of.values is None or attribute.of.is_binary):
            raise DataError(
                f"the label {shown(attribute.name)} is not declared as {{0,1}} or numeric",
                path=path,
            )
    return labels


def _xml_beside(path: Path) -> Path | None:
    stem = without_gz(path).stem
    return sibling(path, f"{stem}.xml") or sibling(path, f"{_PART.sub('', stem)}.xml")


def _names(names: NDArray[Any] | None, letter: str, width: int) -> list[str]:
    if names is None:
        return [f"{letter}{number}" for number in range(width)]
    return [str(name) for name in names.tolist()]
