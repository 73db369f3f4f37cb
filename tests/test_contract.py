"""The contract of `longtail.base`, run by every classifier there is."""

from __future__ import annotations

import inspect
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import Parallel
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import longtail
from longtail import ranked
from longtail.base import Explanation, ExtremeClassifier
from longtail.data import make_longtail
from longtail.errors import InputError, LongtailError, ModelError, ParameterError
from longtail.features import RowScaler
from longtail.labels import inverse_propensities
from longtail.metrics import evaluate
from longtail.runtime.workers import Workers
from longtail.store.description import NAME, sealed
from tests import trainings
from tests.cli.conftest import call
from tests.cli.files import write_docs
from tests.conftest import ROOT
from tests.instances import instances

NAMES = ["sea", "sun", "snow", "sky", "sand", "salt"]

GRIDS = {
    "C": [0.1, 1.0],
    "strength": [0.5, 1.0],
    "n_neighbors": [1, 3],
    "learning_rate": [0.25, 0.5],
    "Cs": [(0.1, 1.0), (1.0,)],
    "strengths": [(1.0, 0.25), (0.5,)],
}
"""What a grid search of a method goes over: the first that it has."""


@pytest.fixture
def small(classifier):
    """60 points that 6 named labels describe well; counts for methods that want them."""
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 6)) < 0.3).astype(int)
    Y[:6] = np.eye(6, dtype=int)
    X = np.hstack([Y + 0.1 * rng.random((60, 6)), rng.random((60, 4))])
    return (X.round() if classifier.features == "counts" else X), Y


@pytest.fixture(params=instances(), ids=lambda estimator: estimator.method)
def classifier(request):
    return clone(request.param)


def names_of(Y):
    return [tuple(NAMES[j] for j in np.flatnonzero(row)) for row in Y]


BLOCKS = {
    "methods.codes._regression.BLOCK_ROWS": 64,
    "methods.joint._conditional_classifier.MOST_ROWS": 64,
    "methods.joint._support.BLOCK_BYTES": 2**14,
    "methods.mixtures.em.BLOCK_BYTES": 2**14,
    "search.neighbours.BLOCK_ROWS": 64,
    "methods.linear.multiclass.VOTES": 2**14,
    "methods.trees.log_tree.SPAN": 64,
    "methods.pairs.similarity.BLOCK": 64,
    "methods.pairs.transformed_set.BLOCK_PAIRS": 2**8,
    "methods.prototypes.label_groups.ROWS": 64,
    "methods.prototypes.training.ROWS": 64,
    "methods._voting.BLOCK_ROWS": 64,
}
"""What is done in one piece, so small that 300 points are several, for threads to share."""

OTHER_SCORES = {
    "cbm", "cbm-cv", "cdn", "cs", "ecc", "logtree", "ovo", "pair-crf", "pcc", "powerset",
}  # fmt: skip
"""Methods whose lists are no sums of parts, so that `explain` is of a sum behind them."""

ONE_PROBLEM = {"msvm"}
"""Methods whose training is a single problem of liblinear's, which knows no threads."""


@pytest.fixture
def shared(monkeypatch):
    """How many pieces of work each pool of threads or processes got."""
    for name, size in BLOCKS.items():
        monkeypatch.setattr(f"longtail.{name}", size)
    pieces, submit = Counter(), Workers.submit  # keeps the pools, so that none is two

    def counted(pool, *words, **more):
        pieces[pool] += 1
        return submit(pool, *words, **more)

    class Counted(Parallel):
        def __call__(self, tasks):
            def each():
                for task in tasks:
                    pieces[self] += 1
                    yield task

            return super().__call__(each())

    monkeypatch.setattr(Workers, "submit", counted)
    monkeypatch.setattr("longtail.solvers.liblinear.Parallel", Counted)
    return pieces


def most_shared(pieces):
    """The most that one pool got since the last call."""
    most = max(pieces.values(), default=0)
    pieces.clear()
    return most


def files_of(model, folder):
    """Every file of the saved model; how many threads it used is set aside."""
    model.set_params(n_jobs=None).save(folder)
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def forge(folder, name, value):
    """Give a saved model another parameter, as a careful forger would: with its checksum right."""
    content = json.loads((folder / NAME).read_text())
    del content["checksum"]
    content["state"]["state"]["parameters"][name] = value
    (folder / NAME).write_bytes(sealed(content))


def refuses_flipped_bytes(folder):
    """Whether a model is refused with any of some bytes of any of its files altered."""
    longtail.load(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(files) >= 2
    for path in files:
        good = path.read_bytes()
        for position in {*range(8), *np.linspace(0, len(good) - 1, 24).astype(int).tolist()}:
            for bit in (0x01, 0x20):
                flipped = bytes([good[position] ^ bit])
                path.write_bytes(good[:position] + flipped + good[position + 1 :])
                with pytest.raises(ModelError):
                    longtail.load(folder)
        path.write_bytes(good)
    longtail.load(folder)


class Nonsense:
    """A value that no parameter can have, though scikit-learn can copy it."""

    def __deepcopy__(self, memo):
        return self


class TestContract:
    def test_forms_of_labels_agree_and_come_back_as_they_went_in(self, classifier, small):
        X, Y = small
        dense = clone(classifier).fit(X, Y).predict(X)
        sparse = clone(classifier).fit(X, sp.csr_array(Y)).predict(X)
        named = clone(classifier).fit(X, names_of(Y))
        assert isinstance(dense, np.ndarray)
        assert sp.issparse(sparse)
        assert sparse.format == "csr"
        assert np.array_equal(dense, sparse.toarray())
        order = [NAMES.index(name) for name in named.classes_]
        assert [set(row) for row in named.predict(X)] == [set(row) for row in names_of(dense)]
        assert sorted(order) == list(range(6))

    def test_learns_an_easy_problem(self, classifier, small):
        X, Y = small
        top = classifier.fit(X, Y).predict_topk(X, 1)
        best, _ = ranked(top, 1)
        has = Y.any(axis=1)
        assert Y[np.arange(60), best[:, 0]][has].mean() > 0.9

    def test_column_names_may_be_given(self, classifier, small):
        X, Y = small
        classifier.fit(X, sp.csc_matrix(Y), label_names=NAMES)
        assert classifier.classes_.tolist() == NAMES

    def test_a_table_keeps_its_columns_names_and_is_matched_by_them(self, classifier, small):
        X, Y = small
        table = pd.DataFrame(Y, columns=NAMES)
        classifier.fit(X, table)
        assert classifier.classes_.tolist() == NAMES
        assert isinstance(classifier.predict(X), np.ndarray)
        turned = table[NAMES[::-1]]
        assert classifier.score(X, turned) == classifier.score(X, Y)
        top = classifier.predict_topk(X, 3)
        found = evaluate(turned, Y_score=top, classes=classifier.classes_.tolist())
        assert dict(found) == dict(evaluate(Y, Y_score=top))

    def test_names_of_any_hashable_kind(self, classifier, small):
        X, Y = small
        kinds = [("a", 1), 7, "x", 2.5, None, frozenset({1})]
        classifier.fit(X, [[kinds[j] for j in np.flatnonzero(row)] for row in Y])
        assert set(classifier.classes_.tolist()) == set(kinds)
        assert all(set(row) <= set(kinds) for row in classifier.predict(X))

    def test_one_class_a_row(self, classifier, small):
        X, Y = small
        y = np.array(NAMES)[Y.argmax(axis=1)]
        predicted = classifier.fit(X, y).predict(X)
        assert predicted.shape == (60,)
        assert set(predicted) <= set(NAMES)
        assert 0 <= classifier.score(X, y) <= 1

    def test_topk_is_csr_with_at_most_k_scores_a_row(self, classifier, small):
        X, Y = small
        classifier.fit(X, Y)
        for k in (1, 3, 100):
            top = classifier.predict_topk(X, k)
            assert isinstance(top, sp.csr_array)
            assert top.shape == (60, 6)
            assert (np.diff(top.indptr) <= min(k, 6)).all()
            assert np.isfinite(top.data).all()
        three, _ = ranked(classifier.predict_topk(X, 3), 3)
        six, _ = ranked(classifier.predict_topk(X, 6), 6)
        assert np.array_equal(three, six[:, :3])

    def test_a_point_alone_is_answered_as_among_others(self, classifier, small):
        X, Y = small
        X = X + (np.random.default_rng(1).random(X.shape) < 0.2)  # not so easy to tell
        classifier.fit(X, Y)
        sets, top = classifier.predict(X), classifier.predict_topk(X, 3).toarray()
        assert np.array_equal(classifier.predict(X[::-1])[::-1], sets)
        backwards = classifier.predict_topk(X[::-1], 3).toarray()[::-1]
        assert np.allclose(backwards, top, rtol=1e-9, atol=1e-12)  # BLAS rounds by the shape
        for i in range(0, 60, 7):
            assert np.array_equal(classifier.predict(X[i : i + 1]), sets[i : i + 1])
            alone = classifier.predict_topk(X[i : i + 1], 3).toarray()
            assert np.allclose(alone, top[i : i + 1], rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("k", [0, -1, 1.5, None, True])
    def test_odd_k_is_refused(self, classifier, small, k):
        classifier.fit(*small)
        with pytest.raises(ParameterError):
            classifier.predict_topk(small[0], k)

    def test_without_a_tail_weight_nothing_changes(self, classifier, small):
        X, Y = small
        classifier.fit(X, Y)
        plain = classifier.predict_topk(X, 3)
        classifier.calibration_ = np.array([5.0, 1.0])
        for top in (classifier.predict_topk(X, 3), classifier.predict_topk(X, 3, tail=0)):
            assert np.array_equal(plain.indices, top.indices)
            assert np.array_equal(plain.data, top.data)

    @pytest.mark.parametrize("calibration", [None, (3.0, -0.5)])
    def test_tail_weights_rank_by_chance_and_rarity(self, classifier, small, calibration):
        X, Y = small
        Y = np.column_stack([Y, np.zeros(60, int)])
        classifier.fit(X, Y)
        if calibration is not None:
            classifier.calibration_ = np.array(calibration)
            assert classifier.score_scale == calibration
        scale, shift = classifier.score_scale
        scores = classifier.predict_topk(X, 7)
        rarity = np.append(np.log(inverse_propensities(Y[:, :6])), 0.0)
        for tail in (0.2, 1.5):
            wanted = sp.csr_array(scores)
            wanted.data = log_expit(scale * scores.data + shift) + tail * rarity[scores.indices]
            top = classifier.predict_topk(X, 3, tail=tail)
            assert isinstance(top, sp.csr_array)
            assert np.allclose(ranked(top, 3)[1], ranked(wanted, 3)[1], equal_nan=True)
            assert (np.diff(top.indptr) <= 3).all()
            six, _ = ranked(classifier.predict_topk(X, 6, tail=tail), 6)
            assert np.array_equal(ranked(top, 3)[0], six[:, :3])

    def test_a_huge_tail_weight_ranks_by_rarity(self, classifier, small):
        X, Y = small
        Y = Y.copy()
        for label in range(6):
            Y[:, label] = np.arange(60) < 5 * (6 - label)
        classifier.fit(X, Y)
        order, _ = ranked(classifier.predict_topk(X, 6, tail=1e9), 6)
        stored = [row[row >= 0] for row in order]
        assert all((np.diff(row) < 0).all() for row in stored)

    @pytest.mark.parametrize("tail", [-0.1, np.nan, np.inf, None, "1", True])
    def test_odd_tail_weights_are_refused(self, classifier, small, tail):
        classifier.fit(*small)
        with pytest.raises(ParameterError, match="tail must be") as caught:
            classifier.predict_topk(small[0], 3, tail=tail)
        assert "\n" not in str(caught.value)

    def test_calibration_is_kept_and_forgotten(self, classifier, small, tmp_path):
        X, Y = small
        usual = classifier.fit(X, Y).score_scale
        classifier.calibration_ = np.array([4.0, 0.5])
        classifier.save(tmp_path / "model")
        loaded = longtail.load(tmp_path / "model")
        assert loaded.score_scale == (4.0, 0.5)
        there, here = (model.predict_topk(X, 3, tail=0.5) for model in (loaded, classifier))
        assert np.array_equal(there.data, here.data)
        assert np.array_equal(there.indices, here.indices)
        assert clone(loaded).fit(X, Y).score_scale == loaded.fit(X, Y).score_scale == usual
        assert not hasattr(loaded, "calibration_")

    def test_probabilities_are_probabilities(self, classifier, small):
        if not hasattr(classifier, "predict_proba"):
            pytest.skip(f"{classifier.method} has scores, not probabilities")
        X, Y = small
        dense = clone(classifier).fit(X, Y).predict_proba(X)
        assert dense.shape == (60, 6)
        assert dense.min() >= 0
        assert dense.max() <= 1
        sparse = clone(classifier).fit(X, sp.csr_array(Y)).predict_proba(X)
        assert sp.issparse(sparse)
        assert np.allclose(sparse.toarray(), np.where(dense >= 0.01, dense, 0), atol=1e-6)

    def test_likely_sets_start_with_the_most_probable_one(self, classifier, small):
        if not hasattr(classifier, "predict_sets"):
            pytest.skip(f"{classifier.method} lists no label sets")
        X, Y = small
        for form in (Y, names_of(Y)):
            classifier.fit(X, form)
            listed = classifier.predict_sets(X, 3)
            assert [len(sets) for sets in listed] == [3] * 60
            for sets, committed in zip(listed, classifier.predict(X), strict=True):
                chances = [chance for _, chance in sets]
                assert chances == sorted(chances, reverse=True)
                assert 0 < sum(chances) <= 1 + 1e-9
                assert len({names for names, _ in sets}) == 3
                members = committed if form is not Y else np.flatnonzero(committed)
                assert set(sets[0][0]) == set(members)
        assert len(classifier.predict_sets(X[:2], 10**6)[0]) <= 2**6
        with pytest.raises(ParameterError):
            classifier.predict_sets(X, 0)

    def test_explains_itself(self, classifier, small):
        X, Y = small
        classifier.fit(X, Y, label_names=NAMES)
        names = [f"word{j}" for j in range(10)]
        why = classifier.explain(X[0], "sea", n=10, feature_names=names)
        assert isinstance(why, Explanation)
        assert why.label == "sea"
        assert classifier.explain(sp.csr_matrix(X)[0], "sea").score == why.score
        with pytest.raises(ParameterError):
            classifier.explain(X[0], "sea", n=-1)
        assert why.table().columns == ["feature", "value", "weight", "contribution"]
        assert why.score == pytest.approx(why.bias + why.table()["contribution"].sum())
        parts = why.table()["value"] * why.table()["weight"]
        assert parts.to_list() == pytest.approx(why.table()["contribution"].to_list())
        assert set(why.table()["feature"]) <= set(names)
        assert "sea" in str(why)
        for name, table in why.details.items():
            assert why.table(name) is table
            assert name in str(why)
        with pytest.raises(InputError, match="no table 'moon'"):
            why.table("moon")
        assert (set(why.summary), set(why.details)) == added_to_explanations(classifier.method)
        with pytest.raises(InputError, match="knows no label 'moon'"):
            classifier.explain(X[0], "moon")
        best, _ = ranked(classifier.predict_topk(X[:1], 1), 1)
        assert classifier.explain(X[0]).label == NAMES[best[0, 0]]

    def test_explains_the_score_of_the_list(self, classifier, small):
        X, Y = small
        top = classifier.fit(X, Y).predict_topk(X[::9], 6).tocoo()
        why = [classifier.explain(X[9 * i], j).score for i, j in zip(top.row, top.col, strict=True)]
        assert len(why) >= 7
        assert np.allclose(why, top.data, atol=1e-9) == (classifier.method not in OTHER_SCORES)

    def test_methods_are_called_alike(self, classifier):
        def shape(cls, name):
            parameters = inspect.signature(getattr(cls, name)).parameters.values()
            return [(given.name, given.kind, given.default) for given in parameters]

        for name in ("fit", "estimate", "predict", "predict_topk", "explain", "score", "save"):
            assert shape(type(classifier), name) == shape(ExtremeClassifier, name)

    def test_nonsense_for_a_parameter_is_refused_in_one_sentence(self, classifier, small):
        for name in classifier.get_params():
            broken = clone(classifier).set_params(**{name: Nonsense()})
            with pytest.raises(ParameterError) as caught:
                broken.fit(*small)
            message = str(caught.value)
            assert name in message, (name, message)
            assert message.endswith(".")
            assert "\n" not in message

    def test_a_model_with_nonsense_for_a_parameter_is_refused(self, classifier, small, tmp_path):
        folder = tmp_path / "model"
        classifier.fit(*small).save(folder)
        good = (folder / NAME).read_bytes()
        for name, value in classifier.get_params().items():
            if isinstance(value, bool | int | float | str | None):
                forge(folder, name, value)
                assert longtail.load(folder).get_params()[name] == value
            for nonsense in ({"no": "sense"}, -3.5):
                forge(folder, name, nonsense)
                with pytest.raises(ModelError, match=r"it was altered|make no sense") as caught:
                    longtail.load(folder)
                message = str(caught.value)
                assert name in message, (name, message)
                assert message.endswith(".")
                assert "\n" not in message
                (folder / NAME).write_bytes(good)

    def test_a_model_loads_on_a_machine_with_fewer_cores(self, classifier, small, tmp_path):
        classifier.fit(*small)
        for n_jobs in (10**6, -(10**6)):
            classifier.set_params(n_jobs=n_jobs).save(tmp_path / "model")
            assert longtail.load(tmp_path / "model").n_jobs == n_jobs

    def test_a_flipped_byte_in_any_file_of_the_model_is_refused(self, classifier, small, tmp_path):
        X, Y = small
        classifier.fit(X, names_of(Y)).save(tmp_path / "model")
        refuses_flipped_bytes(tmp_path / "model")

    def test_odd_label_matrices(self, classifier, small):
        """No positive, all positive, doubled columns, rows without labels, empty rows."""
        X, Y = small
        X = X.copy()
        X[7] = 0
        odd = np.column_stack([np.zeros(60, int), np.ones(60, int), Y[:, 0], Y[:, 0], Y[:, 1]])
        odd[10] = 0
        classifier.fit(X, odd)
        top = classifier.predict_topk(X, 5)
        assert np.isfinite(top.data).all()
        assert not classifier.predict(X)[:, 0].any()
        one = clone(classifier).fit(X, Y[:, :1])
        assert one.predict(X).shape == (60, 1)

    def test_threads_do_not_change_the_model(self, classifier, shared, tmp_path):
        data = make_longtail(300, 200, 50, random_state=0)
        one = clone(classifier).set_params(n_jobs=1).fit(data.X, data.Y)
        first, sets = one.predict_topk(data.X, 5), one.predict(data.X)
        shared.clear()
        two = clone(classifier).set_params(n_jobs=2).fit(data.X, data.Y)
        # with less than two pieces there is nothing for a second thread to do
        assert (most_shared(shared) < 2) == (classifier.method in ONE_PROBLEM)
        second = two.predict_topk(data.X, 5)
        assert most_shared(shared) >= 2
        assert np.array_equal(first.indices, second.indices)
        assert np.array_equal(first.data, second.data)
        assert (sets != two.predict(data.X)).nnz == 0
        assert most_shared(shared) >= 2
        assert files_of(one, tmp_path / "one") == files_of(two, tmp_path / "two")

    def test_saved_model_predicts_the_same_in_a_new_process(self, classifier, small, tmp_path):
        X, Y = small
        classifier.fit(X, names_of(Y)).save(tmp_path / "model")
        sp.save_npz(tmp_path / "x.npz", sp.csr_matrix(X))
        script = (
            "import sys, longtail, scipy.sparse as sp\n"
            "model = longtail.load(sys.argv[1] + '/model')\n"
            "X = sp.load_npz(sys.argv[1] + '/x.npz')\n"
            "print(repr(model.predict(X)), model.classes_.tolist(), model.get_params(),\n"
            "      [float(v).hex() for v in model.predict_topk(X, 3).data])"
        )
        there = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        scores = [float(v).hex() for v in classifier.predict_topk(X, 3).data]
        names = classifier.classes_.tolist()
        here = f"{classifier.predict(X)!r} {names} {classifier.get_params()} {scores}\n"
        assert there == here

    def test_interrupted_training_goes_on(self, classifier, tmp_path):
        data = trainings.problem()
        folder = tmp_path / "c"

        class StopError(Exception):
            pass

        def stop(what, done, total):
            if trainings.has_pieces(folder):
                raise StopError

        whole = []
        undisturbed = clone(classifier)
        undisturbed.fit(data.X, data.Y, progress=lambda *report: whole.append(report))
        with pytest.raises(StopError):  # with nothing in the folder it would train to the end
            classifier.fit(data.X, data.Y, checkpoint=folder, progress=stop)
        wanted = files_of(undisturbed, tmp_path / "undisturbed")
        self._goes_on(classifier, folder, len(whole))
        assert files_of(classifier, tmp_path / "interrupted") == wanted
        killed = clone(classifier)
        self._be_killed(killed, tmp_path / "k", tmp_path)
        self._goes_on(killed, tmp_path / "k", len(whole))
        assert files_of(killed, tmp_path / "killed") == wanted

    def _be_killed(self, classifier, folder, tmp_path):
        """Train in a process that SIGKILL ends once a piece is finished."""
        if os.name == "nt":
            return
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.trainings", "tests.peaks"])
        training = context.Process(target=trainings.train_and_die, args=(classifier, folder))
        training.start()
        training.join()
        assert training.exitcode == -signal.SIGKILL
        assert trainings.has_pieces(folder)

    def _goes_on(self, classifier, folder, n_reports):
        """The same call again uses what was finished."""
        data, rest = trainings.problem(), []
        classifier.fit(
            data.X, data.Y, checkpoint=folder, progress=lambda *report: rest.append(report)
        )
        assert len(rest) < n_reports  # the finished piece was not done again

    def test_works_in_pipelines_and_grid_searches(self, classifier, small):
        X, Y = small
        pipeline = make_pipeline(RowScaler(), classifier)
        name = type(classifier).__name__.lower()
        varied = next(word for word in GRIDS if word in classifier.get_params())
        search = GridSearchCV(
            pipeline,
            {f"{name}__{varied}": GRIDS[varied]},
            scoring=longtail.metrics.scorer("P@1"),
            cv=3,
        )
        search.fit(X, Y)
        assert search.best_score_ > 0.5

    @pytest.mark.parametrize(
        ("X", "Y", "cause"),
        [
            ([[1.0, np.nan]], [[1]], "NaN"),
            ([[1.0, np.inf]], [[1]], "infinity"),
            ([[1.0], [2.0]], [[1]], "inconsistent"),
            ([1.0, 2.0], [[1], [0]], "2D"),
            ([[1.0], [2.0]], np.array([[1, 2], [0, 1]]), "only 0 and 1"),
            ([[1.0], [2.0]], [0.5, 1.5], "continuous"),
            ([[1.0], [2.0]], [[], []], "no label"),
            ([[1.0], [2.0]], [["a"], "b"], "mixes"),
            ([[1.0], [2.0]], None, "None"),
        ],
    )
    def test_bad_input_gets_one_sentence(self, classifier, X, Y, cause):
        with pytest.raises(LongtailError, match=cause) as caught:
            classifier.fit(X, Y)
        assert "\n" not in str(caught.value)

    def test_score_is_the_share_of_exact_label_sets(self, classifier, small):
        X, Y = small
        for form in (Y, sp.csr_array(Y), names_of(Y)):
            model = clone(classifier).fit(X, form)
            right = np.asarray(
                [set(a) == set(b) for a, b in zip(model.predict(X), form, strict=True)]
                if isinstance(form, list)
                else (np.asarray(clone(classifier).fit(X, Y).predict(X)) == Y).all(axis=1)
            )
            assert model.score(X, form) == pytest.approx(right.mean())
            weights = np.linspace(0, 1, 60)
            expected = np.average(right, weights=weights)
            assert model.score(X, form, sample_weight=weights) == pytest.approx(expected)

    def test_counts_of_the_labels_are_kept(self, classifier, small):
        X, Y = small
        classifier.fit(X, Y)
        assert classifier.label_counts_.tolist() == Y.sum(axis=0).tolist()
        assert classifier.n_points_ == 60

    def test_labels_unseen_in_training_are_misses_and_no_error(self, classifier, small):
        X, Y = small
        for form in (names_of(Y), np.array(NAMES)[Y.argmax(axis=1)]):
            model = clone(classifier).fit(X, form)
            sets, other = isinstance(form, list), list(form)
            right = [
                set(a) == set(b) if sets else a == b
                for a, b in zip(model.predict(X), form, strict=True)
            ]
            other[right.index(True)] = ("moon",) if sets else "moon"
            assert model.score(X, other) == pytest.approx(model.score(X, form) - 1 / 60)

    def test_a_fit_that_fails_leaves_nothing_learned(self, classifier, small, tmp_path):
        from sklearn.exceptions import NotFittedError

        X, Y = small
        classifier.fit(X, Y, label_names=NAMES)

        def stop(what, done, total):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            classifier.fit(X, Y, label_names=NAMES[::-1], progress=stop)
        with pytest.raises(NotFittedError):
            classifier.predict(X)
        with pytest.raises(NotFittedError):
            classifier.save(tmp_path / "model")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_features_in_", 10**7),
            ("classes_", np.array(["a"])),
            ("label_kind_", "bogus"),
            ("label_counts_", np.zeros(2)),
            ("calibration_", np.array([-1.0, 0.0])),
            ("calibration_", np.array([1.0, np.inf])),
            ("calibration_", np.array([1.0, 0.0, 0.0])),
            ("calibration_", np.array([1, 0])),
            ("calibration_", "bogus"),
        ],
    )
    def test_parts_that_do_not_fit_are_refused(self, classifier, small, tmp_path, name, value):
        classifier.fit(*small)
        setattr(classifier, name, value)
        classifier.save(tmp_path / "model")
        with pytest.raises(ModelError):
            longtail.load(tmp_path / "model")

    def test_unfitted_is_said(self, classifier, small):
        from sklearn.exceptions import NotFittedError

        with pytest.raises(NotFittedError):
            classifier.predict(small[0])
        with pytest.raises(NotFittedError):
            classifier.save("nowhere")


def added_to_explanations(method):
    """What the page on classifiers says a method adds: names in `summary` and of tables."""
    page = (ROOT / "docs" / "classifiers.md").read_text()
    for line in page.splitlines():
        cells = line.split("|")
        if len(cells) == 5 and f"`{method}`" in cells[1]:
            return tuple(set(re.findall(r'"([a-z -]+)"', cell)) for cell in cells[2:4])
    return set(), set()


def test_the_pages_name_the_methods_that_explain_other_scores():
    page = (ROOT / "docs" / "classifiers.md").read_text()
    sentence = re.search(r"`score` is the one of `predict_topk`, except (.*?)\.\n", page, re.S)[1]
    assert set(re.findall(r"`([a-z-]+)`", sentence)) == OTHER_SCORES
    sentence = re.search(r"a sum behind it is\s+explained: (.*?)\.", Explanation.__doc__, re.S)[1]
    assert set(re.split(r",\s+|\s+and\s+", sentence)) == OTHER_SCORES


def test_a_flipped_byte_in_what_train_saves_is_refused(tmp_path):
    write_docs(tmp_path / "train.jsonl", tmp_path / "test.jsonl")
    assert call("train", tmp_path / "train.jsonl", "--to", tmp_path / "tagger", "-q").code == 0
    assert isinstance(longtail.load(tmp_path / "tagger"), longtail.Tagger)
    refuses_flipped_bytes(tmp_path / "tagger")
