"""What a trained classifier answers, and that a loaded one answers the same."""

from __future__ import annotations

import math
import tempfile

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from longtail._sparse import ranked
from longtail.base import ExtremeClassifier
from longtail.errors import InputError, ParameterError
from longtail.explanation import Explanation
from longtail.store import read
from longtail.testing.problem import NAMES, files, names_of, refused, require, same, small_problem


def check_topk(estimator: ExtremeClassifier) -> None:
    """`predict_topk` gives a `csr_array` of at most k finite scores per row, the best ones."""
    X, Y = small_problem(estimator)
    model = clone(estimator).fit(X, Y)
    for k in (1, 3, 100):
        top = model.predict_topk(X, k)
        require(isinstance(top, sp.csr_array), f"predict_topk gives a {type(top).__name__}.")
        same(top.shape, (60, 6), "the shape of predict_topk")
        most = int(np.diff(top.indptr).max())
        require(most <= min(k, 6), f"a row of predict_topk has {most} scores for k={k}.")
        require(bool(np.isfinite(top.data).all()), "a score of predict_topk is not finite.")
    three, _ = ranked(model.predict_topk(X, 3), 3)
    six, _ = ranked(model.predict_topk(X, 6), 6)
    require(np.array_equal(three, six[:, :3]), "the best 3 are not the first of the best 6.")
    for odd in (0, -1, 1.5, None, True):
        with refused(ParameterError, f"k={odd}"):
            model.predict_topk(X, odd)  # type: ignore[arg-type]


def check_forms_of_answers(estimator: ExtremeClassifier) -> None:
    """Label sets are the same as names and as a matrix, the best labels as names and as CSR."""
    X, Y = small_problem(estimator)
    one = np.array(NAMES)[Y.argmax(axis=1)]
    for form in (names_of(Y), one):
        model = clone(estimator).fit(X, form)
        matrix, names = model.predict_matrix(X), model.classes_
        require(isinstance(matrix, sp.csr_array), f"predict_matrix gives a {type(matrix)}.")
        same(matrix.shape, (60, 6), "the shape of predict_matrix")
        require(bool((matrix.data == 1).all()), "predict_matrix stores something other than ones.")
        sets = [tuple(names[row.indices].tolist()) for row in matrix]
        found = list(model.predict(X))
        same([set(row) if form is not one else {row} for row in found], list(map(set, sets)),
             "what predict gives beside predict_matrix")  # fmt: skip
    listed, scores = model.top_labels(X, 8)
    columns, wanted = ranked(model.predict_topk(X, 6), 8)
    same(listed.tolist(), [[None if at < 0 else str(names[at]) for at in row] for row in columns],
         "the names of top_labels")  # fmt: skip
    require(np.array_equal(scores, wanted, equal_nan=True), "top_labels has other scores.")


def check_decision_function(estimator: ExtremeClassifier) -> None:
    """`decision_function`, where there is one, has the scores of `predict_topk` for all labels."""
    same(hasattr(estimator, "decision_function"), estimator.scores_all_labels, "scores_all_labels")
    if not estimator.scores_all_labels:
        return
    X, Y = small_problem(estimator)
    model = clone(estimator).fit(X, np.column_stack([Y, np.zeros(60, int)]))
    found, top = model.decision_function(X), model.predict_topk(X, 7).tocoo()
    wanted = np.full((60, 7), -np.inf)
    wanted[top.row, top.col] = top.data
    require(bool(np.isfinite(wanted[:, :6]).all()), "predict_topk does not score every label.")
    require(np.array_equal(found, wanted), "decision_function has other scores than predict_topk.")
    two = clone(estimator).fit(X, Y[:, 0])
    scores = two.predict_topk(X, 2).toarray()
    require(
        np.allclose(two.decision_function(X), scores[:, 1] - scores[:, 0]),
        "for two classes decision_function is not by how much the second scores higher.",
    )
    with refused(InputError, "more memory than there may be", naming="memory_limit"):
        model.decision_function(X, memory_limit=1e-6)


def check_a_point_alone(estimator: ExtremeClassifier) -> None:
    """A point gets the same answer alone, among others and in another order."""
    X, Y = small_problem(estimator)
    X = X + (np.random.default_rng(1).random(X.shape) < 0.2)  # not so easy to tell
    model = clone(estimator).fit(X, Y)
    sets, top = model.predict(X), model.predict_topk(X, 3).toarray()
    orders = [slice(None, None, -1), *(slice(i, i + 1) for i in range(0, 60, 7))]
    for order in orders:
        require(
            np.array_equal(model.predict(X[order]), sets[order]),
            "predict answers a point differently among other points.",
        )
        # BLAS rounds by the shape
        require(
            np.allclose(model.predict_topk(X[order], 3).toarray(), top[order], 1e-9, 1e-12),
            "predict_topk scores a point differently among other points.",
        )


def check_probabilities(estimator: ExtremeClassifier) -> None:
    """`predict_proba`, where there is one, gives probabilities, and stores no small ones."""
    if not hasattr(estimator, "predict_proba"):
        return
    X, Y = small_problem(estimator)
    dense = clone(estimator).fit(X, Y).predict_proba(X)
    same(dense.shape, (60, 6), "the shape of predict_proba")
    require(dense.min() >= 0 and dense.max() <= 1, "a probability is not between 0 and 1.")
    sparse = clone(estimator).fit(X, sp.csr_array(Y)).predict_proba(X)
    require(
        sp.issparse(sparse)
        and np.allclose(sparse.toarray(), np.where(dense >= 0.01, dense, 0), atol=1e-6),
        "for sparse labels predict_proba does not give the probabilities from 0.01 on, as CSR.",
    )


def check_explanation(estimator: ExtremeClassifier) -> None:
    """`explain` gives the score's parts, which add up, with the names it was given."""
    X, Y = small_problem(estimator)
    model = clone(estimator).fit(X, Y, label_names=list(NAMES))
    words = [f"word{column}" for column in range(10)]
    why = model.explain(X[0], "sea", n=10, feature_names=words)
    require(isinstance(why, Explanation), f"explain gives a {type(why).__name__}.")
    same(why.label, "sea", "the label of the explanation")
    require("sea" in str(why), "the text of the explanation does not name the label.")
    parts = why.table()
    columns = ["feature", "value", "weight", "contribution"]
    same(parts.columns, columns, "the head of the explanation's table")
    whole = why.bias + parts["contribution"].sum()
    require(
        math.isclose(why.score, whole, rel_tol=1e-6, abs_tol=1e-9),
        f"the parts of an explanation add up to {whole}, not to its score of {why.score}.",
    )
    require(
        np.allclose(parts["value"] * parts["weight"], parts["contribution"]),
        "the contributions of an explanation are not values times weights.",
    )
    require(set(parts["feature"]) <= set(words), "explain does not use the names of the features.")
    for name, table in why.details.items():
        same(why.table(name) is table, True, f"the table {name!r} of the explanation")
        require(name in str(why), f"the text of the explanation does not show {name!r}.")
    with refused(InputError, "an unknown table", naming="no table 'moon'"):
        why.table("moon")
    same(model.explain(sp.csr_matrix(X)[0], "sea").score, why.score, "the score of a sparse row")
    best, _ = ranked(model.predict_topk(X[:1], 1), 1)
    same(model.explain(X[0]).label, NAMES[best[0, 0]], "the label explained by default")
    with refused(InputError, "an unknown label", naming="knows no label 'moon'"):
        model.explain(X[0], "moon")
    with refused(ParameterError, "n=-1"):
        model.explain(X[0], "sea", n=-1)


def check_score(estimator: ExtremeClassifier) -> None:
    """`score` is the share of label sets that are right; an unknown label is a miss, no error."""
    X, Y = small_problem(estimator)
    weights = np.linspace(0, 1, 60)
    for form in (Y, sp.csr_array(Y), names_of(Y)):
        model = clone(estimator).fit(X, form)
        sets, true = model.predict(X), form
        if not isinstance(form, list):
            sets, true = (names_of(sp.csr_array(each).toarray()) for each in (sets, form))
        right = np.array([set(a) == set(b) for a, b in zip(sets, true, strict=True)])
        for given in (None, weights):
            score, wanted = model.score(X, form, given), np.average(right, weights=given)
            require(math.isclose(score, wanted), f"score is {score} instead of {wanted}.")
    form[int(np.argmax(right))] = ("moon",)
    wanted = right.mean() - right.max() / 60
    require(math.isclose(model.score(X, form), wanted), "a label unseen in training is no miss.")


def check_saved_model(estimator: ExtremeClassifier) -> None:
    """A loaded model has the parameters, names and answers of the saved one, to the bit, and
    saved again it gives the same bytes."""
    X, Y = small_problem(estimator)
    model = clone(estimator).fit(X, names_of(Y))
    with tempfile.TemporaryDirectory() as place:
        model.save(f"{place}/model")
        loaded = read(f"{place}/model")
        same(type(loaded), type(model), "the class of the loaded model")
        same(
            repr(loaded.get_params()),
            repr(model.get_params()),
            "what get_params gives after loading",
        )
        same(loaded.classes_.tolist(), model.classes_.tolist(), "classes_ after loading")
        same(loaded.predict(X), model.predict(X), "what the loaded model predicts")
        there, here = (each.predict_topk(X, 3) for each in (loaded, model))
        require(
            np.array_equal(there.indices, here.indices) and np.array_equal(there.data, here.data),
            "the loaded model scores differently from the saved one.",
        )
        require(files(loaded) == files(model), "the loaded model is saved in other bytes.")
