"""BR-Dekel: binary relevance without the labels that it gets wrong more often than right.

Dekel & Shamir, Multiclass-Multilabel Classification with More Classes than Examples, AISTATS 2010,
as described by Cisse, Usunier, Artières & Gallinari, Robust Bloom Filters for Large Multilabel
Classification Tasks, NIPS 2013, section 4.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from longtail.errors import ModelError
from longtail.methods._code_size import CodeSize, bits_of
from longtail.methods._independent import IndependentLabels, RidgeProblem, read_only
from longtail.methods._linear import LinearClassifier
from longtail.methods._soundness import is_array
from longtail.parameters import ErrorWeight, Jobs, NewtonSteps, Prune, RelativeGap, Seed, Share
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.run import Run
from longtail.search import linear_scores_above


class BRDekel(RidgeProblem, IndependentLabels, LinearClassifier):
    """One-vs-rest logistic regression, pruned on held-out rows.

    Part of the rows is held out. On the others, ½‖w‖² + C Σ log(1 + exp(-s_i⟨w, x_i⟩)) is minimised
    for each label. On the held-out rows, let PTP be the share of rows for which the label is
    predicted rightly, PFP the share for which it is predicted wrongly: labels with PTP < PFP are
    never predicted again, since they only add errors. If `code_size` is given, the labels are
    ranked by PTP / PFP instead, and the first `code_size` stay.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    kept_ : bool array of shape (L,)
        The labels that may be predicted.
    true_positives_, false_positives_ : int arrays of shape (L,)
        Held-out rows for which each label was predicted rightly and wrongly, before any was
        removed.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last; none for labels that do not stay.
    objective_, gap_, n_iter_ : arrays of shape (L,)
        Objective before pruning of weights, proven relative gap, and Newton steps of each label.

    Notes
    -----
    Training costs as much as that of `BinaryRelevance` on the rows that are not held out: all
    labels are trained. A label that was never predicted has PTP = PFP = 0 and counts as ratio one.
    Of equal ratios the one with more true positives goes first, then the more frequent label. The
    best label always stays, so that there is an answer. Scores are log-odds: labels with at least 0
    are predicted.

    Examples
    --------
    >>> from longtail import BRDekel
    >>> X = [[1, 0], [1, 0], [0, 1]] * 20
    >>> Y = [["sea"], ["sea"], ["snow"]] * 20
    >>> tagger = BRDekel(code_size=1).fit(X, Y)
    >>> tagger.classes_[tagger.kept_].tolist(), tagger.predict([[1, 0], [0, 1]])
    (['sea'], [('sea',), ()])
    """

    method: ClassVar[str] = "br-dekel"
    paper: ClassVar[str] = "Dekel & Shamir 2010"
    loss: ClassVar[str] = "logistic"
    per_label: ClassVar[tuple[str, ...]] = (
        *IndependentLabels.per_label, "kept_", "true_positives_", "false_positives_",
    )  # fmt: skip

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        code_size: Annotated[
            CodeSize,
            "How many labels stay, the paper's code size B: a number, or a share of the labels. "
            "By default those with PTP >= PFP.",
        ] = None,
        validation: Annotated[
            Share,
            "Share of the rows held out; the papers' split of 50 / 25 / 25 percent into training, "
            "validation and test holds out a third of what a method gets to see.",
        ] = 1 / 3,
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[Seed, "Seed of the rows that are held out."] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.code_size = code_size
        self.validation = validation
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        return super()._estimate(X, Y).plus(matrix_bytes(X, Y))  # the parts, and their predictions

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any = None) -> None:
        order = check_random_state(self._seed).permutation(X.shape[0])
        held_out = math.floor(self.validation * len(order))
        seen, unseen = np.sort(order[held_out:]), np.sort(order[:held_out])
        super()._fit(X[seen], Y[seen], run)
        predicted = linear_scores_above(
            X[unseen], self.weights_, self.threshold, n_jobs=self.n_jobs
        )
        self.true_positives_, self.false_positives_ = _hits(predicted, Y[unseen])
        size = None if self.code_size is None else bits_of(self.code_size, Y.shape[1])
        self.kept_ = _chosen(self.true_positives_, self.false_positives_, _count(Y), size)
        self.weights_ = read_only(_only(self.weights_, self.kept_))

    def _check_state(self) -> None:
        super()._check_state()
        if not is_array(getattr(self, "kept_", None), self.classes_.shape, np.bool_):
            raise ModelError("The model does not say which labels it kept; it was altered.")

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _offered(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.kept_)


def _count(Y: sp.csr_array) -> NDArray[np.int64]:
    return np.bincount(Y.indices, minlength=Y.shape[1])


def _hits(predicted: Any, true: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows for which each label was predicted rightly, and wrongly."""
    answers = sp.csr_array(
        (np.ones(predicted.nnz), predicted.indices, predicted.indptr), shape=predicted.shape
    )
    right = answers.multiply(true).tocsr()
    right.eliminate_zeros()
    hits = _count(right)
    return hits, _count(answers) - hits


def _chosen(
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    counts: NDArray[np.int64],
    size: int | None,
) -> NDArray[np.bool_]:
    """The labels that stay."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(right + wrong == 0, 1.0, right / wrong)
    best_first = np.lexsort((-counts, -right, -ratio))
    kept = right >= wrong if size is None else np.zeros(len(ratio), dtype=np.bool_)
    kept[best_first[: size or 1]] = True
    return kept


def _only(weights: sp.csr_array, kept: NDArray[np.bool_]) -> sp.csr_array:
    """The weights without those of other columns."""
    out = sp.csr_array(weights, copy=True)
    out.data[~kept[out.indices]] = 0
    out.eliminate_zeros()
    return out
