"""The power-set classifier against scikit-learn's multinomial regression and plain sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit, softmax
from sklearn.linear_model import LogisticRegression

from longtail import ranked
from longtail.data import read_dataset
from longtail.errors import ConvergenceWarning, InputError, ModelError, ParameterError
from longtail.labels import distinct_sets
from longtail.methods.joint import LabelPowerset, PairwiseCRF
from longtail.methods.joint import _support as support


def problem(n=120, d=8, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.5).astype(int)
    return X, Y


@pytest.fixture(scope="module")
def fitted():
    X, Y = problem()
    return X, Y, LabelPowerset(C=2.0, tol=1e-8).fit(X, Y)


def probabilities(model, X):
    rows = np.hstack([X, np.ones((len(X), 1))])
    return softmax(rows @ model.weights_.astype(np.float64), axis=1)


class TestSets:
    def test_each_distinct_set_is_there_once(self, fitted):
        _, Y, model = fitted
        sets = model.sets_.toarray()
        assert sorted(map(tuple, sets)) == sorted(set(map(tuple, Y.tolist())))
        counts = [(row == Y).all(axis=1).sum() for row in sets]
        assert model.set_counts_.tolist() == counts
        assert 1 in counts  # a set that occurs once counts

    def test_rows_are_told_which_set_they_have(self):
        _, Y = problem(seed=3)
        Y[:5] = 0
        sets, which = distinct_sets(sp.csr_array(Y))
        assert np.array_equal(sets.toarray()[which], Y)

    def test_only_seen_sets_are_predicted(self, fitted):
        X, Y, model = fitted
        seen = set(map(tuple, Y.tolist()))
        far = np.random.default_rng(9).normal(size=(300, X.shape[1])) * 5
        assert set(map(tuple, model.predict(far).tolist())) <= seen

    def test_the_empty_set_only_if_it_was_seen(self):
        X, Y = problem()
        assert (Y.sum(axis=1) == 0).any()
        predicted = LabelPowerset().fit(X, Y).predict(X)
        assert (predicted.sum(axis=1) == 0).any()
        some = Y.any(axis=1)
        assert LabelPowerset().fit(X[some], Y[some]).predict(X).any(axis=1).all()

    def test_one_set_only(self):
        X, _ = problem()
        Y = np.tile([1, 0, 1], (len(X), 1))
        model = LabelPowerset().fit(X, Y)
        assert np.array_equal(model.predict(X), Y)
        assert np.allclose(model.predict_proba(X), Y, atol=1e-15)
        top = model.predict_topk(X, 3)
        assert (np.diff(top.indptr) == 2).all()
        assert np.isfinite(top.data).all()
        why = model.explain(X[0], 0)
        assert why.table("sets")["set"].to_list() == [[0, 2], None]
        assert why.score == why.bias == 40.0
        assert model.explain(X[0], 1).table("sets")["set"].to_list() == [None, [0, 2]]


class TestModel:
    def test_it_is_the_multinomial_regression_on_sets(self, fitted):
        X, Y, model = fitted
        _, which = distinct_sets(sp.csr_array(Y))
        reference = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-9, max_iter=10_000)
        reference.fit(np.hstack([X, np.ones((len(X), 1))]), which)
        assert np.allclose(model.weights_, reference.coef_.T, atol=1e-3)

    def test_predicts_the_most_probable_set(self, fitted):
        X, _, model = fitted
        best = probabilities(model, X).argmax(axis=1)
        assert np.array_equal(model.predict(X), model.sets_.toarray()[best])

    def test_marginals_are_sums_over_sets(self, fitted):
        X, _, model = fitted
        wanted = probabilities(model, X) @ model.sets_.toarray()
        assert np.allclose(model.predict_proba(X), wanted)
        top = model.predict_topk(X, 4)
        assert np.allclose(top.toarray(), logit(wanted), atol=1e-6)
        two, _ = ranked(model.predict_topk(X, 2), 2)
        assert np.array_equal(two, np.argsort(-wanted, axis=1, kind="stable")[:, :2])

    def test_blocks_do_not_matter(self, fitted, monkeypatch):
        X, _, model = fitted
        whole = model.predict(X), model.predict_proba(X), model.predict_topk(X, 3).toarray()
        monkeypatch.setattr(support, "BLOCK_BYTES", 1000)
        parts = model.predict(X), model.predict_proba(X), model.predict_topk(X, 3).toarray()
        for one, other in zip(whole, parts, strict=True):
            assert np.allclose(one, other)

    def test_one_class_a_row_is_plain_multinomial_regression(self):
        X, Y = problem()
        y = np.array(["a", "b", "c", "d"])[Y.argmax(axis=1)]
        model = LabelPowerset(tol=1e-8).fit(X, y)
        p = model.predict_proba(X)
        assert np.allclose(p.sum(axis=1), 1)
        assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])

    def test_scores_stay_finite_where_the_model_is_certain(self):
        X = np.array([[100.0], [-100.0]] * 10)
        model = LabelPowerset(C=1e6).fit(X, [["a"], ["b"]] * 10)
        scores = model.predict_topk([[1e6], [-1e6]], 2)
        assert np.isfinite(scores.data).all()
        assert model.predict([[1e6], [-1e6]]) == [("a",), ("b",)]

    def test_labels_without_a_point_get_no_score(self):
        X, Y = problem()
        model = LabelPowerset().fit(X, np.column_stack([Y, np.zeros(len(X), int)]))
        assert not (model.predict_topk(X, 5).indices == 4).any()

    def test_the_most_probable_sets_are_listed(self, fitted):
        X, _, model = fitted
        p, names = (
            probabilities(model, X),
            [tuple(np.flatnonzero(s)) for s in model.sets_.toarray()],
        )
        for i, found in enumerate(model.predict_sets(X[:30], n_sets=4)):
            best = np.argsort(-p[i], kind="stable")[:4]
            assert [labels for labels, _ in found] == [names[s] for s in best]
            assert [chance for _, chance in found] == pytest.approx(p[i, best], abs=1e-6)
        (every,) = model.predict_sets(X[:1], n_sets=1000)
        assert len(every) == len(names)
        assert sum(chance for _, chance in every) == pytest.approx(1)


@pytest.mark.parametrize("kind", [LabelPowerset, PairwiseCRF])
class TestHugeFeatures:
    @pytest.mark.parametrize("value", [1.1e15, -1e200, 1.7e308])
    def test_values_whose_scores_overflow_are_refused(self, kind, value):
        X, Y = problem(n=40)
        model = kind().fit(X, Y)
        X[3, 1] = value
        for given in (X, sp.csr_array(X)):
            for call in (
                lambda given=given: kind().fit(given, Y),
                lambda given=given: model.predict(given),
                lambda given=given: model.predict_proba(given),
                lambda given=given: model.predict_sets(given),
                lambda given=given: model.explain(given[[3]], 0),
            ):
                with pytest.raises(InputError, match=r"beyond 1e\+15 .* scale the rows") as caught:
                    call()
                assert "\n" not in str(caught.value)

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    @pytest.mark.parametrize(
        ("value", "dtype"), [(1e15, float), (-1e15, float), (9e14, np.float32)]
    )
    def test_smaller_ones_are_predicted(self, kind, value, dtype):
        X, Y = problem(n=20, d=3, n_labels=3)
        model = kind(C=100).fit(X, Y)
        X[3] *= value / np.abs(X[3]).max()
        p = model.predict_proba(X.astype(dtype))
        assert ((p >= 0) & (p <= 1)).all()
        assert np.isfinite(model.predict_topk(X.astype(dtype), 3).data).all()
        assert np.isfinite(model.explain(X[3].astype(dtype), 0).score)

    @pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::longtail.errors.LongtailWarning")
    @pytest.mark.parametrize("C", [4.0, 1e6])
    def test_where_the_penalty_would_be_lost_training_is_refused(self, kind, C):
        X, Y = problem(n=20, d=3, n_labels=3)
        X[3] *= 1e15 / max(1.0, C**0.5) / np.abs(X[3]).max()
        model = kind(C=C, max_iter=5).fit(X * 0.999, Y)
        assert np.isfinite(model.predict_proba(X)).all()
        with pytest.raises(InputError, match=r"penalty .* scale the features"):
            kind(C=C).fit(X * 1.001, Y)


class TestExplanation:
    def test_contributions_and_bias_add_up(self, fitted):
        X, _, model = fitted
        p = probabilities(model, X)
        holds = model.sets_.toarray() > 0
        for label in range(4):
            why = model.explain(X[7], label, n=100)
            assert why.score == pytest.approx(why.bias + why.parts["contribution"].sum())
            sets = why.table("sets")
            best = [np.where(holds[:, label] == side, p[7], -1).argmax() for side in (True, False)]
            assert why.score == pytest.approx(np.log(p[7, best[0]] / p[7, best[1]]), abs=1e-6)
            assert np.allclose(sets["probability"], p[7, best], atol=1e-6)
            assert sets["set"][0].to_list() == np.flatnonzero(holds[best[0]]).tolist()
            assert label not in sets["set"][1]
            assert "with it" in str(why)
            assert sets.height == 2

    def test_the_sign_says_whether_the_label_is_predicted(self, fitted):
        X, _, model = fitted
        predicted = model.predict(X[:20])
        for i in range(20):
            for label in range(4):
                assert (model.explain(X[i], label).score > 0) == predicted[i, label]


class TestRefusals:
    def test_memory_is_estimated_before_any_work(self):
        X, Y = problem()
        with pytest.raises(
            InputError, match=r"MB for .* distinct label sets.* such as br"
        ) as caught:
            LabelPowerset(memory_limit=1e-6).fit(X, Y)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        "bad",
        [
            {"C": 0}, {"C": "x"}, {"tol": -1}, {"max_iter": 0}, {"learner": "svm"}, {"leaves": 1},
            {"memory_limit": 0}, {"shrinkage": 0}, {"n_trees": 0}, {"random_state": -1},
        ],
    )  # fmt: skip
    def test_parameters(self, bad):
        with pytest.raises(ParameterError):
            LabelPowerset(**bad).fit(*problem())

    def test_threshold(self, fitted):
        with pytest.raises(ParameterError, match="threshold"):
            fitted[2].predict_proba(fitted[0], threshold=1.5)

    def test_a_limit_that_is_hit_is_said(self):
        with pytest.warns(ConvergenceWarning, match="multinomial"):
            LabelPowerset(C=1e6, max_iter=1).fit(*problem())

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("sets_", sp.csr_array(np.ones((2, 7)))),
            ("sets_", sp.csr_array(np.full((2, 4), 3.0))),
            ("weights_", np.zeros((9, 2), np.float32)),
            ("weights_", np.zeros((9, 16))),
            ("learner_", "boosting"),
            ("learner_", "svm"),
        ],
    )
    def test_altered_models(self, fitted, tmp_path, name, value):
        from longtail import load as load_model

        X, Y, _ = fitted
        model = LabelPowerset().fit(X, Y)
        setattr(model, name, value)
        model.save(tmp_path / "model")
        with pytest.raises(ModelError):
            load_model(tmp_path / "model")


@pytest.mark.published
def test_scene(data_folder):
    """68.1 in Li et al. 2016, Table 2, with their C = 1."""
    train, test = (read_dataset(data_folder / "scene", part=part) for part in ("train", "test"))
    model = LabelPowerset(C=1.0).fit(train.X, train.Y)
    assert 100 * model.score(test.X, test.Y) == pytest.approx(68.1, abs=1.0)
