"""Names of features and labels in files beside the data: one name per line, in column order.

`feature_names.txt` and `label_names.txt` belong to every data file of their folder, so training and
test files share them. `Xf.txt` and `Y.txt` are what the new XMC layout calls them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.data._budget import NAME_TOO_LONG, Budget
from longtail.data._source import LineBlocks, as_utf8, decoded, shown, sibling, written_whole
from longtail.data.dataset import Dataset, dataset_from_file
from longtail.errors import DataError, DataWarning, InputError, warn
from longtail.labels import LONGEST_NAME

FEATURE_NAMES = "feature_names.txt"
LABEL_NAMES = "label_names.txt"


def read_names(path: Path, budget: Budget) -> list[str]:
    """All lines of a file of names."""
    names = []
    with LineBlocks(path, budget=budget) as blocks:
        for number, line in blocks.lines():
            name = decoded(blocks, number, line)
            if len(name) > LONGEST_NAME:
                raise blocks.error(NAME_TOO_LONG, line=number)
            budget.take_name(name)
            names.append(name)
    return names


def dataset_with_names(
    path: Path,
    X: sp.csr_array,
    Y: sp.csr_array,
    budget: Budget,
    *,
    features_told: bool = True,
    labels_told: bool = True,
    feature_files: Sequence[str] = (FEATURE_NAMES,),
    label_files: Sequence[str] = (LABEL_NAMES,),
) -> Dataset:
    """The data set of two matrices, with the names of their columns from files beside `path`.

    More names than columns widen a matrix, with a warning if its width was given; fewer are
    refused.
    """
    feature_names = _names_beside(path, feature_files, X.shape[1], "feature", features_told, budget)
    label_names = _names_beside(path, label_files, Y.shape[1], "label", labels_told, budget)
    for matrix, names in ((X, feature_names), (Y, label_names)):
        if names is not None:
            matrix.resize(matrix.shape[0], len(names))
    return dataset_from_file(
        path, X, Y, feature_names=feature_names, label_names=label_names, name=set_name(path)
    )


def _names_beside(
    path: Path, file_names: Sequence[str], width: int, what: str, told: bool, budget: Budget
) -> NDArray[Any] | None:
    """Names of at least `width` columns from the first of these files; labels' must be distinct."""
    found = next((file for name in file_names if (file := sibling(path, name))), None)
    if found is None:
        return None
    names = read_names(found, budget)
    while len(names) > width and not names[-1].strip():
        names.pop()
    if len(names) < width:
        raise DataError(
            f"there are {len(names)} {what} names, but {path.name} has {width} {what}s; name all "
            "of them, or move this file away",
            path=found,
        )
    if len(names) > width and told:
        warn(
            f"{path}: there should be {width} {what}s, but {found.name} names {len(names)}; "
            f"taking {len(names)}",
            DataWarning,
        )
    if what == "label":
        check_distinct(names, found)
    return budget.name_array(names)


def check_distinct(names: Sequence[str], path: Path) -> None:
    """Refuse a label name that occurs twice."""
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if name in seen:
            raise DataError(
                f"the label name {shown(name)} already stands in line {names.index(name) + 1}; "
                "names must differ",
                path=path,
                line=number,
            )
        seen.add(name)


def write_names_beside(path: Path, names: NDArray[Any] | None, file_name: str) -> None:
    """Write a file of names beside `path`.

    A file that is there already and says otherwise is left alone and refused, since other data
    files may rely on it.
    """
    target = path.parent / file_name
    present = sibling(path, file_name)
    if names is None:
        if present is not None:
            raise InputError(
                f"{present} names columns, but the data set to save has no such names; save it to "
                "another folder."
            )
        return
    texts = [str(name) for name in names.tolist()]
    odd = next((text for text in texts if "\n" in text or "\r" in text), None)
    if odd is not None:
        raise InputError(
            f"The name {shown(odd)} holds a line break, so it cannot be written on one line."
        )
    if present is not None:
        if read_names(present, Budget(present)) != texts:
            raise InputError(f"{present} already holds other names; save to another folder.")
        return
    content = as_utf8("".join(f"{text}\n" for text in texts))
    with written_whole(target) as file:
        file.write(content)


def set_name(path: Path) -> str:
    """What to call the data set of a file: its stem, or its folder if the stem says only the part.

    Examples
    --------
    >>> set_name(Path("eurlex-4k/train.txt.gz")), set_name(Path("Bibtex_data.txt"))
    ('eurlex-4k', 'Bibtex')
    """
    stem = path.name.split(".")[0]
    for part in ("train", "test", "all", "data", "trn_X_Xf", "tst_X_Xf", "trn", "tst"):
        if stem.lower() == part.lower():
            return path.absolute().parent.name
        for joint in "_-":
            if stem.lower().endswith(f"{joint}{part}".lower()):
                return stem[: -len(part) - 1]
    return stem
