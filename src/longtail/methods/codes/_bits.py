"""What the Bloom codes share: one logistic regression per bit, and labels decoded from the bits.

Labels outside the code, the hubs, have a regression each, after those of the bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from longtail._sparse import from_ranked, stacked
from longtail.base import ExtremeClassifier
from longtail.errors import ModelError
from longtail.explanation import Explanation
from longtail.methods._soundness import is_array, is_csr, is_label_matrix
from longtail.methods.codes._decode_kernels import best_labels
from longtail.methods.codes.code import encode
from longtail.methods.codes.decoding import Taking, tables_of
from longtail.parameters import UpToOne
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.run import Run
from longtail.runtime.seeds import row_seeds
from longtail.search import index_for
from longtail.solvers import fit_linear
from longtail.solvers.costs import linear_estimate

BLOCK_BYTES = 2**24  # bound on the log-odds of the bits of a block of points

Decoding = Literal["threshold", "random"]
BitShare = Annotated[UpToOne, "Share of its bits that a label needs; 1 asks for all."]


class BitClassifier(ExtremeClassifier):
    """Base of the Bloom codes.

    Subclasses make a code in `_encode`, which sets `code_` and `hubs_`, and turn the bits of a
    block of points into labels in `_decode`. They store `C`, `decoding`, `threshold`, `prune`,
    `tol`, `max_iter`, `random_state` and `n_jobs`.
    """

    C: float
    decoding: Decoding
    threshold: float
    prune: float
    tol: float
    max_iter: int
    random_state: int | None
    n_jobs: int | None

    paper: ClassVar[str] = "Cissé et al. 2013"
    scores_all_labels: ClassVar[bool] = True

    code_: sp.csr_array
    hubs_: NDArray[np.int64]

    # ---- what a code supplies ----------------------------------------------------------------

    def _encode(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        """Set `code_` and `hubs_`."""
        raise NotImplementedError

    def _decode(self, odds: NDArray[np.float64], taking: Taking) -> sp.csr_array:
        """Labels (n, L) of a block of points from the log-odds of their bits, without hubs."""
        raise NotImplementedError

    def _planned(self, Y: sp.csr_array) -> tuple[int, float]:
        """About how many bits there will be, and how many of them a label has."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        n_bits, of_label = self._planned(Y)
        n_bits = max(1, min(n_bits, math.ceil(Y.shape[1] * of_label)))
        positives = np.full(n_bits, min(Y.nnz * of_label / n_bits, X.shape[0] / 2))
        need = linear_estimate(
            X, positives, loss="logistic", prune=self.prune, strength=1.0 / self.C,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        targets = 24.0 * Y.nnz * of_label + 16.0 * Y.shape[1] * of_label
        return need.plus(targets + matrix_bytes(Y))

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        """One problem per bit and per hub, at the cost of the linear solvers."""
        self._encode(X, Y, run)
        targets = sp.hstack([encode(Y, self.code_), Y[:, self.hubs_]], format="csr")
        fit = fit_linear(
            X, targets, loss="logistic", strength=1.0 / self.C, tol=self.tol,
            max_iter=self.max_iter, prune=self.prune, n_jobs=self.n_jobs, run=run.part("bits"),
        )  # fmt: skip
        self.weights_ = fit.weights
        self.gap_ = fit.gap
        self.n_iter_ = np.maximum(fit.iterations, 1)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        parts, first = [], 0
        n_bits = self.code_.shape[1]
        by_chance = self.decoding == "random"
        seeds = row_seeds(X, self._seed) if by_chance else None
        for odds in self._log_odds(X):
            own = None if seeds is None else seeds[first : first + len(odds)]
            chosen = self._decode(odds, Taking(self.threshold, by_chance, seeds=own))
            rows, hubs = np.nonzero(odds[:, n_bits:] >= 0)
            alone = sp.csr_array(
                (np.ones(len(rows)), (rows, self.hubs_[hubs])),
                shape=(len(odds), len(self.classes_)),
            )
            parts.append(chosen + alone)
            first += len(odds)
        return stacked(parts)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        tables = tables_of(self.code_)
        n_labels = len(self.classes_)
        alone = np.full(n_labels, -1, dtype=np.int64)
        alone[self.hubs_] = self.code_.shape[1] + np.arange(len(self.hubs_))
        parts = []
        for odds in self._log_odds(X, at_least=2 * k):
            labels, scores = best_labels(odds, tables.label_ptr, tables.label_bits, alone, k)
            parts.append(from_ranked(labels, scores, n_labels))
        return stacked(parts)

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """The log-odds of all bits of the label being on.

        They are not linear in the features: a feature's weight here is their derivative, its
        contribution that times its value, and the bias is the rest.
        """
        odds = next(self._log_odds(x))[0]
        place = np.flatnonzero(self.hubs_ == column)
        n_bits = self.code_.shape[1]
        bits = n_bits + place if len(place) else self.code_[[column]].indices.astype(np.int64)
        log_p = min(float(log_expit(odds[bits]).sum()), -1e-300)
        score = log_p - float(np.log(-np.expm1(log_p))) if len(bits) else -np.inf
        slope = expit(-odds[bits]) / -np.expm1(log_p)  # d score / d z_b = (1 - σ(z_b)) / (1 - p)
        ours = np.asarray(self.weights_[x.indices][:, bits] @ slope, dtype=np.float64).ravel()
        posteriors = expit(odds[bits])
        table = pl.DataFrame({"bit": bits, "posterior": posteriors, "on": posteriors >= 0.5})
        return Explanation.by_features(
            self._name_of(column), x, ours, names, n, score=score,
            details={"bits": table, **self._more_details(odds)},
        )  # fmt: skip

    def _more_details(self, odds: NDArray[np.float64]) -> dict[str, pl.DataFrame]:
        """Further tables of an explanation of these bits."""
        return {}

    def _check_state(self) -> None:
        super()._check_state()
        n_labels = len(self.classes_)
        code, hubs = getattr(self, "code_", None), getattr(self, "hubs_", None)
        weights = getattr(self, "weights_", None)
        if (
            not is_label_matrix(code, (n_labels, None))
            or not is_array(hubs, (None,), np.int64)
            or ((hubs < 0) | (hubs >= n_labels)).any()
            or len(np.unique(hubs)) != len(hubs)
            or np.diff(code.indptr)[hubs].any()
            or not is_csr(
                weights, (self.n_features_in_ + 1, code.shape[1] + len(hubs)),
                np.float32, np.float64,
            )
        ):  # fmt: skip
            raise ModelError("The code of the model does not fit its labels; it was altered.")

    # ---- helpers -----------------------------------------------------------------------------

    def _log_odds(self, X: sp.csr_array, at_least: int = 1) -> Iterator[NDArray[np.float64]]:
        """Log-odds of all bits and hubs, dense, in blocks of points. O(weights used) per point.

        `at_least` is how many numbers per point the caller will need.
        """
        width = self.weights_.shape[1]
        size = max(1, BLOCK_BYTES // (8 * max(width, at_least)))
        index = index_for(self, self.weights_)
        for first in range(0, X.shape[0], size):
            yield index.all_scores(X[first : first + size], n_jobs=self.n_jobs)
