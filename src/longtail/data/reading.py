"""`read_dataset` and `save`: any format by one name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from longtail.data._source import PathLike, checked_file
from longtail.data.dataset import Dataset, concatenate
from longtail.data.mulan import read_mulan, write_mulan
from longtail.data.recognise import (
    Part,
    format_by_name,
    parts_of_folder,
    recognise,
    split_parts_of_file,
)
from longtail.data.svmlight import read_svmlight, write_svmlight
from longtail.data.tables import (
    read_csv,
    read_jsonl,
    read_parquet,
    write_csv,
    write_jsonl,
    write_parquet,
)
from longtail.data.xmc import read_split, read_xmc, write_xmc
from longtail.data.xmc_pair import read_xmc_pair, write_xmc_pair
from longtail.errors import DataError, InputError, ParameterError

_FORMATS: dict[str, tuple[Callable[..., Dataset], Callable[[Dataset, PathLike], None]]] = {
    "xmc": (read_xmc, write_xmc),
    "xmc-pair": (read_xmc_pair, write_xmc_pair),
    "svmlight": (read_svmlight, write_svmlight),
    "mulan": (read_mulan, write_mulan),
    "jsonl": (read_jsonl, write_jsonl),
    "csv": (read_csv, write_csv),
    "parquet": (read_parquet, write_parquet),
}
"""How each format is read and written."""


def read_dataset(
    path: PathLike,
    *,
    format: str | None = None,
    part: Literal["train", "test", "all"] | None = None,
    split: int = 0,
    **options: Any,
) -> Dataset:
    """Read a data set from a file or a folder, in any known format.

    Parameters
    ----------
    path : path-like
        A file, gzipped or not, or a folder: with `train.*` and `test.*`, with the files of the new
        XMC layout, with one file and its split files, or with a single data file.
    format : str, optional
        "xmc", "xmc-pair" (the new layout), "svmlight", "mulan", "jsonl", "csv" or "parquet"; by
        default inferred from the name and the content.
    part : {"train", "test", "all"}, optional
        Which part of a folder; by default the training part if there are parts. "all" is the
        training part followed by the test part.
    split : int
        Which split, counted from zero, where split files have several.
    **options
        Passed to the reader of the format, for instance `text_column` to `read_csv`.

    Raises
    ------
    DataError
        With file and line, if the file is not what it should be.

    See Also
    --------
    read_xmc, read_xmc_pair, read_svmlight, read_mulan, read_jsonl, read_csv, read_parquet

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "docs.csv")
    ...     _ = file.write_text("body,tags\\nat the beach,sea;sun\\n")
    ...     read_dataset(file, text_column="body", labels_column="tags").label_sets()
    [('sea', 'sun')]
    """
    if part not in (None, "train", "test", "all"):
        raise ParameterError(f"part must be 'train', 'test' or 'all', not {part!r}.")
    check_format(format)
    path = Path(path)
    if os.path.isdir(path):  # False, not an error, for a name that cannot be
        parts = parts_of_folder(path)
    else:
        parts = split_parts_of_file(path) if part is not None else {}
        if part is not None and not parts:
            checked_file(path)
            raise ParameterError(f"part={part!r} is for folders; {path} is a file of its own.")
        parts = parts or {"all": Part(path)}
    wanted: str = part or ("train" if "train" in parts else next(iter(parts)))
    if wanted == "all" and "all" not in parts:
        return _all_of(path, [_read(file, format, split, options) for file in parts.values()])
    if wanted not in parts:
        found = " and ".join(each.file.name for each in parts.values())
        raise DataError(f"there is no {wanted} part here, only {found}", path=path)
    return _read(parts[wanted], format, split, options)


def check_format(format: str | None) -> None:
    """Refuse a format that there is no reader for; None means any format."""
    if format is not None and format not in _FORMATS:
        raise ParameterError(f"format must be one of {', '.join(_FORMATS)}, not {format!r}.")


def save(dataset: Dataset, path: PathLike, *, format: str | None = None) -> None:
    """Write a data set to a file, which appears when all is written and not before.

    Parameters
    ----------
    dataset : Dataset
        With texts for JSONL, CSV and Parquet; with features for the other formats.
    path : path-like
        The file; a name that ends in `.gz` is packed.
    format : str, optional
        As in `read_dataset`; by default inferred from the name; `.txt` is XMC text.

    See Also
    --------
    write_xmc, write_xmc_pair, write_svmlight, write_mulan, write_jsonl, write_csv, write_parquet

    Examples
    --------
    >>> import tempfile, pathlib
    >>> data = Dataset([[0.5, 0], [0, 2]], [("sea", "sun"), ()])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(data, pathlib.Path(folder, "tiny.txt"))
    ...     read_dataset(pathlib.Path(folder, "tiny.txt"))
    Dataset 'tiny': 2 points, 2 features, 2 labels (1 a point), 0.0 MB
    """
    path = Path(path)
    if format is None:
        format = format_by_name(path) or ("xmc" if ".txt" in path.suffixes[-2:] else None)
    if format not in _FORMATS:
        raise ParameterError(
            f"The format of {path.name} cannot be told; give one of {', '.join(_FORMATS)}."
        )
    if format == "parquet" and path.suffix == ".gz":
        raise ParameterError("Parquet is packed already; give a name without .gz.")
    _, write = _FORMATS[format]
    write(dataset, path)


def _read(part: Part, format: str | None, split: int, options: dict[str, Any]) -> Dataset:
    format = format or recognise(part.file)
    reader, _ = _FORMATS[format]
    known = [name for name in inspect.signature(reader).parameters if name != "path"]
    for name in options:
        if name not in known:
            raise ParameterError(
                f"{part.file.name} is read as {format}, which has no option {name!r}; its options "
                f"are {', '.join(known)}."
            )
    data = reader(part.file, **options)
    if part.split_file is None:
        return data
    rows = read_split(part.split_file, n_points=len(data))
    if not 0 <= split < rows.shape[1]:
        raise ParameterError(
            f"split must be from 0 to {rows.shape[1] - 1}, the columns of {part.split_file.name}, "
            f"not {split}."
        )
    return data.subset(rows[:, split])


def _all_of(path: Path, datasets: list[Dataset]) -> Dataset:
    whole = datasets[0]
    try:
        for following in datasets[1:]:
            whole = concatenate(whole, following)
    except InputError as error:
        raise DataError(f"the parts do not fit together: {error}", path=path) from None
    return whole
