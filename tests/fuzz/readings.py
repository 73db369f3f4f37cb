"""The same files read in the plainest way, to compare with what longtail's readers give.

A reading says what a file holds if it is good; whether it is good is for longtail to say. So these
functions may be asked about accepted files only.
"""

from __future__ import annotations

import csv
import json
import re
from typing import Any

import numpy as np

UTF8_MARK = b"\xef\xbb\xbf"
_GAPS = b" \t\r"
_LABELS = re.compile(rb"\+?\d+(?:,[ \t\r]*\+?\d+)*(?![^ \t\r])")

Point = tuple[set[int], dict[int, float]]


def sparse_lines(content: bytes, *, header: bool) -> list[Point]:
    """The points of XMC text (with a header) or svmlight: label ids, and values by feature id."""
    lines = [line.partition(b"#")[0] for line in content.removeprefix(UTF8_MARK).split(b"\n")]
    lines = [line for line in lines if line.strip(_GAPS)]
    points = []
    for line in lines[1:] if header else lines:
        found = _LABELS.match(line)
        labels = set() if found is None else {int(word) for word in found[0].split(b",")}
        values = {}
        for word in line[0 if found is None else found.end() :].translate(_TO_BLANKS).split(b" "):
            if word:
                feature, _, value = word.partition(b":")
                values[int(feature)] = float(np.float32(float(value)))
        points.append((labels, {place: value for place, value in values.items() if value}))
    return points


_TO_BLANKS = bytes.maketrans(_GAPS, b" " * len(_GAPS))


def points_of(data: Any) -> list[Point]:
    """The same of a data set with features."""
    found = []
    for row in range(len(data)):
        y = data.Y.indices[data.Y.indptr[row] : data.Y.indptr[row + 1]]
        part = slice(data.X.indptr[row], data.X.indptr[row + 1])
        values = zip(data.X.indices[part].tolist(), data.X.data[part].tolist(), strict=True)
        found.append((set(y.tolist()), dict(values)))
    return found


def json_lines(content: bytes) -> list[tuple[str, Any]]:
    """The texts and labels of JSON lines."""
    texts = [line.decode() for line in content.removeprefix(UTF8_MARK).split(b"\n")]
    records = [json.loads(text) for text in texts if text.strip()]
    return [(record["text"], record["labels"]) for record in records]


def table(content: bytes, delimiter: str) -> list[tuple[str, str]]:
    """The texts and label cells of a table."""
    text = content.removeprefix(UTF8_MARK).decode()
    lines = [f"{line}\n" for line in text.split("\n")]
    if lines and lines[-1] == "\n":
        lines.pop()
    before = csv.field_size_limit(2**24)
    try:
        records = [record for record in csv.reader(lines, delimiter=delimiter) if record]
    finally:
        csv.field_size_limit(before)
    header = records[0]
    columns = header.index("text"), header.index("labels")
    return [(record[columns[0]], record[columns[1]]) for record in records[1:]]


def plain_lines(content: bytes) -> list[str]:
    """The texts of a file with one per line."""
    lines = content.removeprefix(UTF8_MARK).split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r").decode() for line in lines]
