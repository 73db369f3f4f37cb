"""What the class is, how it trains, and the labels that it takes."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from longtail._sparse import ranked
from longtail.base import ExtremeClassifier
from longtail.store.protocol import stored_name
from longtail.testing.problem import NAMES, files, names_of, require, same, small_problem


def check_can_be_stored(estimator: ExtremeClassifier) -> None:
    """The class derives from `ExtremeClassifier`, has a name, and a model folder can name it."""
    require(
        isinstance(estimator, ExtremeClassifier),
        f"{estimator!r:.60} is not an ExtremeClassifier; derive from it.",
    )
    cls = type(estimator)
    require(bool(cls.method), f"{cls.__name__} has no name; set the class attribute `method`.")
    require(
        stored_name(cls) == cls.method,
        f"{cls.__name__} is not what the name {cls.method!r} leads to; give the class a `method` "
        "of its own.",
    )


def check_constructor_only_stores(estimator: ExtremeClassifier) -> None:
    """Parameters are given by name, and the constructor stores them as they are."""
    for given in inspect.signature(type(estimator)).parameters.values():
        require(
            given.kind is given.KEYWORD_ONLY,
            f"the parameter {given.name!r} can be given by position; put a * before it.",
        )
    for name, value in estimator.get_params(deep=False).items():
        remade = type(estimator)(**{name: value})
        require(
            getattr(remade, name) is value,
            f"the constructor changes {name!r}; store it as it is and look at it in `fit`.",
        )


def check_methods_are_called_alike(estimator: ExtremeClassifier) -> None:
    """The public methods have the parameters that they have in every classifier.

    `fit` may take `sample_weight` besides.
    """
    for name in (
        "fit",
        "estimate",
        "predict",
        "predict_matrix",
        "predict_topk",
        "top_labels",
        "explain",
        "score",
        "save",
    ):
        there, here = (_shape(cls, name) for cls in (ExtremeClassifier, type(estimator)))
        require(here == there, f"{name} takes {here} instead of {there}.")


def _shape(cls: type[Any], name: str) -> list[tuple[Any, ...]]:
    parameters = inspect.signature(getattr(cls, name)).parameters.values()
    return [
        (given.name, given.kind.description, given.default)
        for given in parameters
        if (name, given.name) != ("fit", "sample_weight")
    ]


def check_fit_returns_self(estimator: ExtremeClassifier) -> None:
    """`fit` returns the classifier, and leaves its parameters and its input as they were."""
    X, Y = small_problem(estimator)
    model = clone(estimator)
    before = {name: repr(value) for name, value in model.get_params().items()}
    for rows, labels in ((X, Y), (sp.csr_array(X), sp.csr_array(Y))):
        copies = rows.copy(), labels.copy()
        require(model.fit(rows, labels) is model, "fit does not return the classifier.")
        model.predict(rows)
        model.predict_topk(rows, 3)
        for given, copy, what in zip((rows, labels), copies, ("X", "the labels"), strict=True):
            require(not abs(given - copy).sum(), f"fit or predict changes {what}; work on a copy.")
    after = {name: repr(value) for name, value in model.get_params().items()}
    require(before == after, "fit changes a parameter; keep what is learned in names with a `_`.")


def check_learns_an_easy_problem(estimator: ExtremeClassifier) -> None:
    """On data that tell their labels, the best label of nine rows in ten is right."""
    X, Y = small_problem(estimator)
    best, _ = ranked(clone(estimator).fit(X, Y).predict_topk(X, 1), 1)
    right = Y[np.arange(60), best[:, 0]][Y.any(axis=1)].mean()
    require(right > 0.9, f"only {right:.0%} of the best labels of an easy problem are right.")


def check_the_same_again(estimator: ExtremeClassifier) -> None:
    """Training again gives the same model, byte by byte, on one thread or two; nothing is left of
    the model before."""
    X, Y = small_problem(estimator)
    threads = [{"n_jobs": 1}, {"n_jobs": 2}] if "n_jobs" in estimator.get_params() else [{}, {}]
    one, two = (clone(estimator).set_params(**setting) for setting in threads)
    one.fit(X, Y)
    two.fit(X[:, :5], names_of(Y)).fit(X, Y)
    require(
        files(one) == files(two),
        "a second fit, or a second thread, gives another model; take every random number from "
        "`random_state`, and keep nothing of an earlier fit.",
    )


def check_counts_of_the_labels(estimator: ExtremeClassifier) -> None:
    """`label_counts_`, `n_points_` and `n_features_in_` describe the training data."""
    X, Y = small_problem(estimator)
    model = clone(estimator).fit(X, Y)
    same(model.label_counts_.tolist(), Y.sum(axis=0).tolist(), "label_counts_")
    same(model.n_points_, 60, "n_points_")
    same(model.n_features_in_, 10, "n_features_in_")


def check_estimate(estimator: ExtremeClassifier) -> None:
    """`estimate` tells positive memory and time, and trains nothing."""
    model = clone(estimator)
    estimate = model.estimate(*small_problem(estimator))
    require(
        0 < estimate.peak_bytes < math.inf and 0 < estimate.seconds < math.inf,
        f"estimate says {estimate.peak_bytes} bytes and {estimate.seconds} seconds.",
    )
    require(not hasattr(model, "classes_"), "estimate trains the classifier.")


def check_forms_of_labels(estimator: ExtremeClassifier) -> None:
    """Dense, sparse and named labels give the same answers, each in the form that went in."""
    X, Y = small_problem(estimator)
    dense = clone(estimator).fit(X, Y).predict(X)
    sparse = clone(estimator).fit(X, sp.csr_array(Y)).predict(X)
    named = clone(estimator).fit(X, names_of(Y))
    require(isinstance(dense, np.ndarray), "dense labels do not come back as a dense array.")
    require(sp.issparse(sparse) and sparse.format == "csr", "sparse labels do not come back CSR.")
    require(np.array_equal(dense, sparse.toarray()), "dense and sparse labels do not agree.")
    sets = [set(row) for row in named.predict(X)]
    require(sets == [set(row) for row in names_of(dense)], "names and columns do not agree.")
    same(sorted(named.classes_), sorted(NAMES), "classes_")


def check_names_of_labels(estimator: ExtremeClassifier) -> None:
    """Names may be given beside a matrix, and be of any hashable type."""
    X, Y = small_problem(estimator)
    model = clone(estimator).fit(X, sp.csc_matrix(Y), label_names=list(NAMES))
    same(model.classes_.tolist(), list(NAMES), "classes_")
    kinds = [("a", 1), 7, "x", 2.5, None, frozenset({1})]
    model = clone(estimator).fit(X, [[kinds[j] for j in np.flatnonzero(row)] for row in Y])
    same(set(model.classes_.tolist()), set(kinds), "the set of classes_")
    require(all(set(row) <= set(kinds) for row in model.predict(X)), "predict invents names.")


def check_one_class_per_row(estimator: ExtremeClassifier) -> None:
    """A 1-d array of classes goes in, and one comes out."""
    X, Y = small_problem(estimator)
    y = np.array(NAMES)[Y.argmax(axis=1)]
    model = clone(estimator).fit(X, y)
    predicted = model.predict(X)
    same(np.shape(predicted), (60,), "the shape of what predict gives for one class per row")
    require(set(predicted) <= set(NAMES), "predict invents classes.")
    right = predicted == y
    same(model.score(X, y), float(right.mean()), "score")
    unseen = [*y[: right.argmax()], "moon", *y[right.argmax() + 1 :]]
    require(model.score(X, unseen) < model.score(X, y), "a class unseen in training is no miss.")


def check_odd_label_matrices(estimator: ExtremeClassifier) -> None:
    """No positive, all positive, doubled columns, rows without labels, empty rows, one label."""
    X, Y = small_problem(estimator)
    X = X.copy()
    X[7] = 0
    odd = np.column_stack([np.zeros(60, int), np.ones(60, int), Y[:, 0], Y[:, 0], Y[:, 1]])
    odd[10] = 0
    model = clone(estimator).fit(X, odd)
    require(bool(np.isfinite(model.predict_topk(X, 5).data).all()), "a score is not finite.")
    require(not model.predict(X)[:, 0].any(), "predict gives a label that no training point has.")
    one = clone(estimator).fit(X, Y[:, :1])
    same(one.predict(X).shape, (60, 1), "the shape of what predict gives for one label")
