"""Standard Bloom filters: random bits for each label; the baseline of the robust ones.

Cissé, Usunier, Artières & Gallinari, Robust Bloom Filters for Large Multilabel Classification
Tasks, NIPS 2013, section 2.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.errors import InputError
from longtail.methods._code_size import CodeSize, bits_of
from longtail.methods.codes._bits import BitClassifier, BitShare, Decoding
from longtail.methods.codes._losses_table import check_losses, losses_table
from longtail.methods.codes.code import random_code
from longtail.methods.codes.decoding import Taking, decode_filter
from longtail.parameters import (
    Count,
    ErrorWeight,
    Jobs,
    NewtonSteps,
    Prune,
    RelativeGap,
    Seed,
    Share,
)
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.run import Run

TRIED = range(1, 11)  # numbers of bits per label tried, as in the paper


class StandardBloom(BitClassifier):
    """Label sets as Bloom filters: every label has some random bits.

    Each bit is a logistic regression that predicts whether the point has one of the bit's labels. A
    label is predicted if all its bits are on, so one wrong bit can remove or add every label of the
    bit; `RobustBloom` avoids that.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    code_ : csr_array of shape (L, B)
        The bits of each label; none for labels without a training point, which are never predicted.
    hubs_ : int array
        Labels outside the code: none here.
    n_hashes_ : int
        Bits drawn for each label.
    choice_ : dict
        If `n_hashes` was chosen: the Hamming loss on the held-out rows of every number tried; see
        `choice_table`.
    weights_ : csr_array of shape (D + 1, B)
        Weights of the bits, the bias last.
    gap_, n_iter_ : arrays of shape (B,)
        Proven relative gap and Newton steps of each.

    Notes
    -----
    Training costs B problems, eleven times that if `n_hashes` is to be chosen. Decoding costs
    O(labels of the bits that are on) per point. The score of `predict_topk` is the log-odds that
    all bits of the label are on, each judged separately.

    Examples
    --------
    >>> from longtail import StandardBloom
    >>> X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] * 5
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["fog"]] * 5
    >>> tagger = StandardBloom(code_size=24, n_hashes=2, C=100).fit(X, Y)
    >>> tagger.predict([[1, 1, 0, 0], [0, 0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "sbf"

    def __init__(
        self,
        *,
        code_size: Annotated[
            CodeSize,
            "Bits: a number, or a share of the labels. By default half the labels, but at least "
            "64.",
        ] = None,
        n_hashes: Annotated[
            Count | None,
            "Bits per label, K. None: chosen, the number from 1 to 10 that has the lowest Hamming "
            "loss on held-out rows.",
        ] = None,
        validation: Annotated[Share, "Share of the rows held out to choose `n_hashes`."] = 1 / 3,
        decoding: Annotated[
            Decoding,
            "Whether a label is predicted if at least `threshold` of its bits are on, or by "
            "chance, with the share of its bits as the probability.",
        ] = "threshold",
        threshold: BitShare = 1.0,
        C: ErrorWeight = 1.0,
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[
            Seed, "Seed of the hash functions, the held-out rows, and decoding by chance."
        ] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.code_size = code_size
        self.n_hashes = n_hashes
        self.validation = validation
        self.decoding = decoding
        self.threshold = threshold
        self.C = C
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _planned(self, Y: sp.csr_array) -> tuple[int, float]:
        return bits_of(self.code_size, Y.shape[1]), self.n_hashes or float(np.mean(TRIED))

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        need = super()._estimate(X, Y)
        if self.n_hashes is not None:
            return need
        trials = (1 - self.validation) * len(TRIED) * need.seconds
        reason = f"{len(TRIED) + 1} times {need.reason}, to choose the bits of a label"
        return replace(need.plus(matrix_bytes(X, Y), trials), reason=reason)

    def _encode(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        self.n_hashes_ = self.n_hashes or self._chosen(X, Y, run)
        self.hubs_ = np.empty(0, dtype=np.int64)
        seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        self.code_ = random_code(
            seen, Y.shape[1], bits_of(self.code_size, Y.shape[1]), self.n_hashes_,
            self._seed,
        )  # fmt: skip

    def _chosen(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> int:
        """Bits per label by the Hamming loss on held-out rows; the smallest of equals."""
        n = X.shape[0]
        held_out = math.floor(self.validation * n)
        if held_out < 1 or held_out >= n:
            raise InputError(
                f"With n_samples={n} no row can be held out to choose n_hashes; give n_hashes."
            )
        order = np.random.default_rng(self._seed).permutation(n)
        unseen, seen = np.sort(order[:held_out]), np.sort(order[held_out:])
        true = Y[unseen]
        losses = []
        for n_hashes in TRIED:
            trial = copy.copy(self)
            trial.n_hashes = n_hashes
            trial.classes_ = np.arange(Y.shape[1])
            trial._fit(X[seen], Y[seen], run.part(f"hashes-{n_hashes}"))
            predicted = trial._commit(X[unseen])
            right = predicted.multiply(true).sum()
            losses.append(float((predicted.nnz + true.nnz - 2 * right) / math.prod(true.shape)))
        self.choice_ = {"n_hashes": [float(k) for k in TRIED], "hamming_loss": losses}
        return int(TRIED[int(np.argmin(losses))])

    def choice_table(self) -> pl.DataFrame:
        """One row per number of bits per label that was tried, the chosen one marked.

        Empty if `n_hashes` was given.
        """
        check_is_fitted(self)
        return losses_table("n_hashes", getattr(self, "choice_", None), self.n_hashes_)

    def _check_state(self) -> None:
        super()._check_state()
        check_losses(self, "n_hashes")

    def _decode(self, odds: NDArray[np.float64], taking: Taking) -> sp.csr_array:
        return decode_filter(odds, self.code_, taking)
