"""What all classifier chains share: orders, training, beam search and joint probabilities.

A model holds one or more chains over the same labels, side by side: columns c·L to (c + 1)·L of the
weights are those of chain c.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import read_only
from longtail.errors import ModelError, ParameterError
from longtail.methods._soundness import is_array
from longtail.methods.joint._chain_kernels import search
from longtail.methods.joint._conditional_classifier import ConditionalClassifier
from longtail.methods.joint._conditionals import Conditionals, Task, fit_conditionals
from longtail.parameters import Must, at_least
from longtail.runtime.run import Progress, Run

SEARCH_CELLS = 2**20  # nodes of a running search, over the points of a block
WORDS = ("random", "given")

Beam = Annotated[int, at_least(1, 2**12)]
"""Label sets that a search keeps; 2^L are all of them, and each step compares all with all."""


def _is_order(order: Any) -> bool:
    """Whether it is a word or a permutation; the number of labels is not known yet."""
    if isinstance(order, str):
        return order in WORDS
    try:
        columns = np.asarray(order)
    except ValueError:
        return False
    return columns.ndim == 1 and np.array_equal(np.sort(columns), np.arange(len(columns)))


Order = Annotated[
    Literal["random", "given"] | tuple[int, ...] | list[int],
    Must("'random', 'given', or every label column from 0 to L - 1 once", _is_order),
    "Order of the chain: random, that of the columns of Y, or the columns themselves.",
]


def chain_order(order: Order, n_labels: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """The label columns in the order of a chain."""
    if isinstance(order, str):
        places = rng.permutation(n_labels) if order == "random" else np.arange(n_labels)
        return places.astype(np.int64)
    if len(order) != n_labels:
        raise ParameterError(
            f"order names {len(order)} label columns, but there are {n_labels}; name each once."
        )
    return np.asarray(order, dtype=np.int64)


def _shifted(run: Run, before: int, total: int) -> Progress:
    """The progress of a part, as progress of the whole."""
    return lambda what, done, _: run.report(what, before + done, total)


def _beside(parts: list[sp.csc_array]) -> sp.csc_array:
    """Matrices side by side; one alone is not copied."""
    return parts[0] if len(parts) == 1 else sp.csc_array(sp.hstack(parts, format="csc"))


class ChainClassifier(ConditionalClassifier):
    """Base of the chains. Subclasses may store another `beam`."""

    beam: int = 1

    orders_: NDArray[np.int64]

    def _fit_chains(
        self, parts: list[tuple[NDArray[np.int64], NDArray[np.int64] | None]],
        X: sp.csr_array, Y: sp.csr_array, run: Run,
    ) -> None:  # fmt: skip
        """Train chains, each given by its order and its rows (None for all), one after another.

        Each starts from the weights of the previous one, which saves steps and does not change the
        result.
        """
        self._refuse_beyond_memory(X, Y)
        n_labels, total = Y.shape[1], Y.shape[1] * len(parts)
        fits: list[Conditionals] = []
        for number, (order, rows) in enumerate(parts):
            rank = np.empty(n_labels, dtype=np.int64)
            rank[order] = np.arange(n_labels)
            part = run.part(f"chain-{number}") if len(parts) > 1 else run
            part = replace(part, progress=_shifted(run, n_labels * number, total))
            task = Task(
                X if rows is None else X[rows], Y if rows is None else Y[rows], rank, self.C,
                self.tol, self.max_iter, self.prune, fits[-1] if fits else None,
            )  # fmt: skip
            fits.append(fit_conditionals(task, n_jobs=self.n_jobs, run=part))
        self.orders_ = np.stack([order for order, _ in parts])
        self.weights_ = sp.csr_array(_beside([fit.weights for fit in fits]))
        self.label_weights_ = _beside([fit.label_weights for fit in fits])
        self.gap_ = np.concatenate([fit.gap for fit in fits])
        self.n_iter_ = np.maximum(np.concatenate([fit.iterations for fit in fits]), 1)
        self.empty_sets_ = bool((np.diff(Y.indptr) == 0).any())

    def _searched(
        self, odds: NDArray[np.float64], chain: int = 0, n_sets: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.float64]]:
        """Scores (n, L), sets (n, B, L) and their log-probabilities (n, B) for a block of points.

        Each point is searched separately, so the cut into blocks does not matter.
        """
        L = self.orders_.shape[1]
        n = len(odds)
        scores = np.empty((n, L))
        sets = np.zeros((n, n_sets, L), dtype=np.uint8)
        log_p = np.full((n, n_sets), -np.inf)
        beam = min(int(self.beam), 2 ** min(L, 12))  # no more sets are there
        size = max(1, SEARCH_CELLS // (L * beam))
        span = slice(chain * L, (chain + 1) * L)
        for a in range(0, n, size):
            b = min(a + size, n)
            search(
                np.ascontiguousarray(odds[a:b, span]),
                read_only(self.orders_[chain], np.int64), *self._tables(chain), beam,
                self.empty_sets_, scores[a:b], sets[a:b], log_p[a:b],
            )  # fmt: skip
        return scores, sets, log_p

    def _tables(self, chain: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """For each label of a chain, the labels that it sees and their weights."""
        L = self.orders_.shape[1]
        between = self.label_weights_
        ends = between.indptr[chain * L : (chain + 1) * L + 1]
        return (
            read_only(ends, np.int64),
            read_only(between.indices, np.int32),
            read_only(between.data, np.float32),
        )

    def _decode(
        self, X: sp.csr_array, odds: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        scores, sets, _ = self._searched(odds)
        return sets[:, 0], scores

    def _check_state(self) -> None:
        super()._check_state()
        L = len(self.classes_)
        orders = getattr(self, "orders_", None)
        if (
            not is_array(orders, (None, L), np.int64)
            or orders.shape[0] * L != self.weights_.shape[1]
            or not isinstance(self.label_weights_, sp.csc_array)
            or not (np.sort(orders, axis=1) == np.arange(L)).all()
        ):
            raise ModelError("The chains of the model do not fit its labels; it was altered.")
