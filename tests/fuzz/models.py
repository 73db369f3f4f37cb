"""Trained models of every method, which hostile arrays and forged folders start from."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import longtail
from longtail import PairRanker
from longtail.base import ExtremeClassifier
from longtail.methods.registry import find_method
from longtail.testing.problem import small_problem
from tests.fuzz.kinds import Wrong
from tests.instances import instances

BOOSTED = {
    "powerset-boosting": ("powerset", {"learner": "boosting", "n_trees": 3}),
    "cbm-boosting": ("cbm", {"experts": "boosting", "n_components": 2, "n_starts": 1,
                             "max_rounds": 2}),
}  # fmt: skip
"""Methods with boosted trees, which `instances` has none of."""


@cache
def unfitted() -> dict[str, ExtremeClassifier]:
    """A classifier of every method by name, and those with boosted trees."""
    found = {each.method: each for each in instances()}
    for name, (method, settings) in BOOSTED.items():
        found[name] = find_method(method).estimator(**settings)
    return found


def problem(name: str) -> tuple[Any, Any]:
    """Data on which the method of that name can be trained; methods for classes get classes."""
    classifier = unfitted()[name]
    X, Y = small_problem(classifier)
    return X, Y.argmax(axis=1) if isinstance(classifier, PairRanker) else Y


def prepare(folder: Path) -> None:
    """Train, ask and save a model of every method, which compiles most kernels."""
    for name, classifier in unfitted().items():
        X, y = problem(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(classifier).fit(X, y)
            ask(model, X)
        model.save(folder / name)


def ask(model: Any, X: Any) -> None:
    """Ask a model everything; an answer that is not finite is wrong."""
    top = model.predict_topk(X, 4)
    finite(top.data, "scores")
    columns = len(model.classes_)
    if top.shape[1] != columns or (top.indices >= columns).any() or (top.indices < 0).any():
        raise Wrong("labels that the model does not have")
    model.predict(X)
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(X)
        finite(chances.data if sp.issparse(chances) else np.asarray(chances), "probabilities")
    row = sp.csr_array(X)[[0]] if sp.issparse(X) else X[:1]
    reasons = model.explain(row)
    finite(np.array([reasons.score], dtype=float), "score of an explanation")


def finite(values: Any, what: str) -> None:
    """Refuse numbers that are not finite."""
    if not np.isfinite(values).all():
        raise Wrong(f"{what} that are not finite")


@cache
def loaded(folder: Path) -> Any:
    """A saved model, loaded once per process."""
    return longtail.load(folder)
