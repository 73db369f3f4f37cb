"""Joshi, Amini, Partalas, Ralaivola, Usunier & Gaussier: On Binary Reduction of Large-Scale
Multiclass Classification Problems, 2015.

Table 2: accuracy, MaF1 and the share of covered classes (N_c) as shares of one, on 7,500 classes of
two collections that are not available. WordNet is available: the text of a noun and its first
hypernym as its class, a taxonomy with a long tail as well. Samples of its classes stand in for the
paper's of 100 to 7,500 classes, and for the curves of its Figure 2.
"""

from __future__ import annotations

import gzip
import json
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longtail.data import Dataset, read_jsonl
from longtail.errors import DataError
from longtail.papers.paper import Trial, read_paper

_SIZES = (100, 500, 1000, 3000, 5000, 7500)
_LARGEST = _SIZES[-1]
_SEEDS = (0, 1, 2)
_SEEDS_OF_LARGEST = (0, 1, 2, 3, 4)
"""Five, the fewest with which a rank sum test can give p < 0.01."""

_MOST = {"OVO": 500, "M-SVM": 3000}
"""Classes up to which methods that take long beyond are run: as far as the paper's got."""

_FOLDER = "wordnet-hypernyms"
_TEST_SHARE = 0.25


@lru_cache(maxsize=1)
def _collection(place: Path) -> tuple[list[str], list[str]]:
    """Texts, and the first label of each; rows without a label are left out."""
    path = place / "all.jsonl.gz"
    texts = read_jsonl(path).texts or []  # which checks every line
    kept, classes = [], []
    with gzip.open(path, "rt", encoding="utf-8-sig") as lines:
        cells = (json.loads(line)["labels"] for line in lines if line.strip())
        for text, labels in zip(texts, cells, strict=True):
            if not isinstance(labels, list):
                raise DataError("the labels must be lists, the first one is the class", path=path)
            if labels:
                kept.append(text)
                classes.append(str(labels[0]))
    return kept, classes


def _sample(n_classes: int, place: Path, seed: int) -> tuple[Dataset, Dataset, dict[str, float]]:
    """All documents of some classes, drawn among those with at least two, in two parts."""
    texts, names = _collection(place)
    classes, numbers, counts = np.unique(names, return_inverse=True, return_counts=True)
    candidates = np.flatnonzero(counts >= 2)
    if len(candidates) < n_classes:
        raise DataError(
            f"there are {len(candidates):,} classes with two documents, but {n_classes:,} are "
            "needed; get the whole collection",
            path=place,
        )
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(candidates, n_classes, replace=False))
    rows = np.flatnonzero(np.isin(numbers, drawn))
    in_test = stratified(numbers[rows], _TEST_SHARE, rng)
    parts = []
    for part in (rows[~in_test], rows[in_test]):
        labels = [(name,) for name in classes[numbers[part]].tolist()]
        parts.append(
            Dataset(
                None,
                labels,
                label_names=classes[drawn].tolist(),
                texts=[texts[row] for row in part.tolist()],
                name=f"WordNet-{n_classes}",
            )
        )
    return parts[0], parts[1], {}


def stratified(
    classes: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which points to test on: of each class this share, at least one, and never all.

    The share is rounded half up; a class with a single point keeps it for training.

    Examples
    --------
    >>> classes = np.repeat([0, 1, 2], [1, 2, 8])
    >>> chosen = stratified(classes, 0.25, np.random.default_rng(0))
    >>> np.bincount(classes[chosen], minlength=3).tolist()
    [0, 1, 2]
    """
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    _, starts, counts = np.unique(classes[order], return_index=True, return_counts=True)
    wanted = np.minimum(np.maximum(np.floor(share * counts + 0.5), 1), counts - 1)
    place_in_class = np.arange(len(classes)) - np.repeat(starts, counts)
    chosen = np.zeros(len(classes), dtype=np.bool_)
    chosen[order] = place_in_class < np.repeat(wanted, counts)
    return chosen


def _trial(n_classes: int) -> Trial:
    return Trial(
        dataset=f"WordNet-{n_classes}",
        folder=_FOLDER,
        about=(
            f"A random sample of {n_classes:,} classes that have at least two documents, a quarter "
            "of each class for testing, at least one document; mRb gets counts, the others tf-idf."
        ),
        make=partial(_sample, n_classes),
        seeds=_SEEDS_OF_LARGEST if n_classes == _LARGEST else _SEEDS,
        n_classes=n_classes,
        parameters={"OVO": {"bias": False}},
        slow=tuple(method for method, most in _MOST.items() if n_classes > most),
    )


PAPER = read_paper("mrb", trials=tuple(map(_trial, _SIZES)))
