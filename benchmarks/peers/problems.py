"""The data that several benchmarks train on, with rows of unit length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from data_folder import DATA, missing
from longtail.data import make_longtail, read_dataset, train_test_split
from longtail.features import RowScaler

SEED = 0
AMAZON = (490_449, 135_909, 670_091)
"""Training points, features and labels of Amazon-670K."""


class Problem(NamedTuple):
    """Prepared training and test data."""

    name: str
    X: sp.csr_array
    Y: sp.csr_array
    X_test: sp.csr_array
    Y_test: sp.csr_array

    def __str__(self) -> str:
        (n, d), m, labels = self.X.shape, self.X_test.shape[0], self.Y.shape[1]
        return f"{self.name}: {n:,} / {m:,} points, {d:,} features, {labels:,} labels"

    @property
    def cells(self) -> int:
        """Features times labels: the size of a full weight matrix."""
        return self.X.shape[1] * self.Y.shape[1]

    @property
    def means(self) -> str:
        """Features and labels per point, and how many labels there are to learn."""
        n, occur = self.X.shape[0], len(np.unique(self.Y.indices))
        return (
            f"{self.X.nnz / n:.1f} features and {self.Y.nnz / n:.1f} labels a point, "
            f"{occur:,} labels occur"
        )


def real(name: str, title: str, damping: str | None) -> Problem | None:
    """A published set, or None and a line on what to do if it is not there."""
    sentence = missing(name)
    if sentence is not None:
        print(f"{title} is skipped. {sentence}")
        return None
    folder = DATA / name
    train, test = read_dataset(folder / "train.txt.gz"), read_dataset(folder / "test.txt.gz")
    scaler = RowScaler(damping=damping).fit(train.X)
    return Problem(title, scaler.transform(train.X), train.Y, scaler.transform(test.X), test.Y)


def texts(name: str, title: str) -> Problem | None:
    """Texts as scikit-learn's tf-idf, fitted on the training part; None as for `real`.

    The split is that of the files; one file is split by a seed, a fifth for testing. Training texts
    without any of the words are left out.
    """
    sentence = missing(name)
    if sentence is not None:
        print(f"{title} is skipped. {sentence}")
        return None
    data, n = read_dataset(DATA / name, part="all"), len(read_dataset(DATA / name))
    if n < len(data):
        train, test = data.subset(np.arange(n)), data.subset(np.arange(n, len(data)))
    else:
        train, test = train_test_split(data, test_size=0.2, random_state=SEED)
    words = TfidfVectorizer(
        sublinear_tf=True, min_df=3, max_df=0.3, token_pattern=r"(?u)\b\w[\w+.-]*\b",
        dtype=np.float32,
    )  # fmt: skip
    X, X_test = words.fit_transform(train.texts), words.transform(test.texts)
    some = np.flatnonzero(np.diff(X.indptr))  # Omikuji reads no row without features
    return Problem(title, sp.csr_array(X)[some], train.Y[some], sp.csr_array(X_test), test.Y)


def like_amazon(part: int) -> Problem:
    """Generated, with one part in so many of Amazon-670K's points, features and labels.

    A tenth of the points is for testing.
    """
    n, n_features, n_labels = (size // part for size in AMAZON)
    return generated(round(0.9 * n), n_features, n_labels)._replace(name=f"Generated {n:,}")


def generated(n: int, n_features: int, n_labels: int, held_out: float = 1 / 9) -> Problem:
    """`n` training points, and test points from the same draw."""
    data = make_longtail(round(n * (1 + held_out)), n_features, n_labels, random_state=SEED)
    scaler = RowScaler(damping="log", idf=True).fit(data.X[:n])
    X = scaler.transform(data.X)
    return Problem("generated", X[:n], data.Y[:n], X[n:], data.Y[n:])
