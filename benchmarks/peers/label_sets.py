"""The label sets that bench_label_graph.py compares methods on: real ones, and made-up ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from data_folder import DATA
from longtail.data import Dataset, load_api_docs, make_longtail, read_dataset, train_test_split
from longtail.features import RowScaler, TextFeatures
from peers.embeddings import RidgeRegression


@dataclass(frozen=True)
class Problem:
    """Training and test part, features ready."""

    X: sp.csr_array
    Y: sp.csr_array
    X_test: sp.csr_array
    Y_test: sp.csr_array

    @cached_property
    def inner(self) -> Problem:
        """Three quarters of the training part, and the rest to choose settings on."""
        held = np.random.default_rng(0).random(self.X.shape[0]) < 0.25
        return Problem(self.X[~held], self.Y[~held], self.X[held], self.Y[held])

    @cached_property
    def ridge(self) -> RidgeRegression:
        """Regression on these features, shared by the methods that need it."""
        return RidgeRegression(self.X)


def published_split(name: str, damping: str | None = None) -> Callable[[], Problem]:
    def read() -> Problem:
        train, test = (
            read_dataset(DATA / name / "train.txt.gz"),
            read_dataset(DATA / name / "test.txt.gz"),
        )
        scaler = RowScaler(damping=damping).fit(train.X)
        return Problem(scaler.transform(train.X), train.Y, scaler.transform(test.X), test.Y)

    return read


def rcv1() -> Problem:
    """Of the training file alone: the label numbers of the test file do not match it."""
    train, test = train_test_split(
        read_dataset(DATA / "rcv1-subset1" / "train.txt.gz"), test_size=0.25, random_state=0
    )
    scaler = RowScaler().fit(train.X)
    return Problem(scaler.transform(train.X), train.Y, scaler.transform(test.X), test.Y)


def from_texts(data: Dataset) -> Problem:
    train, test = train_test_split(data, test_size=0.25, random_state=0)
    features = TextFeatures(min_df=2).fit(train.texts)
    return Problem(features.transform(train.texts), train.Y, features.transform(test.texts), test.Y)


def api_docs() -> Problem:
    return from_texts(load_api_docs())


def wordnet(rows: int = 20_000, at_least: int = 5) -> Problem:
    """Some of the rows, with the labels that are not too rare among these."""
    data = read_dataset(DATA / "wordnet-hypernyms" / "all.jsonl.gz")
    data = data.subset(np.sort(np.random.default_rng(0).permutation(len(data))[:rows]))
    Y = data.Y[:, np.bincount(data.Y.indices, minlength=data.n_labels) >= at_least]
    some = np.flatnonzero(np.diff(Y.indptr))
    return from_texts(Dataset(None, Y[some], texts=[data.texts[i] for i in some]))


def made_up(n_groups: int, together: float, labels_a_point: float = 5) -> Callable[[], Problem]:
    """Labels in groups of documents; with probability `together` a label brings its four kin."""

    def make() -> Problem:
        data = make_longtail(
            4_000, 1_500, 250, labels_per_sample=labels_a_point, n_groups=n_groups, random_state=0
        )
        Y = with_kin(data.Y, together, np.random.default_rng(0))
        X = RowScaler(damping="log", idf=True).fit_transform(data.X)
        return Problem(X[:3_000], Y[:3_000], X[3_000:], Y[3_000:])

    return make


def with_kin(Y: sp.csr_array, together: float, random: np.random.Generator) -> sp.csr_array:
    """Labels 5j ... 5j + 4 are kin: each one present brings all of them with this probability.

    The features were drawn before, so kin are known by the label that brought them alone.
    """
    brings = random.random(Y.nnz) < together
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))[brings]
    kin = 5 * (Y.indices[brings] // 5)[:, None] + np.arange(5)
    added = sp.csr_array(
        (np.ones(kin.size, dtype=Y.dtype), (np.repeat(rows, 5), kin.ravel())), shape=Y.shape
    )
    both = sp.csr_array(Y + added)
    both.data[:] = 1
    return both


SETS: dict[str, Callable[[], Problem]] = {
    "yeast": published_split("yeast"),
    "scene": published_split("scene"),
    "mediamill": published_split("mediamill"),
    "rcv1-subset1": rcv1,
    "eurlex-4k": published_split("eurlex-4k", "sqrt"),
    "delicious": published_split("delicious"),
    "bibtex": published_split("bibtex"),
    "wordnet": wordnet,
    "api-docs": api_docs,
    "made up: mixed": made_up(1, 0.0),
    "made up: mixed + many": made_up(1, 0.0, 22.3),
    "made up: mixed + kin": made_up(1, 0.9),
    "made up: groups": made_up(50, 0.0),
    "made up: groups + many": made_up(50, 0.0, 22.4),
    "made up: groups + kin": made_up(50, 0.9),
}
WITHOUT_DATA = ("api-docs", *(name for name in SETS if name.startswith("made up")))
