"""The data that bench_peers.py and bench_proxml.py train on, with rows of unit length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from data_folder import DATA, missing
from longtail.data import make_longtail, read_dataset
from longtail.features import RowScaler

SEED = 0


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


def generated(n: int, n_features: int, n_labels: int, held_out: float = 1 / 9) -> Problem:
    """`n` training points, and test points from the same draw."""
    data = make_longtail(round(n * (1 + held_out)), n_features, n_labels, random_state=SEED)
    scaler = RowScaler(damping="log", idf=True).fit(data.X[:n])
    X = scaler.transform(data.X)
    return Problem("generated", X[:n], data.Y[:n], X[n:], data.Y[n:])
