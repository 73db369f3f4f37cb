"""Scores of label sets from weights of labels and of pairs of labels, as one linear map.

The score of set s for a point x is Σ_{l ∈ s} ⟨w_l, x̃⟩ + Σ_{pairs} θ_pair[value of the pair in s].
A pair (l, m), l < m, has four values: neither, only m, only l, both; one weight each. The second
sum needs no array of sets by pairs: with b = y_l·y_m its terms are

    θ₀₀ + y_l (θ₁₀ - θ₀₀) + y_m (θ₀₁ - θ₀₀) + b (θ₁₁ - θ₁₀ - θ₀₁ + θ₀₀),

and only the products b that are one are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.methods.joint._pair_kernels import add_sets, scores_of_sets
from longtail.runtime.libraries import one_thread
from longtail.solvers.softmax.rounded import Rounded

NEITHER, SECOND, FIRST, BOTH = range(4)
FACTORED = 4000  # labels and pairs up to which their covariance is factored
DENSE_BYTES = 2**26  # of the sets as a dense array for BLAS

_Vector = NDArray[np.float64]


class PairFeatures:
    """Which of the four values each pair of labels has in each set.

    The sets (S, L) are distinct. `pairs` (P, 2) are the labels that occur together in one of them,
    the smaller number first.

    Notes
    -----
    Made in O(Σ |set|² log); products cost O(Σ |set|² + L + P).

    Examples
    --------
    >>> features = PairFeatures(sp.csr_array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]))
    >>> features.pairs.tolist()
    [[0, 1]]
    >>> features.times(np.array([[0.1, 0.2, 0.3, 0.4]])).tolist()
    [0.4, 0.3, 0.1]
    """

    def __init__(self, sets: sp.csr_array) -> None:
        n_sets, n_labels = sets.shape
        together = []
        for s in range(n_sets):
            labels = sets.indices[sets.indptr[s] : sets.indptr[s + 1]].astype(np.int64)
            first, second = np.triu_indices(len(labels), 1)
            together.append(labels[first] * n_labels + labels[second])
        keys, columns = np.unique(np.concatenate(together), return_inverse=True)
        ends = np.concatenate(([0], np.cumsum([len(part) for part in together])))
        self.sets = sp.csr_array(sets, dtype=np.float64)
        self.pairs = np.column_stack([keys // n_labels, keys % n_labels])
        self.both = sp.csr_array((np.ones(len(columns)), columns, ends), shape=(n_sets, len(keys)))
        self._sets_turned = sp.csr_array(self.sets.T)
        self._both_turned = sp.csr_array(self.both.T)

    def times(self, theta: _Vector) -> _Vector:
        """Σ_pairs θ_pair[value] of every set, for weights of shape (P, 4)."""
        by_label, surplus = np.split(self.reduced(theta), [self.sets.shape[1]])
        return self.sets @ by_label + self.both @ surplus + theta[:, NEITHER].sum()

    def reduced(self, theta: _Vector) -> _Vector:
        """What each label, then each product of two labels, adds to a set's score; (L + P,)."""
        n_labels = self.sets.shape[1]
        rest = theta - theta[:, [NEITHER]]
        by_label = np.bincount(self.pairs[:, 0], rest[:, FIRST], minlength=n_labels)
        by_label += np.bincount(self.pairs[:, 1], rest[:, SECOND], minlength=n_labels)
        return np.append(by_label, rest[:, BOTH] - rest[:, FIRST] - rest[:, SECOND])

    def expanded(self, by_feature: _Vector) -> _Vector:
        """The transposed map of `reduced`, (P, 4)."""
        by_label, both = np.split(by_feature, [self.sets.shape[1]])
        first, second = by_label[self.pairs[:, 0]], by_label[self.pairs[:, 1]]
        return np.column_stack([both - first - second, second - both, first - both, both])

    def overlap(self) -> NDArray[np.float64]:
        """`reduced` times its transposed map, and one more for each label; (L + P, L + P)."""
        n_labels, n_pairs = self.sets.shape[1], len(self.pairs)
        first, second, pair = *self.pairs.T, n_labels + np.arange(n_pairs)
        out = np.diag(np.append(np.ones(n_labels), np.full(n_pairs, 4.0)))
        out[np.arange(n_labels), np.arange(n_labels)] += 2 * np.bincount(
            self.pairs.ravel(), minlength=n_labels
        )
        for one, other, value in ((first, second, 1.0), (first, pair, -2.0), (second, pair, -2.0)):
            out[one, other] = out[other, one] = value
        return out

    def covariance(self, spread: _Vector) -> NDArray[np.float64]:
        """Covariance of labels and products of two over the sets, weighted by `spread`."""
        features = sp.csr_array(sp.hstack([self.sets, self.both]))
        weighted = sp.csr_array(features.multiply(spread[:, None]))
        mean = np.asarray(weighted.sum(axis=0)).ravel()
        total = max(float(spread.sum()), np.finfo(float).tiny)
        return np.asarray((features.T @ weighted).toarray() - np.outer(mean, mean) / total)

    def turned_times(self, by_set: _Vector) -> _Vector:
        """The transposed map: for each pair and value, the sum over the sets that have it."""
        both = self._both_turned @ by_set
        of_labels = self._sets_turned @ by_set
        first = of_labels[self.pairs[:, 0]] - both
        second = of_labels[self.pairs[:, 1]] - both
        neither = by_set.sum() - both - first - second
        return np.column_stack([neither, second, first, both])


class PairScores:
    """The scores of all sets as a linear map from one vector of parameters; see `ScoreMap`.

    The parameters are the weights of the labels, (D + 1, L), followed by those of the pairs,
    (P, 4), in one dimension.
    `labels` is the map of the labels' weights, `n_rows` is D + 1, `dtype` is that of the scores.

    Notes
    -----
    A block of n points costs what `labels` costs, plus O(n·Σ|set|); if the sets fit in 64 MB as a
    dense array, O(n·S·L) by BLAS, which is faster.
    """

    def __init__(self, labels: Any, features: PairFeatures, n_rows: int, dtype: Any) -> None:
        self.labels = labels
        self.features = features
        self.dtype = np.dtype(dtype)
        self.n_classes, self.n_labels = features.sets.shape
        self.shape = (n_rows, self.n_labels)
        self.n_parameters = n_rows * self.n_labels + 4 * len(features.pairs)
        self._members = features.sets.indptr, features.sets.indices
        self._sets: Any = features.sets.astype(dtype)
        if self.n_classes * self.n_labels * self.dtype.itemsize <= DENSE_BYTES:
            self._sets = self._sets.toarray()

    def split(self, parameters: _Vector) -> tuple[_Vector, _Vector]:
        """The weights of labels and of pairs, as views."""
        cut = self.shape[0] * self.shape[1]
        return parameters[:cut].reshape(self.shape), parameters[cut:].reshape(-1, 4)

    def prepared(self, parameters: _Vector) -> Any:
        """The weights in the precision of the scores, and the pairs' part of each set's score."""
        weights, theta = self.split(parameters)
        return self.labels.prepared(weights), self.features.times(theta).astype(self.dtype)

    def scores(self, prepared: Any, rows: slice) -> NDArray[Any]:
        """Scores of all sets for a block."""
        weights, offsets = prepared
        by_label = self.labels.scores(weights, rows)
        return _by_set(by_label, self._sets) + offsets

    def add_back(self, by_score: NDArray[Any], rows: slice, out: _Vector) -> None:
        """Add the derivatives by parameters, given those by scores."""
        weights, theta = self.split(out)
        self.labels.add_back(np.ascontiguousarray(by_score @ self._sets), rows, weights)
        theta += self.features.turned_times(by_score.sum(axis=0, dtype=np.float64))

    prepared_at = prepared

    def scores_at(self, prepared: Any, kept: Rounded) -> NDArray[Any]:
        """Scores of the kept pairs."""
        weights, offsets = prepared
        by_label = np.concatenate([self.labels.scores(weights, rows) for rows in kept.blocks])
        out = np.empty(len(kept.points), dtype=self.dtype)
        scores_of_sets(*self._members, by_label, offsets, kept.starts, kept.points, out)
        return out

    def add_back_at(self, by_score: NDArray[Any], kept: Rounded, out: _Vector) -> None:
        """Add the derivatives by parameters, given those by the kept scores."""
        weights, theta = self.split(out)
        by_label = np.zeros((len(kept.rows), self.n_labels), dtype=self.dtype)
        by_set = np.zeros(self.n_classes)
        add_sets(*self._members, by_score, kept.starts, kept.points, by_label, by_set)
        first = 0
        for rows in kept.blocks:
            size = rows.stop - rows.start
            self.labels.add_back(by_label[first : first + size], rows, weights)
            first += size
        theta += self.features.turned_times(by_set)

    def precondition(
        self, by_label: Callable[[_Vector, _Vector], _Vector], strength: float
    ) -> Callable[[_Vector, _Vector], _Vector]:
        """`by_label` for the labels; for the pairs, with the biases, as if no set depended on x.

        The Hessian by biases and pairs is then strength + T'CT, with T the map from these to what
        labels and products of two add to scores, and C the covariance of labels and products.
        Where there are more than 4,000 of them, only its diagonal is taken; the spread of an
        indicator over points is from its share q, as total·q(1 - q).
        """
        factored = self.n_labels + len(self.features.pairs) <= FACTORED
        inverse = _Inverse(self.features, strength)

        def turned(residual: _Vector, spread: _Vector) -> _Vector:
            total = max(float(spread.sum()), np.finfo(float).tiny)
            share = np.minimum(self.features.sets.T @ spread / total, 1.0)
            out = np.empty_like(residual)
            weights, theta = self.split(out)
            from_weights, from_theta = self.split(residual)
            weights[:] = by_label(from_weights, total * share * (1 - share))
            if factored:
                biases, theta[:] = inverse.times(from_weights[-1], from_theta, spread)
                weights[-1] += biases
            else:
                share = np.clip(self.features.turned_times(spread) / total, 0.0, 1.0)
                theta[:] = from_theta / (strength + total * share * (1 - share))
            return out

        return turned


class _Inverse:
    """(strength + T'CT)⁻¹, with C as of the last spread. O((L + P)³) for a new one, then O(²).

    With G = TT' = KK' and A = K'CK it is 1/strength + T'(K⁻'(strength + A)⁻¹K⁻¹ - G⁻¹/strength)T.
    """

    def __init__(self, features: PairFeatures, strength: float) -> None:
        self.features = features
        self.strength = strength
        self.spread: _Vector | None = None

    def times(self, by_bias: _Vector, by_pair: _Vector, spread: _Vector) -> tuple[_Vector, _Vector]:
        """Of biases and of weights of pairs."""
        if self.spread is not spread:
            self._factor(spread)
        by_feature = self.features.reduced(by_pair)
        by_feature[: len(by_bias)] += by_bias
        inner = self.middle @ by_feature
        return (
            by_bias / self.strength + inner[: len(by_bias)],
            by_pair / self.strength + self.features.expanded(inner),
        )

    def _factor(self, spread: _Vector) -> None:
        with one_thread():
            root = scipy.linalg.cholesky(self.features.overlap(), lower=True, check_finite=False)
            inner = root.T @ self.features.covariance(spread) @ root
            inner[np.diag_indices_from(inner)] += self.strength
            inverse = scipy.linalg.inv(inner, overwrite_a=True, check_finite=False)
            inverse[np.diag_indices_from(inverse)] -= 1.0 / self.strength
            half = scipy.linalg.solve_triangular(root, inverse, lower=True, trans=1)
            middle = scipy.linalg.solve_triangular(root, half.T, lower=True, trans=1)
        self.middle = (middle + middle.T) / 2
        self.spread = spread


def set_scores(
    by_label: NDArray[np.float64], sets: sp.csr_array, offsets: _Vector
) -> NDArray[np.float64]:
    """Scores (n, S) of sets from those of their labels (n, L).

    Examples
    --------
    >>> sets = sp.csr_array([[1.0, 1.0], [0.0, 1.0]])
    >>> set_scores(np.array([[2.0, 3.0]]), sets, np.array([0.5, 0.0])).tolist()
    [[5.5, 3.0]]
    """
    return _by_set(by_label, sets.astype(np.float64)) + offsets


def _by_set(by_label: NDArray[Any], sets: Any) -> NDArray[Any]:
    if sp.issparse(sets):
        return np.ascontiguousarray((sets @ np.ascontiguousarray(by_label.T)).T)
    return by_label @ sets.T
