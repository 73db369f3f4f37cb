"""`certify`: how a model's objective compares with liblinear's, label by label.

This is Figure 2 of Babbar & Schölkopf 2019. Objectives and violations of optimality, ours and
liblinear's, are recomputed in double precision from the weights alone; what a solver reports about
itself is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import for_liblinear
from longtail.errors import InputError, ParameterError
from longtail.labels import as_predicted, columns_of, encode_labels
from longtail.methods._by_count import l1_strength
from longtail.methods._independent import IndependentLabels
from longtail.parameters import check_positive
from longtail.runtime.executor import ProcessExecutor
from longtail.solvers.liblinear import (
    l1_point,
    l1_task,
    label_blocks,
    solvable,
    solve_l1_labels,
)

EQUAL = 1e-4  # objectives that differ by less, relative to liblinear's, count as equal


@dataclass(frozen=True)
class Certificate:
    """What `certify` found.

    Attributes
    ----------
    table : polars.DataFrame
        One row per label: `label`, its `positives`, the `objective` of the model and of
        `liblinear`, their relative `difference` (negative: the model's is lower), the `violation`
        of the optimality conditions by each, relative to the strength (`violation`,
        `liblinear_violation`), liblinear's sweeps and seconds (`liblinear_sweeps`,
        `liblinear_seconds`).
    strength : float, or pair of them
        Of the objective: the weakest and the strongest of the labels, where these differ.
    tol, max_iter
        liblinear's eps and limit on sweeps.
    n_points : int
        Rows of X.
    left_out : int
        Labels that were requested but that liblinear cannot train: those that all rows have, or
        none.
    """

    table: pl.DataFrame
    strength: float | tuple[float, float]
    tol: float
    max_iter: int
    n_points: int
    left_out: int

    @property
    def better(self) -> int:
        """Labels on which the model's objective is lower by more than 1e-4, relatively."""
        return int((self.table["difference"] < -EQUAL).sum())

    @property
    def worse(self) -> int:
        """Labels on which it is higher by more than that."""
        return int((self.table["difference"] > EQUAL).sum())

    @property
    def equal(self) -> int:
        """The other labels."""
        return len(self.table) - self.better - self.worse

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the labels that are better, equal and worse."""
        number = max(len(self.table), 1)
        return {name: getattr(self, name) / number for name in ("better", "equal", "worse")}

    def __str__(self) -> str:
        strengths = np.atleast_1d(self.strength).tolist()
        lines = [
            f"{len(self.table)} labels at strength {' to '.join(f'{s:g}' for s in strengths)}, "
            f"against liblinear -s 5 with eps {self.tol:g} and at most {self.max_iter} sweeps"
        ]
        if not len(self.table):
            return lines[0]
        column = {name: self.table[name].to_numpy() for name in self.table.columns[1:]}
        notes = {
            "better": f"lower by up to {max(-column['difference'].min(), 0.0):.1e}",
            "equal": f"within {EQUAL:g}",
            "worse": f"higher by up to {max(column['difference'].max(), 0.0):.1e}",
        }
        for name, share in self.shares.items():
            note = f"   {notes[name]}" if share else ""
            lines.append(f"  {name:<8}{getattr(self, name):6d}  {100 * share:5.1f} %{note}")
        lines.append("  optimality violated by, relative to the strength:")
        for name, values in (
            ("model", column["violation"]),
            ("liblinear", column["liblinear_violation"]),
        ):
            lines.append(
                f"    {name:<10} median {np.median(values):.1e}, largest {values.max():.1e}"
            )
        stopped = int((column["liblinear_sweeps"] >= self.max_iter).sum())
        lines.append(
            f"  liblinear took {column['liblinear_seconds'].sum():.1f} s and ended {stopped} "
            "labels at its limit on sweeps"
        )
        return "\n".join(lines)


def certify(
    X: Any,
    Y: Any,
    model: IndependentLabels,
    labels: int | Iterable[Any] | None = None,
    *,
    strength: float | None = None,
    tol: float = 0.01,
    max_iter: int = 1000,
    n_jobs: int | None = None,
) -> Certificate:
    """Compare a model's objective with that of liblinear's `-s 5`, label by label.

    The objective is strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)², with the bias as a weight like
    every other, on a constant feature of one. Weights with a lower value prove that the others do
    not minimise it.

    Parameters
    ----------
    X : sparse matrix or array of shape (N, D)
        The features that the model was trained on.
    Y : in any form that `fit` takes
        The labels that it was trained on.
    model : IndependentLabels
        A fitted `ProXML` or `CCDL1`; or any other linear model with `strength` given, since its
        weights have a value of this objective too, though they do not minimise it.
    labels : int or iterable of names, optional
        Which labels: a number of them, evenly spaced by frequency, or their names; by default all.
    strength : float, optional
        Of the objective; by default the model's.
    tol : float
        liblinear's eps; 0.01 is its default for `-s 5`, scikit-learn's is 0.0001.
    max_iter : int
        liblinear's limit on sweeps.
    n_jobs : int, optional
        Processes for liblinear, as in scikit-learn; only the seconds in the result depend on it.

    Returns
    -------
    Certificate

    Notes
    -----
    Nearly all the time is liblinear's: O(nnz) per sweep, and tens to a thousand sweeps per label.
    The weights of a model are stored in single precision, while liblinear's are compared as they
    come, in double; docs/certificate.md says what the rounding costs.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail.methods.linear import CCDL1, certify
    >>> data = make_longtail(100, 50, 20, random_state=0)
    >>> certificate = certify(data.X, data.Y, CCDL1().fit(data.X, data.Y), labels=3)
    >>> certificate.equal
    3
    >>> print(str(certificate).splitlines()[0])
    3 labels at strength 0.5, against liblinear -s 5 with eps 0.01 and at most 1000 sweeps
    """
    if not isinstance(model, IndependentLabels):
        raise ParameterError(
            f"certify compares linear one-vs-rest models, not a {type(model).__name__}."
        )
    check_is_fitted(model)
    if getattr(model, "class_weight", None) is not None:
        raise ParameterError("certify is for problems without class_weight; train without it.")
    chosen = _strength(model, strength)
    check_positive(tol=tol)
    if int(max_iter) < 1:
        raise ParameterError(f"max_iter must be at least 1, not {max_iter!r}.")
    rows = for_liblinear(model._checked(X, reset=False))
    targets = _targets(Y, model.classes_, rows.shape[0])
    wanted = _wanted(labels, model.classes_, np.diff(targets.indptr))
    counts = np.diff(targets.indptr)[wanted]
    able = wanted[solvable(rows, counts)]
    strengths = l1_strength(model._checked(X, reset=False), np.diff(targets.indptr), chosen)
    strengths = np.broadcast_to(strengths, len(model.classes_))
    blocks = label_blocks(targets, able, strength=strengths)
    task = l1_task(rows, tol, max_iter)
    solved: dict[int, Any] = {}
    ProcessExecutor(n_jobs).each(solve_l1_labels, task, enumerate(blocks), solved.__setitem__)
    answers = [solved[number] for number in range(len(blocks))]
    theirs = {
        name: np.concatenate([np.empty(0), *(answer[name] for answer in answers)])
        for name in ("objective", "violation", "iterations", "seconds")
    }
    weights = sp.csc_array(model.weights_)
    ours = [
        l1_point(rows, points, weights[:, [label]].toarray().ravel().astype(np.float64), own)
        for label, (points, _, _, own) in zip(able.tolist(), chain(*blocks), strict=True)
    ]
    value = np.array([point[0] for point in ours])
    table = pl.DataFrame(
        {
            "label": [str(name) for name in model.classes_[able].tolist()],
            "positives": np.diff(targets.indptr)[able],
            "objective": value,
            "liblinear": theirs["objective"],
            "difference": value / theirs["objective"] - 1.0,
            "violation": np.array([point[1] for point in ours]),
            "liblinear_violation": theirs["violation"],
            "liblinear_sweeps": theirs["iterations"].astype(int),
            "liblinear_seconds": theirs["seconds"],
        }
    )
    used = np.unique(strengths[able] if len(able) else strengths)
    return Certificate(
        table, float(used[0]) if len(used) == 1 else (float(used[0]), float(used[-1])),
        float(tol), int(max_iter), rows.shape[0], len(wanted) - len(able),
    )  # fmt: skip


def _strength(model: IndependentLabels, given: Any) -> Any:
    """The strength of the objective; an error if the model has minimised another one."""
    own = getattr(model, "strength", None)
    if given is None and own is None:
        raise ParameterError(
            f"{type(model).__name__} has no strength of an l1 penalty; give certify the strength "
            "to compare at."
        )
    if own is not None and getattr(model, "loss", "squared_hinge") != "squared_hinge":
        raise ParameterError(
            f"The model minimised the {model.loss} loss; certify compares the squared hinge."
        )
    if not getattr(model, "penalize_bias", True):
        raise ParameterError(
            "The model's bias is not penalised, but liblinear's is; fit with penalize_bias=True."
        )
    if given is None:
        return own
    check_positive(strength=given)
    return float(given)


def _targets(Y: Any, classes: NDArray[Any], n: int) -> sp.csc_array:
    """The labels as columns in the order of the model's."""
    Y = as_predicted(Y, classes, "sparse")
    encoded = encode_labels(Y)
    if encoded.kind in ("names", "multiclass"):
        encoded = encode_labels(Y, label_names=classes.tolist())
    if encoded.matrix.shape != (n, len(classes)):
        raise InputError(
            f"Y is {encoded.matrix.shape[0]} by {encoded.matrix.shape[1]}, but X has {n} rows and "
            f"the model {len(classes)} labels; give the data that it was trained on."
        )
    return sp.csc_array(encoded.matrix)


def _wanted(labels: Any, classes: NDArray[Any], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """The columns to compare."""
    if labels is None:
        return np.arange(len(classes))
    if isinstance(labels, int | np.integer) and not isinstance(labels, bool):
        if labels < 1:
            raise ParameterError(f"labels must be at least 1, not {labels}.")
        frequent = np.argsort(-counts, kind="stable")
        frequent = frequent[counts[frequent] > 0]
        if not len(frequent):
            return frequent
        places = np.linspace(0, len(frequent) - 1, min(int(labels), len(frequent)))
        return np.sort(frequent[np.unique(np.round(places).astype(np.int64))])
    return columns_of(labels, classes)
