"""Which format a file has, by name and content, and which files of a folder are its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from longtail.data._source import PathLike, Source, checked_file, shown, sibling, without_gz
from longtail.errors import DataError

BY_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arff": "mulan",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
"""Suffixes that leave no doubt."""

_DATA_SUFFIXES = (*BY_SUFFIX, ".txt", ".dat")
_NOT_DATA = re.compile(
    r"(feature_names|label_names|xf|y|yf|lbl_x_xf|filter_labels.*|readme.*|licen[cs]e.*)",
    re.IGNORECASE,
)
_PART_NAMES = {"train": ("train", "trn"), "test": ("test", "tst")}
_SPLIT_ENDS = {"train": "_trsplit", "test": "_tstsplit"}
_XMC_HEADER = re.compile(rb"\s*\d+\s+\d+\s+\d+\s*")
_SVMLIGHT_LINE = re.compile(rb"(\d+(,\s*\d+)*)?\s*(\d+:[^\s:]+(\s.*)?)?", re.DOTALL)
_HEAD_BYTES = 2**16


def recognise(path: PathLike) -> str:
    """The format of a file: what its name says if that is clear, else what it starts with.

    Parameters
    ----------
    path : path-like
        A file, gzipped or not.

    Returns
    -------
    format : str
        "xmc", "xmc-pair", "svmlight", "mulan", "jsonl", "csv" or "parquet".

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.txt")
    ...     _ = file.write_text("1 3 2\\n0,1 0:0.5 2:1\\n")
    ...     recognise(file)
    'xmc'
    """
    path = checked_file(path)
    by_name = format_by_name(path)
    if by_name is not None:
        return by_name
    with Source(path) as source:
        head = source.read(_HEAD_BYTES)
    if not head:
        raise DataError("the file is empty", path=path)
    if head.startswith(b"PAR1"):
        return "parquet"
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    first = next((line for line in lines if line.strip() and line.lstrip()[:1] not in b"#%"), b"")
    if first.lstrip().startswith(b"{"):
        return "jsonl"
    if first.strip().lower().startswith(b"@relation"):
        return "mulan"
    if _XMC_HEADER.fullmatch(first):
        return "xmc"
    if first.strip() and _SVMLIGHT_LINE.fullmatch(first.strip()):
        return "svmlight"
    raise DataError(
        f"the format cannot be told from {shown(first)}; expected XMC text (first line 'N D L'), "
        "svmlight ('0,3 1:0.5'), ARFF, JSONL, or a name that ends in .csv or .parquet; or say it "
        "with format=",
        path=path,
    )


def format_by_name(path: Path) -> str | None:
    """The format, where the name alone says it."""
    name = without_gz(path)
    if name.name.lower().endswith(("_x_xf.txt", "_x_y.txt")):
        return "xmc-pair"
    return BY_SUFFIX.get(name.suffix.lower())


@dataclass(frozen=True)
class Part:
    """A file to read, and the split file that says which of its rows to take, if any."""

    file: Path
    split_file: Path | None = None


def parts_of_folder(folder: Path) -> dict[str, Part]:
    """The parts found in a folder: "train" and "test" where they can be told, else "all".

    Looked for in this order: the new XMC layout; one file with split files; files called `train.*`
    and `test.*`, or ending so; a single data file.
    """
    try:
        files = sorted(file for file in folder.iterdir() if file.is_file())
    except OSError as error:
        raise DataError(f"the folder cannot be read: {error.strerror}", path=folder) from None
    found = _new_layout(folder) or _split_layout(files)
    if found:
        return found
    files = [file for file in files if _is_data(file)]
    for part, names in _PART_NAMES.items():
        own = [file for file in files if _stem(file).lower() in names]
        own = own or [file for file in files if re.split(r"[-_]", _stem(file).lower())[-1] in names]
        if own:
            found[part] = Part(_only(own, folder))
    if found:
        return found
    if not files:
        raise DataError(
            "the folder holds no data that can be recognised; expected train.txt and test.txt, "
            "trn_X_Xf.txt, or a single file",
            path=folder,
        )
    return {"all": Part(_only(files, folder))}


def split_parts_of_file(file: Path) -> dict[str, Part]:
    """The parts that split files beside `X_data.txt` make of it; empty if there are none."""
    try:
        return _split_layout(sorted(file.parent.iterdir()), file)
    except OSError:
        return {}


def _new_layout(folder: Path) -> dict[str, Part]:
    found = {}
    for part, start in (("train", "trn"), ("test", "tst")):
        file = sibling(folder / start, f"{start}_X_Xf.txt")
        if file is not None:
            found[part] = Part(file)
    return found


def _split_layout(files: list[Path], data: Path | None = None) -> dict[str, Part]:
    """`X_data.txt` with `x_trSplit.txt` and `x_tstSplit.txt`, whatever the capitals."""
    by_stem = {_stem(file).lower(): file for file in files}
    for stem, file in by_stem.items():
        if not stem.endswith("_data") or (data is not None and file != data):
            continue
        start = stem.removesuffix("_data")
        splits = {
            part: by_stem[start + end]
            for part, end in _SPLIT_ENDS.items()
            if start + end in by_stem
        }
        if splits:
            parts = {part: Part(file, split_file) for part, split_file in splits.items()}
            return {**parts, "all": Part(file)}
    return {}


def _is_data(file: Path) -> bool:
    name = without_gz(file)
    return (
        not file.name.startswith(".")
        and name.suffix.lower() in _DATA_SUFFIXES
        and not _NOT_DATA.fullmatch(_stem(file))
    )


def _stem(file: Path) -> str:
    return without_gz(file).stem


def _only(files: list[Path], folder: Path) -> Path:
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:5]) + (", ..." if len(files) > 5 else "")
        raise DataError(
            f"several files could be meant ({names}); give the path of one", path=folder
        )
    return files[0]
