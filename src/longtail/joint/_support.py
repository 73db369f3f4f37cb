"""What methods share that choose among the label sets of the training data.

Such a method gives each of these sets a probability for a point. The most probable one is the
prediction; the marginal probability of a label is the sum over the sets that hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._checks import check_count, check_positive
from longtail.base import Explanation
from longtail.errors import InputError, ModelError
from longtail.marginal import LARGEST, MarginalClassifier, log_odds_of

BLOCK_BYTES = 2**25  # probabilities of one block of points


@dataclass(frozen=True)
class SetExplanation(Explanation):
    """An explanation by the two label sets that compete over the label.

    The score is the log-odds of the most probable set with the label against the most probable set
    without it. It is linear in the features, so the contributions and the bias add up to it.

    Attributes
    ----------
    with_label, without_label : tuple or None
        Names in the two sets; None where no training set is of that kind.
    probabilities : array of shape (2,)
        Probabilities of the two sets.
    """

    with_label: tuple[Any, ...] | None
    without_label: tuple[Any, ...] | None
    probabilities: NDArray[np.float64]

    def set_table(self) -> pl.DataFrame:
        """The two sets with their probabilities."""
        kinds = [self.with_label, self.without_label]
        return pl.DataFrame(
            {
                "set": ["none" if kind is None else _spelled(kind) for kind in kinds],
                "probability": self.probabilities,
            }
        )

    def __str__(self) -> str:
        lines = [super().__str__()]
        for word, names, p in zip(
            ("with", "without"),
            (self.with_label, self.without_label),
            self.probabilities,
            strict=True,
        ):
            found = "no training set" if names is None else f"{_spelled(names)}, p = {p:.3f}"
            lines.append(f"{word} it: {found}")
        return "\n".join(lines)


class SetClassifier(MarginalClassifier):
    """A distribution over the label sets of the training data, log-linear in the features.

    Subclasses store `C`, `tol`, `max_iter` and `n_jobs`, set `sets_` in `_fit`, and say how
    probable each set is.
    """

    memory_limit: ClassVar[int] = 2**32
    """Bytes of working memory beyond which training is refused."""

    C: float
    tol: float
    max_iter: int
    n_jobs: int | None

    sets_: sp.csr_array
    objective_: float
    n_iter_: int

    def _log_probabilities(self, X: sp.csr_array) -> NDArray[np.float64]:
        """Logarithms (n, S) of the probabilities of the sets; n is small."""
        raise NotImplementedError

    def _between(self, x: sp.csr_array, one: int, other: int) -> tuple[NDArray[np.float64], float]:
        """Weights of the stored features of x, and a bias, that favour one set over another."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_positive(C=self.C, tol=self.tol)
        check_count(max_iter=self.max_iter)

    def _refuse_beyond_memory(self, n_bytes: float, n_sets: int, weights: str) -> None:
        if n_bytes > self.memory_limit:
            raise InputError(
                f"The {n_sets:,} distinct label sets need {weights} weights and some "
                f"{n_bytes / 2**30:.1f} GB of memory, above the limit of "
                f"{self.memory_limit / 2**30:.1f} GB; use a method that does not list label sets, "
                "such as br or cbm, select features, or raise memory_limit."
            )

    def _block_rows(self) -> int:
        return max(1, BLOCK_BYTES // (8 * max(sum(self.sets_.shape), 1)))

    def _sets_of(self, X: sp.csr_array, first: int) -> NDArray[np.bool_]:
        best = self._log_probabilities(X).argmax(axis=1)
        return self.sets_[best].toarray() > 0

    def _scores_of(self, X: sp.csr_array, first: int) -> NDArray[np.float64]:
        p = np.exp(self._log_probabilities(X)) @ self.sets_.astype(np.float64)
        return log_odds_of(np.clip(np.asarray(p), 0.0, 1.0))

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> SetExplanation:
        logs = self._log_probabilities(x)[0]
        holds = np.zeros(len(logs), dtype=bool)
        holds[self.sets_[:, [column]].nonzero()[0]] = True
        sides = [np.flatnonzero(holds), np.flatnonzero(~holds)]
        best = [int(side[logs[side].argmax()]) if len(side) else None for side in sides]
        one, other = best
        if one is None or other is None:
            ours, bias = np.zeros(x.nnz), -LARGEST if one is None else LARGEST
        else:
            ours, bias = self._between(x, one, other)
        values = x.data.astype(np.float64)
        parts = values * ours
        order = np.argsort(-np.abs(parts), kind="stable")
        order = order[parts[order] != 0][:n]
        return SetExplanation(
            label=self.classes_[column : column + 1].tolist()[0],
            score=float(parts.sum() + bias),
            bias=bias,
            features=names[x.indices[order]],
            values=values[order],
            weights=ours[order],
            contributions=parts[order],
            with_label=self._names_of(one),
            without_label=self._names_of(other),
            probabilities=np.array([0.0 if s is None else np.exp(logs[s]) for s in best]),
        )

    def _names_of(self, number: int | None) -> tuple[Any, ...] | None:
        if number is None:
            return None
        span = slice(self.sets_.indptr[number], self.sets_.indptr[number + 1])
        return tuple(self.classes_[self.sets_.indices[span]].tolist())

    def _check_state(self) -> None:
        super()._check_state()
        sets = getattr(self, "sets_", None)
        if (
            not isinstance(sets, sp.csr_array)
            or sets.shape[1] != len(self.classes_)
            or sets.shape[0] < 1
            or not (sets.data == 1).all()
        ):
            raise ModelError("The label sets of the model do not fit its labels; it was altered.")


def _spelled(names: tuple[Any, ...]) -> str:
    return "{" + ", ".join(map(str, names)) + "}"
