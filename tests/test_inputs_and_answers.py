"""What goes into every classifier and what comes out: data sets, weights, matrices, all scores."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.utils.validation import has_fit_parameter

import longtail
from longtail import BinaryRelevance, DiSMEC, ProXML, Tagger
from longtail.data import Dataset, make_longtail
from longtail.errors import InputError, ParameterError
from longtail.labels import EncodedLabels, encode_labels
from longtail.methods._weights import WeightedFit, class_weights
from longtail.solvers import fit_linear
from longtail.testing import NAMES, names_of, small_problem
from tests.instances import instances

WEIGHTED = [model for model in instances() if isinstance(model, WeightedFit)]


def points():
    return small_problem(DiSMEC())


@pytest.mark.parametrize("classifier", instances(), ids=lambda estimator: estimator.method)
def test_fit_says_whether_it_takes_weights(classifier):
    assert has_fit_parameter(classifier, "sample_weight") == isinstance(classifier, WeightedFit)
    assert list(inspect.signature(classifier.fit).parameters)[:2] == ["X", "y"]


class TestDataset:
    def test_its_labels_are_not_encoded_again(self, monkeypatch):
        X, Y = points()
        data, whole = Dataset(X, names_of(Y)), []
        for name in ("labels.names.names_to_matrix", "labels.encoding.names_to_matrix"):
            monkeypatch.setattr(f"longtail.{name}", None)
        fit = DiSMEC._fit
        monkeypatch.setattr(
            DiSMEC, "_fit", lambda self, X, Y, run: (whole.append(Y), fit(self, X, Y, run))
        )
        model = DiSMEC().fit(data)
        assert whole[0] is data.Y
        assert model.classes_ is data.label_names
        assert DiSMEC().estimate(data).peak_bytes < DiSMEC().estimate(X, Y).peak_bytes

    def test_without_names_predictions_are_matrices(self):
        X, Y = points()
        assert sp.issparse(DiSMEC().fit(Dataset(X, Y)).predict(X))

    def test_encoded_labels_are_taken_as_they_are(self):
        encoded = encode_labels([("sea",), ()])
        assert encode_labels(encoded) is encoded
        assert isinstance(encoded, EncodedLabels)

    def test_is_refused_where_it_says_too_much_or_too_little(self):
        X, Y = points()
        with pytest.raises(InputError, match="give it alone"):
            DiSMEC().fit(Dataset(X, Y), Y)
        with pytest.raises(InputError, match="texts and no features"):
            DiSMEC().fit(Dataset(None, Y[:2], texts=["a", "b"]))
        with pytest.raises(InputError, match="give it alone"):
            Tagger().fit(Dataset(X, Y), label_names=NAMES)

    def test_a_tagger_takes_texts_or_features(self):
        texts = ["waves and sand", "deep snow", "sand castles", "snow and ice"]
        data = Dataset(None, [["sea"], ["winter"], ["sea"], ["winter"]], texts=texts)
        tagger = Tagger().fit(data)
        assert tagger.predict(["a castle of sand"]) == [("sea",)]
        names, _ = tagger.top_labels(["ice"], 1)
        assert names.tolist() == [["winter"]]
        assert tagger.predict_matrix(["ice"]).toarray().tolist() == [[0, 1]]
        X, Y = points()
        named = Dataset(X, Y, feature_names=[f"word{j}" for j in range(10)])
        assert Tagger().fit(named).feature_names_.tolist() == named.feature_names.tolist()

    def test_adds_labels(self):
        X, Y = points()
        model = DiSMEC().fit(Dataset(X, Y[:, :4], label_names=NAMES[:4]))
        model.add_labels(Dataset(X, Y[:, 4:], label_names=NAMES[4:]))
        assert model.classes_.tolist() == list(NAMES)


def test_x_is_checked_once(monkeypatch):
    data = make_longtail(200, 100, 20, random_state=0)
    looks, isfinite = [], np.isfinite

    def counted(values, *more, **options):
        if np.shape(values) in ((data.X.nnz,), data.X.shape):
            looks.append(len(values))
        return isfinite(values, *more, **options)

    monkeypatch.setattr(np, "isfinite", counted)
    X = sp.csr_array((data.X.data, data.X.indices, data.X.indptr), shape=data.X.shape)
    DiSMEC().fit(X, data.Y)
    assert len(looks) <= 1
    looks.clear()
    DiSMEC().fit(data)
    assert not looks
    with pytest.raises(InputError, match="NaN"):
        fit_linear([[1.0], [np.nan]], [[1], [0]])


class TestDecisionFunction:
    def test_is_refused_beyond_the_limit(self):
        X, Y = points()
        model = DiSMEC().fit(X, Y)
        with pytest.raises(InputError, match=r"60 rows and 6 labels, .*predict_topk"):
            model.decision_function(X, memory_limit=1e-6)
        assert model.decision_function(X, memory_limit=1e-5).shape == (60, 6)

    def test_is_made_in_blocks(self, monkeypatch):
        X, Y = points()
        model = DiSMEC().fit(X, Y)
        whole = model.decision_function(X)
        monkeypatch.setattr("longtail.base.BLOCK_CELLS", 42)
        assert np.array_equal(model.decision_function(X), whole)


@pytest.mark.parametrize("classifier", WEIGHTED, ids=lambda model: model.method)
class TestWeights:
    def exact(self, classifier):
        settings = {"tol": 1e-8, "max_iter": 1000, "prune": 0.0}
        known = classifier.get_params()
        return clone(classifier).set_params(**{k: v for k, v in settings.items() if k in known})

    @pytest.mark.parametrize("balance", [None, "balanced", {"sea": 5.0, "sun": 0.2}])
    def test_whole_weights_repeat_rows(self, classifier, balance):
        if classifier.method == "proxml-cv":
            pytest.skip("the folds of repeated rows are others")
        X, Y = points()
        counts = np.random.default_rng(1).integers(0, 4, 60)
        rows = np.repeat(np.arange(60), counts)
        model = self.exact(classifier).set_params(class_weight=balance)
        weighted = clone(model).fit(X, Y, label_names=NAMES, sample_weight=counts)
        repeated = clone(model).fit(X[rows], Y[rows], label_names=NAMES)
        apart = abs(weighted.weights_ - repeated.weights_).max()
        assert apart < 1e-3 * abs(repeated.weights_).max()
        plain = clone(model).set_params(class_weight=None).fit(X, Y)
        assert abs(weighted.weights_ - plain.weights_).max() > 10 * apart
        assert weighted.label_counts_.tolist() == Y.sum(axis=0).tolist()
        assert weighted.n_points_ == 60

    def test_rows_of_no_weight_are_left_out(self, classifier):
        X, Y = points()
        kept = np.flatnonzero(Y[:, 0] == 0)  # no positive of the first label is left
        weights = np.zeros(60)
        weights[kept] = 1
        model = clone(classifier).fit(X, Y, sample_weight=weights)
        without = clone(classifier).fit(X[kept], Y[kept])
        assert np.array_equal(model.weights_.toarray(), without.weights_.toarray())

    def test_nothing_changes_without_weights(self, classifier):
        X, Y = points()
        plain = clone(classifier).fit(X, Y)
        assert np.array_equal(
            clone(classifier).fit(X, Y, sample_weight=None).weights_.data, plain.weights_.data
        )

    def test_balance_lifts_rare_labels(self, classifier):
        rng = np.random.default_rng(0)
        X, Y = rng.random((200, 3)), rng.random((200, 2)) < 0.1  # nothing to be learned
        assert not clone(classifier).fit(X, Y).predict_matrix(X).nnz
        model = clone(classifier).set_params(class_weight="balanced").fit(X, Y)
        assert model.predict_matrix(X).nnz > 20

    @pytest.mark.parametrize("wrong", [[1.0], np.full(60, -1.0), np.full(60, np.nan), np.zeros(60)])
    def test_odd_weights_are_refused_in_one_sentence(self, classifier, wrong):
        with pytest.raises(InputError) as caught:
            classifier.fit(*points(), sample_weight=wrong)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("wrong", ["equal", {"sea": -1.0}, {"sea": "much"}, 2.0])
    def test_odd_class_weights_are_refused(self, classifier, wrong):
        with pytest.raises(ParameterError, match="class_weight"):
            clone(classifier).set_params(class_weight=wrong).fit(*points())


def test_class_weights_are_those_of_scikit_learn():
    from sklearn.utils.class_weight import compute_sample_weight

    _, Y = points()
    made = class_weights("balanced", sp.csr_array(Y), NAMES)
    for column in range(6):
        assert np.allclose(made[:, column], compute_sample_weight("balanced", Y[:, column]))


class TestCrossValidation:
    """scikit-learn's helpers with label sets by name."""

    @pytest.mark.parametrize("model", [DiSMEC(), ProXML(), BinaryRelevance()])
    def test_label_sets(self, model):
        X, Y = points()
        y = [set(row) for row in names_of(Y)]
        assert cross_val_score(model, X, y, cv=3).mean() > 0.5
        predicted = cross_val_predict(model, X, y, cv=3)
        assert predicted.shape == (60,)
        assert np.mean([set(a) == b for a, b in zip(predicted, y, strict=True)]) > 0.5
        again = cross_val_predict(model, X, names_of(Y), cv=KFold(3))
        assert again.tolist() == predicted.tolist()

    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_a_row_without_a_list_is_named(self, missing):
        X, Y = points()
        y = names_of(Y)
        y[7] = missing
        with pytest.raises(InputError, match=r"Row 7 of y has (None|nan)"):
            DiSMEC().fit(X, y)
        with pytest.raises(InputError, match="row 3"):
            DiSMEC().fit(X[:4], [1.0, 2.0, 1.0, np.nan])


@pytest.mark.parametrize(
    "classifier",
    [model for model in instances() if "random_state" in model.get_params()],
    ids=lambda model: model.method,
)
def test_without_a_seed_one_is_drawn_and_kept(classifier, tmp_path):
    X, Y = small_problem(classifier)
    model = clone(classifier).set_params(random_state=None)
    model.estimate(X, Y)
    model.fit(X, Y, checkpoint=tmp_path / "work")
    again = clone(model).fit(X, Y, checkpoint=tmp_path / "work")  # goes on with the same seed
    fixed = clone(model).set_params(random_state=model.random_state_).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    wanted = model.predict_topk(X, 3)
    for other in (again, fixed, loaded):
        assert np.array_equal(other.predict_topk(X, 3).data, wanted.data)
        assert (other.predict_matrix(X) != model.predict_matrix(X)).nnz == 0
    assert clone(model).fit(X, Y).random_state_ != model.random_state_
    assert not hasattr(fixed, "random_state_")
