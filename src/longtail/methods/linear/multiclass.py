"""Three kinds of support vector machines for many classes, by scikit-learn's liblinear.

Fan, Chang, Hsieh, Wang & Lin, LIBLINEAR: A Library for Large Linear Classification, JMLR 9, 2008.
liblinear draws from one random generator per process. So binary problems are solved in processes,
each problem with its own seed; the models do not depend on the number of processes.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import read_only
from longtail._sparse import for_liblinear, from_ranked, ranked
from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import ModelError
from longtail.labels.sets import one_class_per_row
from longtail.methods._linear import LinearClassifier, check_weights
from longtail.methods._weights import ClassWeight, WeightedFit, of_problems
from longtail.methods.linear._duels import duel, pair_weights
from longtail.methods.linear._multiclass_base import (
    FOR_LESS,
    SWEEPS,
    Eps,
    LiblinearProblems,
    Processes,
    SweepLimit,
    Sweeps,
)
from longtail.parameters import ErrorWeight, MemoryLimit
from longtail.runtime.estimates import (
    WORKSPACE,
    Estimate,
    matrix_bytes,
    refuse_beyond,
    size_in_words,
)
from longtail.runtime.executor import run_here_or_on_threads, thread_count
from longtail.runtime.run import Run
from longtail.solvers import fit_linear
from longtail.solvers.columns import columns_of, matrix_of
from longtail.solvers.costs import STORED, SWEEP, liblinear_bytes, used_features, weights_kept
from longtail.solvers.liblinear import (
    BLOCK,
    PAIRS,
    label_blocks,
    point_weights,
    solvable,
    solve_labels,
    solve_pairs,
    solve_together,
)

TOGETHER = 40  # sweeps over all points and classes, usually
DUEL = 2e-3  # seconds per pair of classes, whatever its size
VOTES = 2**25  # bytes for the scores of a block of points


class OVA(WeightedFit, SweepLimit, LinearClassifier):
    """One-versus-all: one linear support vector machine per label, by liblinear.

    For each label ½‖w‖² + C Σ max(0, 1 - s_i⟨w, x_i⟩)² is minimised by scikit-learn's `LinearSVC`,
    with a constant feature for the bias; all weights are kept. The best score wins.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last; float32.
    n_iter_ : array of shape (L,)
        liblinear's sweeps.
    one_class_ : bool
        Whether every training row had exactly one label.

    Notes
    -----
    Training costs O(nnz(X)) per sweep and label. The model has up to 8·(D + 1)·L bytes, where
    features that no point has do not count; twice that during training. If every training row had
    one label, `predict` gives the best one, else those with a score of at least 0. liblinear cannot
    train labels that no row has, or every row; our own solver trains these.

    Examples
    --------
    >>> from longtail.methods.linear.multiclass import OVA
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> OVA().fit(X, ["sea", "snow", "sea", "snow"]).predict([[1, 0, 1]]).tolist()
    ['sea']
    """

    method: ClassVar[str] = "ova"
    paper: ClassVar[str] = "Fan et al. 2008"

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        tol: Eps = 1e-4,
        max_iter: Sweeps = 1000,
        class_weight: ClassWeight = None,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Processes = None,
    ) -> None:
        super().__init__(C=C, tol=tol, max_iter=max_iter, memory_limit=memory_limit, n_jobs=n_jobs)
        self.class_weight = class_weight

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        n_trained = int(np.count_nonzero(counts))
        kept = weights_kept(X, counts, loss="squared_hinge", penalty="l2", prune=0.0)
        why = f"the weights of {n_trained:,} labels × {used_features(X) + 1:,} features"
        return self._needed(X, float(kept.sum()), n_trained, why)

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any = None) -> None:
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, FOR_LESS)
        weights = self._weights_of(Y, run, sample_weight)["sample_weight"]
        targets = sp.csc_array(Y)
        counts = np.diff(targets.indptr)
        hard = solvable(X, counts)
        labels = np.flatnonzero(hard)
        blocks = label_blocks(targets, labels, weights, BLOCK)
        found = self._solved(
            solve_labels, for_liblinear(X), Y.indices, blocks, len(labels), run,
            weights=weights, points=point_weights(weights),
        )  # fmt: skip
        easy = fit_linear(
            X, targets[:, ~hard], strength=1.0 / self.C,
            sample_weight=of_problems(weights, ~hard),
        )  # fmt: skip
        found.append(columns_of(easy.weights, sweeps=easy.iterations))
        places = np.concatenate([labels, np.flatnonzero(~hard)])
        self.weights_ = matrix_of(found, (X.shape[1] + 1, len(counts)), np.float32, places)
        self.n_iter_ = np.zeros(len(counts), dtype=np.int64)
        self.n_iter_[places] = np.concatenate([block["sweeps"] for block in found])
        self.one_class_ = bool((np.diff(Y.indptr) == 1).all())
        self._warn(self.n_iter_, "labels")

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        if self.one_class_:
            return self._topk(X, 1)
        return super()._commit(X)

    def _check_state(self) -> None:
        super()._check_state()
        if not isinstance(getattr(self, "one_class_", None), bool):
            raise ModelError("The model does not say whether its rows had one label each.")


class MSVM(LiblinearProblems, LinearClassifier):
    """The multiclass support vector machine of Crammer and Singer, by liblinear.

    ½ Σ_y ‖w_y‖² + C Σ_i max(0, 1 + max_{y ≠ y_i} ⟨w_y, x_i⟩ - ⟨w_{y_i}, x_i⟩) is minimised for
    all classes at once by scikit-learn's `LinearSVC(multi_class="crammer_singer")`.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Class names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last; float32.

    Notes
    -----
    Training is one problem, solved by one process; it also ends after 100,000 sweeps, which no
    parameter of scikit-learn changes. liblinear holds K·(D + 1) doubles, scikit-learn them again,
    and 12 bytes for each of N·K pairs of points and classes: if that exceeds `memory_limit`, `fit`
    raises an error with the estimate. For one class per row: rows with several labels are repeated
    for each of them, rows without one are left out, and one class is predicted. Classes without a
    training point are never listed.

    Examples
    --------
    >>> from longtail.methods.linear.multiclass import MSVM
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]
    >>> MSVM().fit(X, ["sea", "snow", "sea", "snow", "sun"]).predict([[1, 0, 1]]).tolist()
    ['sea']
    """

    method: ClassVar[str] = "msvm"
    paper: ClassVar[str] = "Crammer & Singer 2002"

    def _offered(self) -> NDArray[np.int64] | None:
        return None if self.label_counts_.all() else np.flatnonzero(self.label_counts_)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._topk(X, 1)

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        n, n_classes = max(Y.nnz, 1), int(np.count_nonzero(counts))
        kept = weights_kept(X, counts, loss="squared_hinge", penalty="l2", prune=0.0)
        repeats = n / X.shape[0]
        why = f"{n_classes:,} classes, {X.shape[1] + 1:,} features and {n:,} rows at once"
        need = self._needed(X, float(kept.sum()), 1, why)
        together = n_classes * (16.0 * (X.shape[1] + 1) + 12.0 * n)
        doubled = (liblinear_bytes(X) + matrix_bytes(X)) * max(repeats - 1.0, 0.0)
        sweeps = TOGETHER * SWEEP * (X.nnz * repeats + 12.0 * n) * n_classes
        return need.plus(together + doubled, sweeps)

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, FOR_LESS)
        X, y = one_class_per_row(X, Y, type(self).__name__)
        present = np.unique(y)
        rows = for_liblinear(X)
        found = self._solved(solve_together, rows, y, [present], len(present), run, y=y)
        self.weights_ = matrix_of(found, (X.shape[1] + 1, Y.shape[1]), np.float32, present)


class OVO(SweepLimit, ExtremeClassifier):
    """One-versus-one: a linear support vector machine for every pair of classes, by liblinear.

    Each pair is told apart by a `LinearSVC` on the points of the two; the class that wins most of
    its duels is predicted, as by scikit-learn's `OneVsOneClassifier`.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Class names.
    weights_ : csr_array of shape (D + 1, P)
        One column per pair (i, j) of the K classes with points, in the order (0, 1), (0, 2), ...,
        the bias last; positive scores are for j. float32.
    n_iter_ : array of shape (P,)
        liblinear's sweeps.

    Notes
    -----
    There are P = K·(K - 1) / 2 pairs. A pair has weights only for the features of its two classes;
    they are counted before any work, at 8 bytes each and twice that during sorting; `fit` raises an
    error if they exceed `memory_limit`. Prediction costs O(P + weights of the row's features) per
    row. The scores are those of `OneVsOneClassifier`: votes, plus the sum of the margins squeezed
    to less than a third, which decides between equals. For one class per row, as in `MSVM`.

    Examples
    --------
    >>> from longtail.methods.linear.multiclass import OVO
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]
    >>> model = OVO().fit(X, ["sea", "snow", "sea", "snow", "sun"])
    >>> model.predict([[1, 0, 1]]).tolist(), model.weights_.shape
    (['sea'], (4, 3))
    """

    method: ClassVar[str] = "ovo"
    paper: ClassVar[str] = "Fan et al. 2008"
    scores_all_labels: ClassVar[bool] = True

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        tol: Eps = 1e-4,
        max_iter: Sweeps = 1000,
        bias: Annotated[
            bool,
            "Whether a duel has a bias. With many unequal classes it should not: a point that has "
            "nothing in common with either class then goes to the larger one, and so do the "
            "votes.",
        ] = True,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Processes = None,
    ) -> None:
        super().__init__(C=C, tol=tol, max_iter=max_iter, memory_limit=memory_limit, n_jobs=n_jobs)
        self.bias = bias

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "fit_intercept": bool(self.bias)}

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        X, y = one_class_per_row(X, Y, type(self).__name__)
        present, of = np.unique(y, return_inverse=True)
        k = len(present)
        n_pairs = k * (k - 1) // 2
        dense = 8.0 * n_pairs * (X.shape[1] + 1)
        return Estimate(
            int(12.0 * X.nnz + 2.0 * STORED * pair_weights(X, of, k) + 200 * n_pairs + WORKSPACE),
            int(STORED * pair_weights(X, of, k)),
            (DUEL * n_pairs + SWEEPS * SWEEP * X.nnz * (k - 1)) / thread_count(self.n_jobs),
            f"the weights of {n_pairs:,} pairs of classes (dense, as scikit-learn keeps them: "
            f"{size_in_words(dense)})",
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, FOR_LESS)
        X, y = one_class_per_row(X, Y, type(self).__name__)
        of = np.unique(y, return_inverse=True)[1]
        k = int(of.max()) + 1
        n_pairs = k * (k - 1) // 2
        order = np.argsort(of, kind="stable")
        rows = np.split(order, np.cumsum(np.bincount(of, minlength=k))[:-1])
        pairs = combinations(range(k), 2)
        blocks = []
        while block := list(islice(pairs, PAIRS)):
            blocks.append(block)
        found = self._solved(solve_pairs, for_liblinear(X), y, blocks, n_pairs, run, classes=rows)
        self.weights_ = matrix_of(found, (X.shape[1] + 1, n_pairs), np.float32)
        self.n_iter_ = np.concatenate([np.empty(0, int), *(block["sweeps"] for block in found)])
        self._warn(self.n_iter_, "pairs")

    def _present(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.label_counts_ > 0)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        present, n = self._present(), X.shape[0]
        k = min(k, len(present))
        labels, values = np.empty((n, k), dtype=np.int64), np.empty((n, k))
        size = max(1, min(1024, VOTES // (8 * len(present))))

        def work(first: int) -> None:
            last = min(first + size, n)
            best, values[first:last] = ranked(self._scores(X[first:last]), k)
            labels[first:last] = present[best]

        run_here_or_on_threads(work, range(0, n, size), n_jobs=self.n_jobs)
        return from_ranked(labels, values, len(self.classes_))

    def _scores(self, X: sp.csr_array) -> NDArray[np.float64]:
        """Votes and squeezed margins (n, K) of a block."""
        weights = self.weights_
        scores = np.zeros((X.shape[0], len(self._present())))
        bias = weights[[-1]].toarray().ravel().astype(np.float64)
        arrays = (X.indptr, X.indices, X.data.astype(np.float64))
        model = (weights.indptr, weights.indices, weights.data)
        duel(*map(read_only, (*arrays, *model, bias)), scores)  # type: ignore[call-arg]
        return scores

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._topk(X, 1)

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        present = self._present()
        own = np.searchsorted(present, column)
        seen = bool(own < len(present) and present[own] == column)
        first, second = np.triu_indices(len(present), 1)
        duels = np.flatnonzero(seen & ((first == own) | (second == own)))
        signs = np.where(second[duels] == own, 1.0, -1.0)
        weights = self.weights_[:, duels].astype(np.float64)
        margins = x.astype(np.float64) @ weights[:-1] + weights[[-1]]
        won = np.asarray(margins.toarray()).ravel() > 0
        total = np.asarray(weights @ signs)
        return Explanation.by_features(
            self._name_of(column), x, total[x.indices], names, n, bias=total[-1],
            summary={"duels": len(duels), "won": int((won == (signs > 0)).sum())},
        )  # fmt: skip

    def _check_state(self) -> None:
        super()._check_state()
        k = len(self._present())
        check_weights(self, k * (k - 1) // 2)
