"""The contract of `longtail.base`, run by every classifier there is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec

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
from longtail import ranked, testing
from longtail.base import Explanation
from longtail.data import make_longtail
from longtail.errors import ModelError, ParameterError
from longtail.features import RowScaler
from longtail.labels import inverse_propensities
from longtail.metrics import evaluate
from longtail.runtime.workers import Workers
from longtail.store.folder import NAME
from longtail.testing import names_of, small_problem
from tests import trainings
from tests.cli.conftest import call
from tests.cli.files import write_docs
from tests.conftest import ROOT
from tests.forking import fork_server
from tests.instances import instances
from tests.resealing import forge_parameter

NAMES = list(testing.NAMES)

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
    return small_problem(classifier)


@pytest.fixture(params=instances(), ids=lambda estimator: estimator.method)
def classifier(request):
    return clone(request.param)


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
    monkeypatch.setattr("longtail.runtime.executor.Parallel", Counted)
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


class TestContract:
    @pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
    def test_part(self, classifier, check):
        """What `check_classifier` asks of every class."""
        check(classifier)

    @pytest.mark.base_decides
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

    @pytest.mark.base_decides
    @pytest.mark.parametrize("tail", [-0.1, np.nan, np.inf, None, "1", True])
    def test_odd_tail_weights_are_refused(self, classifier, small, tail):
        classifier.fit(*small)
        with pytest.raises(ParameterError, match="tail must be") as caught:
            classifier.predict_topk(small[0], 3, tail=tail)
        assert "\n" not in str(caught.value)

    @pytest.mark.base_decides
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

    def test_what_it_adds_to_explanations_is_on_the_page(self, classifier, small):
        X, Y = small
        why = classifier.fit(X, Y, label_names=NAMES).explain(X[0], "sea")
        assert (set(why.summary), set(why.details)) == added_to_explanations(classifier.method)

    def test_explains_the_score_of_the_list(self, classifier, small):
        X, Y = small
        top = classifier.fit(X, Y).predict_topk(X[::9], 6).tocoo()
        why = [classifier.explain(X[9 * i], j).score for i, j in zip(top.row, top.col, strict=True)]
        assert len(why) >= 7
        assert np.allclose(why, top.data, atol=1e-9) == (classifier.method not in OTHER_SCORES)

    def test_a_model_with_nonsense_for_a_parameter_is_refused(self, classifier, small, tmp_path):
        folder = tmp_path / "model"
        classifier.fit(*small).save(folder)
        good = (folder / NAME).read_bytes()
        for name, value in classifier.get_params().items():
            if isinstance(value, bool | int | float | str | None):
                forge_parameter(folder, name, value)
                assert longtail.load(folder).get_params()[name] == value
            for nonsense in ({"no": "sense"}, -3.5):
                forge_parameter(folder, name, nonsense)
                with pytest.raises(ModelError, match=r"it was altered|make no sense") as caught:
                    longtail.load(folder)
                message = str(caught.value)
                assert name in message, (name, message)
                assert message.endswith(".")
                assert "\n" not in message
                (folder / NAME).write_bytes(good)

    @pytest.mark.base_decides
    def test_a_model_loads_on_a_machine_with_fewer_cores(self, classifier, small, tmp_path):
        classifier.fit(*small)
        for n_jobs in (1024, -1024):
            classifier.set_params(n_jobs=n_jobs).save(tmp_path / "model")
            assert longtail.load(tmp_path / "model").n_jobs == n_jobs

    @pytest.mark.base_decides
    def test_a_flipped_byte_in_any_file_of_the_model_is_refused(self, classifier, small, tmp_path):
        X, Y = small
        classifier.fit(X, names_of(Y)).save(tmp_path / "model")
        refuses_flipped_bytes(tmp_path / "model")

    def test_threads_do_not_change_the_model(self, classifier, shared, tmp_path):
        data = make_longtail(300, 200, 40, random_state=0)
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

    @pytest.mark.base_decides
    def test_killed_training_goes_on(self, classifier, tmp_path):
        """What lies on the disk at a kill is what lies there at an error, if it is whole."""
        data, whole = trainings.problem(), []
        undisturbed = clone(classifier)
        undisturbed.fit(data.X, data.Y, progress=lambda *report: whole.append(report))
        self._be_killed(classifier, tmp_path / "k", tmp_path)
        self._goes_on(classifier, tmp_path / "k", len(whole))
        wanted = files_of(undisturbed, tmp_path / "undisturbed")
        assert files_of(classifier, tmp_path / "killed") == wanted

    def _be_killed(self, classifier, folder, tmp_path):
        """Train in a process that SIGKILL ends once a piece is finished."""
        if os.name == "nt":
            return
        training = fork_server().Process(target=trainings.train_and_die, args=(classifier, folder))
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

    @pytest.mark.base_decides
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

    @pytest.mark.base_decides
    def test_a_fit_that_fails_leaves_the_model_as_it_was(self, classifier, small, tmp_path):
        X, Y = small
        classifier.fit(X, Y, label_names=NAMES)
        learned = dict(vars(classifier))

        def stop(what, done, total):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            classifier.fit(X, Y, label_names=NAMES[::-1], progress=stop)
        assert vars(classifier).keys() == learned.keys()
        assert all(vars(classifier)[name] is value for name, value in learned.items())
        classifier.save(tmp_path / "model")


def added_to_explanations(method):
    """What the page on classifiers says a method adds: names in `summary` and of tables."""
    page = (ROOT / "docs" / "classifiers.md").read_text()
    for line in page.splitlines():
        cells = line.split("|")
        if len(cells) == 5 and f"`{method}`" in cells[1]:
            return tuple(set(re.findall(r'"([a-z -]+)"', cell)) for cell in cells[2:4])
    return set(), set()


IN_A_NEW_PROCESS = """
import sys, longtail, scipy.sparse as sp
for folder in sys.argv[1:]:
    model, X = longtail.load(folder + "/model"), sp.load_npz(folder + "/x.npz")
    print(repr(model.predict(X)), model.classes_.tolist(), model.get_params(),
          [float(v).hex() for v in model.predict_topk(X, 3).data])
"""


def test_saved_models_predict_the_same_in_a_new_process(tmp_path):
    """All methods in one process, which has imported none of them."""
    wanted = []
    torch = find_spec("torch") is not None
    models = [model for model in instances() if torch or model.method != "dbpc"]
    for model in models:
        X, Y = small_problem(model)
        folder = tmp_path / model.method
        model.fit(X, names_of(Y)).save(folder / "model")
        sp.save_npz(folder / "x.npz", sp.csr_matrix(X))
        scores = [float(v).hex() for v in model.predict_topk(X, 3).data]
        names = model.classes_.tolist()
        wanted.append(f"{model.predict(X)!r} {names} {model.get_params()} {scores}")
    folders = [str(tmp_path / model.method) for model in models]
    words = [sys.executable, "-c", IN_A_NEW_PROCESS, *folders]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for there, here in zip(done.stdout.splitlines(), wanted, strict=True):
        assert there == here


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
