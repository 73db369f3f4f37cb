"""Tables as label matrices: names kept, matched with a model by name, odd ones refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import cross_val_score

import longtail
from longtail.data import Dataset
from longtail.decisions import validation_scores
from longtail.errors import InputError
from longtail.labels import as_predicted, encode_labels, encode_like
from longtail.methods.joint import ClassifierChain
from longtail.methods.linear import DiSMEC, ProXML, certify
from longtail.metrics import evaluate, scorer
from longtail.metrics.frequency import by_frequency

NAMES = ["sun", "sea", "fog", "ice"]


def table(**more):
    return pd.DataFrame({"sun": [1, 0, 0], "sea": [1, 1, 0], **more})


@pytest.fixture(scope="module")
def problem():
    """Points, a table of their labels, and a model of it."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 8))
    Y = (X[:, :4] + 0.2 * rng.random((60, 4)) > 0.7).astype(int)
    Y[:, 1] = Y[:, 0] * (X[:, 5] > 0.3)
    T = pd.DataFrame(Y, columns=NAMES)
    return X, T, DiSMEC(C=100).fit(X, T)


class TestEncoding:
    def test_columns_keep_their_names(self):
        frames = (table(), table().astype(object), table().astype(bool), pl.DataFrame(table()))
        for frame in (*frames, table().astype("boolean"), pl.DataFrame(table().astype(bool))):
            encoded = encode_labels(frame)
            assert (encoded.classes.tolist(), encoded.kind) == (["sun", "sea"], "dense")
            assert encoded.named
            assert encoded.matrix.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]
        assert not encode_labels(pd.DataFrame([[1, 0], [0, 1]])).named
        mixed = encode_labels(pd.DataFrame({2020: [1, 0], "x": [0, 1]}))
        assert mixed.classes.tolist() == [2020, "x"]
        turned = encode_labels(pd.DataFrame([[1, 0], [0, 1]], columns=[1, 0]))
        assert (turned.classes.tolist(), turned.named) == ([1, 0], True)

    def test_sparse_ones_stay_sparse(self):
        matrix = sp.csr_array([[1, 0, 0], [0, 0, 1]])
        frame = pd.DataFrame.sparse.from_spmatrix(matrix)
        encoded = encode_labels(frame)
        assert (encoded.kind, encoded.named) == ("sparse", False)
        frame.columns = ["a", "b", "c"]
        frame["b"] = frame["b"].astype(pd.SparseDtype(bool, False))
        encoded = encode_labels(frame)
        assert (encoded.kind, encoded.classes.tolist()) == ("sparse", ["a", "b", "c"])
        assert (encoded.matrix != matrix).nnz == 0

    def test_sparse_ones_that_scipy_cannot_hold_are_dense(self):
        filled = table().astype(pd.SparseDtype(int, 1))
        assert encode_labels(filled).matrix.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]
        classes = pd.DataFrame({"kind": [0, 3, 1]}).astype(pd.SparseDtype(int, 0))
        with pytest.warns(DataConversionWarning):
            assert encode_labels(classes).kind == "multiclass"

    def test_names_given_order_the_columns_or_rename_them_all(self):
        frame = table()
        ordered = encode_labels(frame, label_names=np.array(["sea", "fog", "sun"]))
        assert ordered.classes.tolist() == ["sea", "fog", "sun"]
        assert ordered.matrix.toarray().tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 0]]
        renamed = encode_labels(frame, label_names=["a", "b"])
        assert renamed.matrix.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]
        twice = frame.set_axis(["a", "a"], axis=1)
        assert encode_labels(twice, label_names=["x", "y"]).classes.tolist() == ["x", "y"]
        numbers = encode_labels(pd.DataFrame([[1, 0], [1, 1]]), label_names=[1, 0])
        assert numbers.matrix.toarray().tolist() == [[1, 0], [1, 1]]
        with pytest.raises(InputError, match="3 label names for 2"):
            encode_labels(frame, label_names=["a", "b", "c"])
        with pytest.raises(InputError, match="not distinct"):
            encode_labels(frame, label_names=["sun", "sea", "sea"])
        with pytest.raises(InputError, match="column 'sea' that is not among the label names"):
            encode_labels(frame, label_names=["sun", "fog"])

    def test_dates_become_strings_that_can_be_saved(self, problem, tmp_path):
        X, T, _ = problem
        dated = T.set_axis(pd.date_range("2020", periods=4), axis=1)
        model = DiSMEC().fit(X, dated)
        assert model.classes_[0] == "2020-01-01 00:00:00"
        model.save(tmp_path / "m")
        back = longtail.load(tmp_path / "m")
        assert back.score(X, dated[dated.columns[::-1]]) == model.score(X, dated)

    def test_what_is_no_label_matrix(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            one = encode_labels(pd.DataFrame({"label": [3, 5, 3]}), label_names=[5, 3])
        assert [warning.category for warning in caught] == [DataConversionWarning]
        assert (one.kind, one.classes.tolist()) == ("multiclass", [5, 3])
        with pytest.raises(InputError, match="not distinct"):
            encode_labels(pd.DataFrame([[1, 0]], columns=["a", "a"]))
        with pytest.raises(InputError, match="NaN for a name"):
            encode_labels(pd.DataFrame([[1, 0]], columns=["a", np.nan]))
        with pytest.raises(InputError, match="may hold only 0 and 1"):
            encode_labels(pd.DataFrame({"a": [2, 0], "b": [0, 1]}))
        with pytest.raises(InputError, match="no labels at all"):
            DiSMEC().fit(np.ones((3, 1)), pd.DataFrame(index=range(3)))
        assert encode_labels(pd.DataFrame({"a": [], "b": []}, dtype=object)).matrix.shape == (0, 2)

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"a": [1.0, None], "b": [0.0, 1.0]}),
            pd.DataFrame({"a": [1, None], "b": [0, 1]}, dtype="Int64"),
            pd.DataFrame({"a": [True, None], "b": [False, True]}),
            pd.DataFrame({"a": [True, None], "b": [False, True]}, dtype="boolean"),
            pl.DataFrame({"a": [True, None], "b": [False, True]}),
            pl.DataFrame({"a": [1, None], "b": [0, 1]}),
        ],
    )
    def test_missing_values_are_refused(self, frame):
        with pytest.raises(InputError, match=r"missing values|contains NaN"):
            encode_labels(frame)


class TestMatching:
    def test_by_name_where_a_name_is_shared_and_by_place_otherwise(self):
        frame = table()
        for classes in (["sea", "sun"], np.array(["sea", "fog"]), pd.Index(["fog", "sun"])):
            found = encode_like(frame, classes)
            assert (found.kind, found.classes.tolist()) == ("names", ["sun", "sea"])
        for classes in (["a", "b"], [0, 1], None):
            assert encode_like(frame, classes).kind == "dense"
        assert encode_like([["sea"]], ["fog", "sea"]).classes.tolist() == ["sea"]
        assert encode_like(pd.DataFrame([[1, 0]]), [1, 0]).kind == "names"
        assert encode_like(pd.DataFrame([[1, 0]]), [0, 1]).kind == "dense"

    def test_as_a_model_predicts(self):
        frame = table()
        assert as_predicted(frame, ["sea", "sun"], "names") == [("sea", "sun"), ("sea",), ()]
        found = as_predicted(frame, np.array(["sea", "sun"]), "dense")
        assert found.toarray().tolist() == [[1, 1], [1, 0], [0, 0]]
        single = pd.DataFrame({"sun": [1, 0], "ice": [0, 1]})
        assert as_predicted(single, ["ice", "sun"], "multiclass").tolist() == ["sun", "ice"]
        with pytest.raises(InputError, match="column 'sea', which the model does not know"):
            as_predicted(frame, ["sun", "fog"], "dense")
        with pytest.raises(InputError, match="no column for the label 'fog'"):
            as_predicted(frame, ["sun", "fog", "sea"], "dense")
        with pytest.raises(InputError, match="2 label columns, the model 3"):
            as_predicted(frame, ["a", "b", "c"], "dense")

    def test_the_order_of_columns_is_no_matter(self, problem):
        X, T, model = problem
        turned, top, classes = T[NAMES[::-1]], model.predict_topk(X, 3), model.classes_
        by_place = model.score(X, turned.set_axis(list("abcd"), axis=1))
        assert model.score(X, turned) == model.score(X, T) != by_place
        for metric in ("P@1", "f1_micro", "neg_hamming_loss"):
            assert scorer(metric)(model, X, turned) == scorer(metric)(model, X, T)
        assert scorer("f1_micro")(model, X, turned) > 0.8
        plain = dict(evaluate(T.to_numpy(), Y_score=top, Y_train=T.to_numpy()))
        for truth, train in ((turned, T), (T, turned), (turned, turned)):
            assert dict(evaluate(truth, Y_score=top, Y_train=train, classes=classes)) == plain
        assert dict(evaluate(T, Y_score=top, Y_train=turned)) == plain
        assert evaluate(T, Y_pred=turned)["f1_micro"] == 1
        one, other = (by_frequency(t, top, Y_train=T, classes=classes) for t in (T, turned))
        assert str(one) == str(other)
        held = validation_scores(model, X, turned)
        assert (held.truth != sp.csr_array(T.to_numpy())).nnz == 0
        l1 = ProXML().fit(X, T)
        assert str(certify(X, turned, l1)) == str(certify(X, T, l1))

    def test_whatever_form_the_model_was_trained_on(self, problem):
        X, T, _ = problem
        sets = [tuple(T.columns[row == 1]) for row in T.to_numpy()]
        chain = ClassifierChain().fit(X, sets)
        assert chain.score(X, T) == chain.score(X, sets)
        assert np.array_equal(chain.joint_log_proba(X, T), chain.joint_log_proba(X, sets))
        y = np.where(X[:, 0] > 0.5, 3, 5)
        model = DiSMEC().fit(X, y)
        with pytest.warns(DataConversionWarning):
            assert model.score(X, pd.DataFrame({"kind": y})) == model.score(X, y)

    def test_labels_that_the_model_does_not_know_count_as_missed_or_are_refused(self, problem):
        X, T, model = problem
        other = T.rename(columns={"sun": "snow"})[["ice", "sea", "snow", "fog"]]
        assert validation_scores(model, X, other).truth.shape == (60, 5)
        for task in (lambda: model.score(X, other), lambda: certify(X, other, ProXML().fit(X, T))):
            with pytest.raises(InputError, match="'snow', which the model does not know"):
                task()
        with pytest.raises(InputError, match="no column for the label 'fog'"):
            model.score(X, T[["sun", "sea"]])
        truth = [tuple(T.columns[row == 1]) for row in T.to_numpy()]
        truth[0] += ("new",)
        top = model.predict_topk(X, 3)
        by_table = evaluate(truth, Y_score=top, Y_train=T, classes=NAMES)
        assert dict(by_table) == dict(evaluate(truth, Y_score=top, Y_train=T.values, classes=NAMES))

    def test_in_a_cross_validation_and_a_data_set(self, problem):
        X, T, _ = problem
        assert cross_val_score(DiSMEC(), X, T, scoring=scorer("P@1"), cv=3).min() > 0.5
        assert Dataset(X, T).label_names.tolist() == NAMES
        assert Dataset(X, pd.DataFrame(T.to_numpy())).label_names is None
