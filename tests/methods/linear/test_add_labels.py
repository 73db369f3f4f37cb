"""Labels added to a trained model and dropped from it: the others stay, bit for bit."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import longtail
from longtail.data import make_longtail
from longtail.errors import DataWarning, InputError, ParameterError
from longtail.features import RowScaler
from longtail.labels import propensities
from longtail.methods._independent import IndependentLabels
from longtail.methods.linear import DiSMEC
from tests.instances import instances

N, D, OLD, NEW = 120, 90, 40, 7
LINEAR = [model for model in instances() if isinstance(model, IndependentLabels)]


@pytest.fixture(scope="module")
def data():
    """Scaled features, and a label matrix of which the last columns are the new labels."""
    made = make_longtail(N, D, OLD + NEW, labels_per_sample=4, random_state=0)
    return RowScaler().fit_transform(made.X), made.Y


@pytest.fixture(params=LINEAR, ids=lambda model: model.method)
def classifier(request):
    return longtail.methods.registry.find_method(request.param.method).estimator(
        **request.param.get_params()
    )


def rows_of(Y):
    return [Y[[i]] for i in range(Y.shape[0])]


def label_sets(Y, first=0):
    return [tuple(f"label {first + j:02d}" for j in row.indices.tolist()) for row in rows_of(Y)]


def bits(matrix):
    """The stored entries of every column, to the bit."""
    columns = sp.csc_array(matrix)
    columns.sort_indices()
    return [
        (columns.indices[a:b].tolist(), columns.data[a:b].tobytes())
        for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    ]


def snapshot(model):
    """Everything learned, in a form that can be compared."""
    return {
        name: bits(value) if sp.issparse(value) else np.asarray(value).tolist()
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, sp.csr_array | np.ndarray | int | str | float)
    }


def same(first, second):
    return first.keys() == second.keys() and all(
        np.array_equal(
            np.asarray(first[name], dtype=object), np.asarray(second[name], dtype=object)
        )
        or repr(first[name]) == repr(second[name])
        for name in first
    )


class TestEveryLinearMethod:
    def test_weights_are_those_of_one_fit_with_all_labels(self, classifier, data):
        X, Y = data
        estimator = type(classifier)
        model = classifier.fit(X, Y[:, :OLD])
        before = bits(model.weights_)
        whole = _fit_alike(model, estimator, X, Y)
        assert model.add_labels(X, Y[:, OLD:]) is model
        after = bits(model.weights_)
        assert after[:OLD] == before
        assert after[OLD:] == bits(whole.weights_)[OLD:]
        assert model.weights_.dtype == whole.weights_.dtype
        assert model.weights_.has_sorted_indices
        for name in ("objective_", "gap_", "violation_", "n_iter_", "label_counts_"):
            if hasattr(whole, name):
                assert np.array_equal(getattr(model, name), getattr(whole, name), equal_nan=True)
        assert model.classes_.tolist() == list(range(OLD + NEW))
        assert model.n_points_ == N
        one, other = model.predict_topk(X, 5), whole.predict_topk(X, 5)
        if bits(whole.weights_)[:OLD] == before:
            assert np.array_equal(one.data, other.data)
            assert np.array_equal(one.indices, other.indices)

    def test_all_that_is_learned_label_by_label_is_known(self, classifier, data):
        """Whoever adds such an array to a method names it in `per_label`."""
        X, Y = data
        classifier.fit(X, Y[:, :OLD])
        found = {
            name
            for name, value in vars(classifier).items()
            if name.endswith("_") and isinstance(value, np.ndarray) and OLD in value.shape
        }
        assert found - {"classes_"} <= set(classifier.per_label)

    def test_dropped_labels_leave_the_others(self, classifier, data):
        X, Y = data
        model = classifier.fit(X, Y)
        before = bits(model.weights_)
        counts = model.label_counts_.tolist()
        assert model.drop_labels([3, 0]) is model
        keep = [j for j in range(OLD + NEW) if j not in (0, 3)]
        assert bits(model.weights_) == [before[j] for j in keep]
        assert model.classes_.tolist() == keep
        assert model.label_counts_.tolist() == [counts[j] for j in keep]
        assert len(model.objective_) == len(model.gap_) == len(model.n_iter_) == len(keep)
        assert model.n_points_ == N
        assert model.predict(X).shape == (N, len(keep))

    def test_interrupted_or_failed_it_is_as_it_was(self, classifier, data, tmp_path):
        X, Y = data
        model = classifier.fit(X, Y[:, :OLD])
        before, scores = snapshot(model), model.predict_topk(X, 5).data

        def stop(what, done, total):
            if done > 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            model.add_labels(X, Y[:, OLD:], progress=stop)
        with pytest.raises(InputError):
            model.add_labels(X[:, :-1], Y[:, OLD:])
        with pytest.raises(InputError):
            model.add_labels(X, Y[:, OLD:], label_names=[0] * NEW)
        assert same(snapshot(model), before)
        assert np.array_equal(model.predict_topk(X, 5).data, scores)

    def test_goes_on_from_checkpoints(self, classifier, data, tmp_path):
        X, Y = data
        many = sp.csr_array(sp.hstack([Y] * 2))  # more than one block of the engine
        model = classifier.fit(X, Y[:, :5])
        undisturbed = bits(copy.copy(model).add_labels(X, many).weights_)

        def stop(what, done, total):
            if done > 0:
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            model.add_labels(X, many, checkpoint=tmp_path / "c", progress=stop)
        seen = []
        model.add_labels(
            X, many, checkpoint=tmp_path / "c", progress=lambda _, done, total: seen.append(done)
        )
        assert seen[0] > 0
        assert bits(model.weights_) == undisturbed

    def test_saved_loaded_extended_and_saved_again(self, classifier, data, tmp_path):
        X, Y = data
        sets, more = label_sets(Y[:, :OLD]), label_sets(Y[:, OLD:], OLD)
        classifier.fit(X, sets).save(tmp_path / "model")
        content = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}
        loaded = longtail.load(tmp_path / "model")
        assert not loaded.weights_.data.flags.writeable
        loaded.add_labels(X, more)
        classifier.add_labels(X, more)
        assert bits(loaded.weights_) == bits(classifier.weights_)
        # what is on disk is untouched until somebody saves
        assert {f.name: f.read_bytes() for f in (tmp_path / "model").iterdir()} == content
        loaded.save(tmp_path / "model")
        again = longtail.load(tmp_path / "model")
        assert again.classes_.tolist() == [f"label {j:02d}" for j in range(OLD + NEW)]
        assert again.predict(X) == classifier.predict(X)
        again.drop_labels(["label 00"]).save(tmp_path / "model")
        assert len(longtail.load(tmp_path / "model").classes_) == OLD + NEW - 1

    def test_unfitted_is_said(self, classifier, data):
        with pytest.raises(NotFittedError):
            classifier.add_labels(*data)
        with pytest.raises(NotFittedError):
            classifier.drop_labels(["a"])


def _fit_alike(model, estimator, X, Y):
    """One fit on all labels, with what the model chose for itself, if it does, kept."""
    parameters = model.get_params()
    if hasattr(model, "strength_"):
        from longtail.methods.linear import ProXML

        wanted = inspect.signature(ProXML).parameters
        parameters = {name: value for name, value in parameters.items() if name in wanted}
        return ProXML(strength=model.strength_, **parameters).fit(X, Y)
    return estimator(**parameters).fit(X, Y)


class TestForms:
    """What y_new may be for a model of each form of Y. The method does not matter."""

    def test_names(self, data):
        X, Y = data
        whole = DiSMEC().fit(X, label_sets(Y))
        model = DiSMEC().fit(X, label_sets(Y[:, :OLD]))
        model.add_labels(X, label_sets(Y[:, OLD:], OLD))
        assert model.classes_.tolist() == whole.classes_.tolist()
        assert bits(model.weights_) == bits(whole.weights_)
        assert model.predict(X) == whole.predict(X)

    @pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix, lambda Y: Y.toarray()])
    @pytest.mark.parametrize("fitted_on", [sp.csr_array, lambda Y: Y.toarray()])
    def test_matrices(self, data, form, fitted_on):
        X, Y = data
        whole = DiSMEC().fit(X, fitted_on(Y))
        model = DiSMEC().fit(X, fitted_on(Y[:, :OLD])).add_labels(X, form(Y[:, OLD:]))
        assert model.classes_.tolist() == list(range(OLD + NEW))
        assert bits(model.weights_) == bits(whole.weights_)
        predicted = model.predict(X)
        assert type(predicted) is type(whole.predict(X))
        assert predicted.shape == (N, OLD + NEW)

    def test_a_matrix_with_names_for_a_model_of_names(self, data):
        X, Y = data
        names = [f"label {j:02d}" for j in range(OLD, OLD + NEW)]
        model = DiSMEC().fit(X, label_sets(Y[:, :OLD]))
        model.add_labels(X, Y[:, OLD:], label_names=names)
        assert model.classes_.tolist()[OLD:] == names
        assert bits(model.weights_) == bits(DiSMEC().fit(X, Y).weights_)

    def test_one_column(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD]).add_labels(X, Y[:, [OLD]].toarray())
        assert model.classes_.tolist() == list(range(OLD + 1))

    def test_one_class_a_row(self, data):
        X, _ = data
        classes = np.array(["sea", "snow", "sun", "wind"])
        y = classes[np.arange(N) % 4]
        old = np.isin(y, ["snow", "wind"])
        model = DiSMEC().fit(X[old], y[old])
        before = bits(model.weights_)
        # rows of the classes that are there serve as negatives
        model.add_labels(X, y)
        assert model.classes_.tolist() == ["snow", "wind", "sea", "sun"]
        whole = bits(DiSMEC().fit(X, y).weights_)
        assert bits(model.weights_) == [*before, whole[0], whole[2]]
        assert model.label_counts_.tolist() == [30] * 4
        assert model.n_points_ == N
        assert set(model.predict(X)) == set(classes)

    def test_one_class_a_row_in_a_wanted_order(self, data):
        X, _ = data
        y = np.array(["sea", "snow", "sun"])[np.arange(N) % 3]
        model = DiSMEC().fit(X, np.where(y == "sea", "sea", "rest"))
        model.add_labels(X[y != "none"], y, label_names=["sun", "snow", "never"])
        assert model.classes_.tolist() == ["rest", "sea", "sun", "snow", "never"]
        assert model.label_counts_.tolist()[2:] == [40, 40, 0]

    def test_one_class_a_row_as_a_matrix(self, data):
        X, _ = data
        y = np.array([0, 1])[np.arange(N) % 2]
        column = sp.csr_array((np.arange(N) % 3 == 0).astype(int).reshape(-1, 1))
        model = DiSMEC().fit(X, y).add_labels(X, column, label_names=[7])
        assert model.classes_.tolist() == [0, 1, 7]
        assert model.predict(X).dtype.kind == "i"

    def test_names_of_mixed_types(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :3]).add_labels(X, Y[:, 3:5], label_names=["x", ("a", 1)])
        assert model.classes_.tolist() == [0, 1, 2, "x", ("a", 1)]

    def test_longer_names_are_not_cut(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :2], label_names=["a", "b"])
        model.add_labels(X, Y[:, 2:3], label_names=["a much longer name"])
        assert model.classes_.tolist() == ["a", "b", "a much longer name"]

    def test_a_label_without_points(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD]).add_labels(X, sp.csr_array((N, 1)))
        assert model.label_counts_[-1] == 0
        assert not model.predict(X)[:, [OLD]].nnz

    def test_twice(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD]).add_labels(X, Y[:, OLD : OLD + 2])
        model.add_labels(X, Y[:, OLD + 2 :])
        assert bits(model.weights_) == bits(DiSMEC().fit(X, Y).weights_)

    def test_dropped_and_added_again(self, data):
        X, Y = data
        model = DiSMEC().fit(X, label_sets(Y))
        before = dict(zip(model.classes_.tolist(), bits(model.weights_), strict=True))
        gone = ["label 05", "label 11"]
        model.drop_labels(gone).add_labels(X, Y[:, [5, 11]], label_names=gone)
        assert model.classes_.tolist()[-2:] == gone
        assert dict(zip(model.classes_.tolist(), bits(model.weights_), strict=True)) == before


class TestOtherPoints:
    """X need not be the training points: what that means for counts and propensities."""

    def test_more_points(self, data):
        X, Y = data
        model = DiSMEC().fit(X[:50], Y[:50, :OLD])
        old = model.label_counts_.tolist()
        model.add_labels(X, Y[:, OLD:])
        assert model.n_points_ == N
        assert model.label_counts_.tolist() == old + Y[:, OLD:].sum(axis=0).astype(int).tolist()
        assert bits(model.weights_)[OLD:] == bits(DiSMEC().fit(X, Y).weights_)[OLD:]
        assert (propensities(model.label_counts_, model.n_points_) > 0).all()

    def test_fewer_points(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD]).add_labels(X[:50], Y[:50, OLD:])
        assert model.n_points_ == N
        assert model.label_counts_[OLD:].tolist() == Y[:50, OLD:].sum(axis=0).astype(int).tolist()

    def test_a_label_in_more_points_than_the_model_was_trained_on(self, data):
        X, Y = data
        model = DiSMEC().fit(X[:10], Y[:10, :OLD])
        model.add_labels(X, (np.arange(N) % 2 == 0).astype(int).reshape(-1, 1))
        assert model.label_counts_[-1] > 10
        assert np.isfinite(propensities(model.label_counts_, model.n_points_)).all()


@pytest.fixture(scope="module")
def model(data):
    """A model of names that no test changes."""
    X, Y = data
    return DiSMEC().fit(X, label_sets(Y[:, :OLD]))


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "cause"),
        [
            (lambda X, Y: (X, label_sets(Y)), "has a label 'label 00' already; .*drop_labels"),
            (lambda X, Y: (X, Y), "give label_names"),
            (lambda X, Y: (X, [[] for _ in range(N)]), "no new label"),
            (lambda X, Y: (X, sp.csr_array((N, 0))), "no new label"),
            (lambda X, Y: (X, ["a"] * N), "one class per row, but the model was trained on a list"),
            (lambda X, Y: (X, None), "Expected array-like"),
            (lambda X, Y: (X[:, 1:], [["a"], *[[]] * (N - 1)]), "features"),
            (lambda X, Y: (X[1:], [["a"], *[[]] * (N - 1)]), f"X has {N - 1} rows, y_new has {N}"),
            (lambda X, Y: (X * np.nan, [["a"], *[[]] * (N - 1)]), "NaN"),
        ],
    )
    def test_one_sentence(self, model, data, change, cause):
        before = snapshot(model)
        with pytest.raises(InputError, match=cause) as caught:
            model.add_labels(*change(*data))
        assert "\n" not in str(caught.value)
        assert same(snapshot(model), before)

    def test_collections_for_a_model_of_a_matrix(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD])
        # a list of lists of width one means names, which nobody can mean here
        with pytest.raises(InputError, match="give y_new as a 0/1 matrix"):
            model.add_labels(X, [[i % 2] for i in range(N)])

    def test_numbers_that_are_no_longer_column_numbers(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD]).drop_labels([0])
        with pytest.raises(InputError, match="give label_names"):
            model.add_labels(X, Y[:, OLD:])

    def test_several_classes_a_row(self, data):
        X, Y = data
        model = DiSMEC().fit(X, np.arange(N) % 2)
        with pytest.raises(InputError, match="one class per row; give every row one at most"):
            model.add_labels(X, Y, label_names=[f"{j}" for j in range(OLD + NEW)])
        with pytest.raises(InputError, match="no new label"):
            model.add_labels(X, np.arange(N) % 2)
        with pytest.raises(InputError, match="neither known to the model nor among"):
            model.add_labels(X, np.arange(N) % 4, label_names=[2])
        with pytest.raises(InputError, match="has a label 1 already"):
            model.add_labels(X, np.arange(N) % 2, label_names=[1])
        with pytest.raises(InputError, match="not distinct"):
            model.add_labels(X, np.arange(N) % 3, label_names=[2, 2])
        with pytest.raises(InputError, match="not hashable"):
            model.add_labels(X, np.arange(N) % 3, label_names=[[2]])

    def test_a_label_in_all_rows_is_warned_of(self, model, data):
        X, _ = data
        twin = copy.copy(model)
        with pytest.warns(DataWarning, match=r"'a' is in all 120 rows .* add rows"):
            twin.add_labels(X, [["a"]] * N)
        assert twin.classes_.tolist()[-1] == "a"

    def test_parameters_are_checked_again(self, data):
        X, Y = data
        model = DiSMEC().fit(X, Y[:, :OLD]).set_params(C=-1)
        with pytest.raises(ParameterError):
            model.add_labels(X, Y[:, OLD:])

    @pytest.mark.parametrize(
        ("names", "cause"),
        [
            ("label 01", r"Give a list of label names, such as \['label 01'\]"),
            (["moon"], "knows no label 'moon'"),
            ([["label 01"]], "not hashable"),
            (None, "Give a list"),
            ([f"label {j:02d}" for j in range(OLD)], "keep at least one"),
        ],
    )
    def test_labels_to_drop(self, model, names, cause):
        before = snapshot(model)
        with pytest.raises(InputError, match=cause):
            model.drop_labels(names)
        assert same(snapshot(model), before)

    def test_nothing_to_drop(self, model):
        before = snapshot(model)
        model.drop_labels([])
        assert same(snapshot(model), before)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_order_of_adding_and_dropping_ends_at_the_same_weights(data):
    """However a model came to its labels, each has the weights that a fit gives it."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = rng.random((12, 4))
    Y = (rng.random((12, 6)) < 0.4).astype(int)
    Y[0] = 0
    wanted = bits(DiSMEC().fit(X, Y).weights_)
    first = data.draw(st.integers(1, 5))
    model = DiSMEC().fit(X, Y[:, :first], label_names=[str(j) for j in range(first)])
    for _ in range(data.draw(st.integers(1, 5))):
        have = model.classes_.tolist()
        missing = [str(j) for j in range(6) if str(j) not in have]
        if missing and (len(have) == 1 or data.draw(st.booleans())):
            some = data.draw(st.lists(st.sampled_from(missing), min_size=1, unique=True))
            model.add_labels(X, Y[:, [int(name) for name in some]], label_names=some)
        else:
            some = data.draw(st.lists(st.sampled_from(have), max_size=len(have) - 1, unique=True))
            model.drop_labels(some)
    names = model.classes_.tolist()
    assert bits(model.weights_) == [wanted[int(name)] for name in names]
    assert model.label_counts_.tolist() == [int(Y[:, int(name)].sum()) for name in names]
