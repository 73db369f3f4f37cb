"""OVA, MSVM and OVO against scikit-learn's own, and what they refuse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import LinearSVC

import longtail
from longtail import ranked
from longtail.data import make_longtail
from longtail.errors import ConvergenceWarning, InputError, ModelError, ParameterError
from longtail.labels.sets import one_class_per_row
from longtail.methods.linear._duels import pair_weights
from longtail.methods.linear.multiclass import MSVM, OVA, OVO
from longtail.solvers.columns import holds_columns, matrix_of
from longtail.solvers.liblinear import KINDS

ALL = pytest.mark.parametrize("method", [OVA, MSVM, OVO], ids=lambda cls: cls.method)
LIMITED = pytest.mark.parametrize("method", [OVA, OVO], ids=lambda cls: cls.method)
SVC = LinearSVC(dual=True, random_state=0)


@pytest.fixture(scope="module")
def texts():
    """Sparse rows of 5 classes, of which the first rows show all, in order."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(5), rng.integers(0, 5, 55)])
    X = (rng.random((60, 40)) < 0.1) * rng.random((60, 40))
    X[np.arange(60), y] += 0.7
    return sp.csr_array(X), y


def scores_of(model, X):
    return model.predict_topk(X, len(model.classes_)).toarray()


class TestAgainstScikitLearn:
    def test_ova(self, texts):
        X, y = texts
        wanted = OneVsRestClassifier(SVC).fit(X, y)
        model = OVA().fit(X, y)
        assert np.allclose(scores_of(model, X), wanted.decision_function(X), atol=1e-5)
        assert np.array_equal(model.predict(X), wanted.predict(X))

    def test_msvm(self, texts):
        X, y = texts
        wanted = LinearSVC(multi_class="crammer_singer", dual=True, random_state=0).fit(X, y)
        model = MSVM().fit(X, y)
        assert np.allclose(scores_of(model, X), wanted.decision_function(X), atol=1e-5)
        assert np.array_equal(model.predict(X), wanted.predict(X))

    def test_msvm_of_two_classes(self, texts):
        X, y = texts
        two = y < 2
        wanted = LinearSVC(multi_class="crammer_singer", dual=True, random_state=0)
        wanted.fit(X[two], y[two])
        scores = scores_of(MSVM().fit(X[two], y[two]), X)
        assert np.allclose(scores[:, 1] - scores[:, 0], wanted.decision_function(X), atol=1e-5)

    @pytest.mark.parametrize("bias", [True, False])
    def test_ovo(self, texts, bias):
        X, y = texts
        wanted = OneVsOneClassifier(clone(SVC).set_params(fit_intercept=bias)).fit(X, y)
        model = OVO(bias=bias).fit(X, y)
        assert (model.weights_[[-1]].nnz > 0) is bias
        assert np.allclose(scores_of(model, X), wanted.decision_function(X), atol=1e-5)
        assert np.array_equal(model.predict(X), wanted.predict(X))
        assert model.weights_.shape == (41, 10)
        dense = np.array([one.coef_.ravel() for one in wanted.estimators_])
        assert np.allclose(model.weights_[:-1].toarray().T, dense, atol=1e-6)

    def test_ovo_of_two_classes(self, texts):
        X, y = texts
        two = y < 2
        model = OVO().fit(X[two], y[two])
        assert np.array_equal(model.predict(X[two]), SVC.fit(X[two], y[two]).predict(X[two]))


class TestMemory:
    @ALL
    def test_too_many_classes_are_refused_before_any_work(self, method):
        data = make_longtail(200, 300, 100, random_state=0)
        seen = []
        with pytest.raises(InputError, match=r"[\d.]+ MB .* memory_limit of 1e-05 GB") as caught:
            method(memory_limit=1e-5).fit(data.X, data.Y, progress=lambda *told: seen.append(told))
        assert "\n" not in str(caught.value)
        assert seen == []

    def test_what_is_refused_is_what_is_estimated(self):
        data = make_longtail(200, 300, 100, random_state=0)
        for method in (OVA, MSVM, OVO):
            need = method().estimate(data.X, data.Y).peak_bytes / 1e9
            with pytest.raises(InputError, match=r"some [\d.]+ MB"):
                method(memory_limit=need / 2).fit(data.X, data.Y)

    def test_ova_counts_used_features_and_labels(self):
        X = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 0])), shape=(4, 10**6))
        Y = np.eye(4, dtype=int)[[0, 1, 2, 2]]  # the last label has no point
        assert OVA().fit(X, Y).weights_.nnz <= 4 * 3 + 1
        assert OVA().estimate(X, Y).model_bytes <= 8 * (4 * 3 + 1)

    def test_weights_of_the_pairs_are_counted(self, texts):
        X, y = texts
        wanted = 0
        for a in range(5):
            for b in range(a + 1, 5):
                wanted += len(np.unique(X[(y == a) | (y == b)].indices)) + 1
        assert pair_weights(X, y, 5) == wanted
        assert OVO().fit(X, y).weights_.nnz <= wanted

    @ALL
    def test_limit_must_make_sense(self, method):
        for name in set(method().get_params()) - {"n_jobs"}:
            with pytest.raises(ParameterError, match=name):
                method(**{name: 0}).fit(np.eye(2), [0, 1])


class TestRows:
    def test_several_labels_are_repeated_and_none_is_left_out(self):
        X = sp.csr_array(np.diag([1.0, 2.0, 3.0]))
        Y = sp.csr_array(np.array([[0, 1, 0], [0, 0, 0], [1, 0, 1]]))
        rows, y = one_class_per_row(X, Y, "MSVM")
        assert rows.sum(axis=1).tolist() == [1.0, 3.0, 3.0]
        assert sorted(y.tolist()) == [0, 1, 2]

    def test_order_of_the_columns_does_not_matter(self):
        data = make_longtail(80, 60, 8, labels_per_sample=2, random_state=0)
        order = np.array([3, 1, 0, 7, 5, 6, 2, 4])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one = MSVM().fit(data.X, data.Y).predict(data.X)
            two = MSVM().fit(data.X, sp.csr_array(data.Y[:, order])).predict(data.X)
        assert (one[:, order] != two).nnz == 0

    def test_a_bias_is_a_matter_of_yes_or_no(self):
        with pytest.raises(ParameterError, match=r"bias must be True or False, not 1\.0"):
            OVO(bias=1.0).fit(np.eye(2), ["a", "b"])

    @pytest.mark.parametrize("method", [MSVM, OVO])
    def test_no_labels_at_all_are_refused(self, method):
        with pytest.raises(InputError, match="No row of Y has a label"):
            method().fit(np.eye(2), np.zeros((2, 3), int))

    @ALL
    def test_one_class_only(self, method):
        model = method().fit(np.eye(3), ["a", "a", "a"])
        assert model.predict(np.eye(3)).tolist() == ["a"] * 3

    @ALL
    def test_rows_without_features(self, method):
        model = method().fit(sp.csr_array((4, 3)), ["a", "b", "a", "b"])
        assert set(model.predict(sp.csr_array((2, 3))).tolist()) <= {"a", "b"}
        assert np.isfinite(model.predict_topk(sp.csr_array((2, 3)), 2).data).all()

    @pytest.mark.parametrize("method", [MSVM, OVO])
    def test_classes_without_points_are_not_listed(self, texts, method):
        X, y = texts
        Y = sp.csr_array(np.eye(8, dtype=int)[y + 2])
        model = method().fit(X, Y)
        assert set(model.predict_topk(X, 8).indices.tolist()) == {2, 3, 4, 5, 6}
        assert np.array_equal(
            ranked(model.predict_topk(X, 1), 1)[0].ravel(), method().fit(X, y).predict(X) + 2
        )
        assert model.explain(X[[0]], 0).score == 0.0
        assert set(model.predict_topk(X, 3, tail=1.0).indices.tolist()) <= {2, 3, 4, 5, 6}

    def test_ova_gives_the_best_or_all_that_are_positive(self, texts):
        X, y = texts
        one = OVA().fit(X, np.eye(5, dtype=int)[y])
        assert one.one_class_
        assert (one.predict(X).sum(axis=1) == 1).all()
        Y = np.eye(5, dtype=int)[y]
        Y[:, 1] |= Y[:, 0]
        several = OVA().fit(X, Y)
        assert not several.one_class_
        assert np.array_equal(several.predict(X), scores_of(several, X) >= 0)


class TestEachModel:
    @ALL
    def test_processes_do_not_change_it(self, texts, method, monkeypatch):
        monkeypatch.setattr("longtail.methods.linear.multiclass.BLOCK", 2)
        monkeypatch.setattr("longtail.methods.linear.multiclass.PAIRS", 3)
        X, y = texts
        one, two = method(n_jobs=1).fit(X, y), method(n_jobs=2).fit(X, y)
        assert np.array_equal(one.weights_.data, two.weights_.data)
        assert np.array_equal(one.weights_.indices, two.weights_.indices)
        many = sp.csr_array(sp.vstack([X] * 40))
        assert np.array_equal(one.predict(many), two.predict(many))

    @ALL
    def test_comes_back_as_it_was(self, texts, method, tmp_path):
        X, y = texts
        model = method().fit(X, y)
        model.save(tmp_path / "model")
        loaded = longtail.load(tmp_path / "model")
        assert np.array_equal(loaded.predict_topk(X, 3).data, model.predict_topk(X, 3).data)

    @ALL
    @pytest.mark.parametrize(
        "change", [lambda w: w[:, :-1], lambda w: w[:-1], lambda w: w * np.nan]
    )
    def test_altered_weights_are_refused(self, texts, method, change, tmp_path):
        X, y = texts
        model = method().fit(X, y)
        model.weights_ = sp.csr_array(change(model.weights_))
        model.save(tmp_path / "model")
        with pytest.raises(ModelError):
            longtail.load(tmp_path / "model")

    @pytest.mark.parametrize("method", [OVA, MSVM])
    def test_contributions_add_up_to_the_margin(self, texts, method):
        X, y = texts
        model = method().fit(X, y)
        why = model.explain(X[[3]], 2, n=50)
        assert why.score == pytest.approx(scores_of(model, X)[3, 2])
        assert why.score == pytest.approx(why.bias + why.parts["contribution"].sum())

    def test_duels_are_explained(self, texts):
        X, y = texts
        model = OVO().fit(X, y)
        wanted = OneVsOneClassifier(SVC).fit(X, y)
        decisions = np.array([one.decision_function(X[[3]])[0] for one in wanted.estimators_])
        pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
        signs = np.array([1 if b == 3 else -1 if a == 3 else 0 for a, b in pairs])
        why = model.explain(X[[3]], 3, n=50)
        assert why.score == pytest.approx(decisions @ signs, abs=1e-5)
        assert why.score == pytest.approx(why.bias + why.parts["contribution"].sum())
        assert (
            why.summary["won"]
            == (decisions * signs > 0).sum()
            == int(scores_of(model, X)[3, 3] + 0.4)
        )
        assert why.summary["duels"] == 4
        assert "duels 4" in str(why)

    @LIMITED
    def test_limits_on_sweeps_are_told(self, texts, method):
        X, y = texts
        with pytest.warns(ConvergenceWarning, match="limit on sweeps"):
            method(max_iter=1, tol=1e-12).fit(100 * X, y)

    @ALL
    def test_goes_on_where_it_stopped(self, texts, method, tmp_path, monkeypatch):
        monkeypatch.setattr("longtail.methods.linear.multiclass.BLOCK", 2)
        monkeypatch.setattr("longtail.methods.linear.multiclass.PAIRS", 3)
        X, y = texts

        def stop(what, done, total):
            if done:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            method().fit(X, y, checkpoint=tmp_path / "c", progress=stop)
        seen = []
        again = method().fit(
            X, y, checkpoint=tmp_path / "c", progress=lambda _, done, total: seen.append(done)
        )
        assert seen[0] > 0
        assert np.array_equal(again.weights_.data, method().fit(X, y).weights_.data)

    def test_damaged_blocks_are_done_again(self):
        good = {
            "features": np.array([0, 2], dtype=np.int32),
            "values": np.ones(2, dtype=np.float32),
            "ends": np.array([0, 1, 2]),
            "sweeps": np.array([3, 4]),
        }
        assert holds_columns(good, KINDS, 2, 2)
        weights = matrix_of([good], (3, 2), np.float32)
        assert [weights[:, [j]].nonzero()[0].tolist() for j in (0, 1)] == [[0], [2]]
        for name, value in (
            ("features", np.array([0, 9], dtype=np.int32)),
            ("values", np.ones(3, dtype=np.float32)),
            ("values", np.ones(2)),
            ("ends", np.array([0, 3, 2])),
            ("sweeps", np.array([3])),
        ):
            assert not holds_columns({**good, name: value}, KINDS, 2, 2)
        assert not holds_columns(good, KINDS, 3, 2)
        assert not holds_columns({}, KINDS, 2, 2)
