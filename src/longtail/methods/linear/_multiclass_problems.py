"""Binary and multiclass problems for scikit-learn's liblinear, and their answers as plain columns.

A column is what one problem leaves behind: the features with a weight, the weights, and liblinear's
sweeps. Columns go to disk block by block, and make one matrix in the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from longtail._numba import kernel
from longtail._sparse import scatter_columns
from longtail.solvers.liblinear import fit_quietly

Column = tuple[NDArray[np.int32], NDArray[np.float32], int]
"""Features, weights and sweeps of one problem; feature D is the bias."""

KINDS: dict[str, type] = {
    "features": np.int32, "values": np.float32, "ends": np.int64, "sweeps": np.int64,
}  # fmt: skip
"""Arrays of a block of columns."""

GROUP = 256  # columns that are put into a matrix together
NO_COLUMN: Column = (np.empty(0, np.int32), np.empty(0, np.float32), 0)


class SolveTogether:
    """Crammer and Singer's problem for all classes: the block is the list of classes.

    Classes are numbered as they appear, so that the answer does not depend on their order.
    """

    def __init__(self, y: NDArray[np.int64]) -> None:
        _, first, of = np.unique(y, return_index=True, return_inverse=True)
        self.rank = np.argsort(np.argsort(first))
        self.y = self.rank[of]

    def __call__(
        self, X: sp.csr_array, classes: NDArray[np.int64], settings: dict[str, Any]
    ) -> list[Column]:
        if len(classes) == 1:
            return [NO_COLUMN]
        model = LinearSVC(multi_class="crammer_singer", **settings)
        fit_quietly(model, X, self.y)
        weights = np.column_stack([model.coef_, model.intercept_])
        if len(classes) == 2:  # scikit-learn gives the difference; the two add up to zero
            weights = np.vstack([-weights, weights]) / 2
        # How many sweeps it took, scikit-learn before 1.9 does not say: its n_iter_ is any number.
        return [_column(weights[rank], 0) for rank in self.rank]


class SolvePairs:
    """A problem for each pair of classes in the block, on their own rows and features."""

    def __init__(self, rows: list[NDArray[np.int64]]) -> None:
        self.rows = rows

    def __call__(
        self, X: sp.csr_array, pairs: list[tuple[int, int]], settings: dict[str, Any]
    ) -> list[Column]:
        columns = []
        for first, second in pairs:
            both = np.concatenate([self.rows[first], self.rows[second]])
            order = np.argsort(both, kind="stable")
            part = X[both[order]]
            used, compact = np.unique(part.indices, return_inverse=True)
            if not len(used):  # nothing but the bias, which liblinear does not take
                used, part = np.zeros(1, dtype=np.int64), sp.csr_array((len(both), 1))
            else:
                part = sp.csr_array(
                    (part.data, compact.astype(np.int32), part.indptr), (len(both), len(used))
                )
            model = LinearSVC(**settings)
            fit_quietly(model, part, (order >= len(self.rows[first])).astype(np.int8))
            weights = np.append(model.coef_, model.intercept_).astype(np.float32)  # 0.0 for none
            features = np.append(used, X.shape[1]).astype(np.int32)
            kept = weights != 0
            columns.append((features[kept], weights[kept], int(np.max(model.n_iter_))))
        return columns


def solve_labels(
    X: sp.csr_array, block: list[NDArray[np.integer]], settings: dict[str, Any]
) -> list[Column]:
    """A problem for each label of the block, given by its rows."""
    columns = []
    for positives in block:
        y = np.zeros(X.shape[0], dtype=np.int8)
        y[positives] = 1
        model = LinearSVC(**settings)
        fit_quietly(model, X, y)
        weights = np.append(model.coef_, model.intercept_)
        columns.append(_column(weights, int(np.max(model.n_iter_))))
    return columns


def _column(weights: NDArray[np.float64], sweeps: int) -> Column:
    small = weights.astype(np.float32)
    used = np.flatnonzero(small)
    return used.astype(np.int32), small[used], sweeps


def matrix_of(columns: list[Column], n_features: int) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """The weights (D + 1, problems) by rows, and the sweeps.

    O(D + weights), at the price of one copy of the weights.
    """
    sizes = np.zeros(n_features + 2, dtype=np.int64)
    for used, _, _ in columns:
        sizes[used + 1] += 1
    indptr = np.cumsum(sizes)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    cursor = indptr[:-1].copy()
    for first in range(0, len(columns), GROUP):
        part = packed(columns[first : first + GROUP])
        scatter_columns(
            part["features"], part["values"], part["ends"], first, cursor, indices, data
        )
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    shape = (n_features + 1, len(columns))
    sweeps = np.array([sweeps for _, _, sweeps in columns], dtype=np.int64)
    return sp.csr_array((data, indices, indptr), shape=shape), sweeps


def pair_weights(X: sp.csr_array, y: NDArray[Any], k: int) -> float:
    """How many weights the pairs have: one for each feature of either class, and the bias.

    A feature that c classes have is in all pairs but those of the k - c others. O(nnz(X)).
    """
    of = np.repeat(y.astype(np.int64), np.diff(X.indptr))
    had = np.unique(X.indices.astype(np.int64) * k + of) // k
    others = k - np.unique(had, return_counts=True)[1].astype(np.float64)
    n_pairs = k * (k - 1) / 2
    return float((n_pairs - others * (others - 1) / 2).sum() + n_pairs)


def packed(columns: list[Column]) -> dict[str, NDArray[Any]]:
    """A block as plain arrays."""
    return {
        "features": np.concatenate([used for used, _, _ in columns]),
        "values": np.concatenate([values for _, values, _ in columns]),
        "ends": np.cumsum([0, *(len(values) for _, values, _ in columns)]),
        "sweeps": np.array([sweeps for _, _, sweeps in columns], dtype=np.int64),
    }


def unpacked(arrays: dict[str, NDArray[Any]]) -> list[Column]:
    """The inverse."""
    features, values, ends = arrays["features"], arrays["values"], arrays["ends"]
    return [
        (features[first:last], values[first:last], int(sweeps))
        for first, last, sweeps in zip(ends[:-1], ends[1:], arrays["sweeps"], strict=True)
    ]


@kernel
def duel(
    indptr: Any, indices: Any, data: Any, starts: Any, pairs: Any, weights: Any, bias: Any,
    scores: Any,
) -> None:  # fmt: skip
    """Votes, and margins m squeezed to m / (3·(|m| + 1)), of every class for each row."""
    n_classes = scores.shape[1]
    decisions = np.empty_like(bias)
    margins = np.empty(n_classes)
    for i in range(scores.shape[0]):
        decisions[:] = bias
        for p in range(indptr[i], indptr[i + 1]):
            for q in range(starts[indices[p]], starts[indices[p] + 1]):
                decisions[pairs[q]] += data[p] * np.float64(weights[q])
        margins[:] = 0.0
        pair = 0
        for a in range(n_classes):
            for b in range(a + 1, n_classes):
                margins[a] -= decisions[pair]
                margins[b] += decisions[pair]
                scores[i, b if decisions[pair] > 0 else a] += 1.0
                pair += 1
        for a in range(n_classes):
            scores[i, a] += margins[a] / (3.0 * (abs(margins[a]) + 1.0))
