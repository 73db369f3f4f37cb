"""A saved model that learns more labels: by command, safely, also after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail import store
from longtail.base import ExtremeClassifier
from longtail.data import Dataset, read_dataset, save
from tests.cli import killable
from tests.cli.files import N_LABELS
from tests.forking import fork_server

NEW = ["topic 07", "topic 21", "topic 33"]


@pytest.fixture(scope="module")
def older(call, files, tmp_path_factory):
    """A folder with a model that does not know some labels, and data without them."""
    folder = tmp_path_factory.mktemp("extend")
    whole = read_dataset(files / "train.jsonl")
    sets = [tuple(name for name in row if name not in NEW) for row in whole.label_sets()]
    save(Dataset(None, sets, texts=whole.texts), folder / "older.jsonl")
    words = ["train", folder / "older.jsonl", "--to", folder / "model", "--n-jobs", 1, "-q"]
    words += ["-m", "dismec"]
    assert call(*words).code == 0
    return folder


@pytest.fixture
def model(older, tmp_path):
    shutil.copytree(older / "model", tmp_path / "model")
    return tmp_path / "model"


def content(path):
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def columns(path):
    """The weights of every label by name, to the bit."""
    classifier = longtail.load(path)
    classifier = getattr(classifier, "classifier_", classifier)
    weights = sp.csc_array(classifier.weights_)
    ends = weights.indptr.tolist()
    return {
        name: (weights.indices[a:b].tolist(), weights.data[a:b].tobytes())
        for name, a, b in zip(classifier.classes_.tolist(), ends, ends[1:], strict=False)
    }


class TestTexts:
    def test_new_labels_are_those_of_one_training_with_all(self, call, files, model, text_model):
        before = columns(model)
        outcome = call("extend", model, files / "train.jsonl")
        assert (outcome.code, outcome.out) == (0, "")
        assert "Training 3 new labels, leaving out 37 that the model knows" in outcome.err
        after = columns(model)
        assert list(after) == [*before, *NEW]
        assert {name: after[name] for name in before} == before
        whole = columns(text_model)
        assert {name: after[name] for name in NEW} == {name: whole[name] for name in NEW}
        assert [p.name for p in model.parent.iterdir()] == ["model"]

    def test_the_model_remembers(self, call, files, model):
        n_jobs = longtail.load(model).classifier_.n_jobs
        assert call("extend", model, files / "train.jsonl", "-q", "--n-jobs", 2).err == ""
        tagger = longtail.load(model)
        train = read_dataset(files / "train.jsonl")
        counts = dict(zip(tagger.classes_.tolist(), tagger.label_counts_.tolist(), strict=True))
        found = np.asarray(train.Y.sum(axis=0)).ravel().astype(int).tolist()
        assert counts == dict(zip(train.classes.tolist(), found, strict=True))
        assert tagger.n_points_ == len(train)
        assert tagger.classifier_.n_jobs == n_jobs
        meta = store.read_meta(model).meta
        assert meta["data"] == "older.jsonl"
        assert meta["extended"] == {"data": "train.jsonl", "points": len(train), "labels": 3}
        measured = call("evaluate", model, files / "test.jsonl", "--json").json
        assert measured["unknown_labels"] == 0

    def test_json_and_another_folder(self, call, files, model, tmp_path):
        before = content(model)
        outcome = call("extend", model, files / "train.jsonl", "--to", tmp_path / "new", "--json")
        assert outcome.code == 0
        answer = outcome.json
        assert answer.pop("seconds") >= 0
        assert answer == {
            "model": str(tmp_path / "new"),
            "points": len(read_dataset(files / "train.jsonl")),
            "added": NEW,
            "known": N_LABELS - 3,
            "labels": N_LABELS,
        }
        assert content(model) == before
        assert len(columns(tmp_path / "new")) == N_LABELS
        assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "new"]

    def test_some_labels_then_the_others(self, call, files, model):
        words = ["extend", model, files / "train.jsonl", "--json", "-q"]
        first = call(*words, "--labels", "topic 33, topic 07,topic 01").json
        assert (first["added"], first["known"]) == (["topic 07", "topic 33"], 1)
        second = call(*words).json
        assert (second["added"], second["known"]) == (["topic 21"], N_LABELS - 1)
        assert list(columns(model))[-3:] == ["topic 07", "topic 33", "topic 21"]
        assert {"extended", "extended 2"} <= set(store.read_meta(model).meta)

    def test_nothing_to_add_is_no_error(self, call, files, model, tmp_path):
        call("extend", model, files / "train.jsonl", "-q")
        before = content(model)
        outcome = call("extend", model, files / "train.jsonl")
        assert outcome.code == 0
        assert f"Nothing to add: of {N_LABELS} labels the model knows all." in outcome.err
        assert content(model) == before
        assert call("extend", model, files / "train.jsonl", "--to", tmp_path / "same").code == 0
        assert columns(tmp_path / "same") == columns(model)

    def test_names_with_commas(self, call, model, tmp_path):
        rows = [
            {"text": f"word{i} word1", "labels": ["policy, climate"] * (i < 5)} for i in range(20)
        ]
        path = tmp_path / "more.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        answer = call("extend", model, path, "--labels", "policy, climate", "--json", "-q").json
        assert answer["added"] == ["policy, climate"]

    def test_points_without_known_words_are_mentioned(self, call, model, tmp_path):
        rows = [
            {"text": "unheard of" if i < 5 else "word1", "labels": ["odd"] * (i < 5)}
            for i in range(9)
        ]
        path = tmp_path / "more.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert "5 of their points have no feature" in call("extend", model, path).err

    def test_a_label_without_negatives_is_warned_of(self, call, model, tmp_path):
        path = tmp_path / "more.jsonl"
        path.write_text('{"text": "word1", "labels": ["new"]}\n' * 3)
        outcome = call("extend", model, path, "-q")
        assert outcome.code == 0
        assert outcome.err.startswith("Warning: The new label 'new' is in all 3 rows")


class TestFeatures:
    def test_a_classifier_alone_and_columns_by_number(self, call, tmp_path):
        data = longtail.data.make_longtail(80, 90, 12, labels_per_sample=2, random_state=1)
        save(Dataset(data.X, data.Y), tmp_path / "all.txt")
        whole = longtail.BinaryRelevance().fit(data.X.astype(np.float32), data.Y)
        model = longtail.BinaryRelevance().fit(data.X.astype(np.float32), data.Y[:, :9])
        model.save(tmp_path / "model")
        whole.save(tmp_path / "whole")
        answer = call("extend", tmp_path / "model", tmp_path / "all.txt", "--json", "-q").json
        assert answer["added"] == [9, 10, 11]
        assert columns(tmp_path / "model") == columns(tmp_path / "whole")
        answer = call(
            "extend", tmp_path / "model", tmp_path / "all.txt", "--labels", "11", "--json", "-q"
        ).json
        assert (answer["added"], answer["known"]) == ([], 1)

    def test_features_are_matched_by_name(self, call, files, tmp_path):
        train = read_dataset(files / "features")
        known = train.classes.tolist()[:-4]
        model = longtail.Tagger().fit(
            train.X,
            train.Y[:, :-4],
            label_names=known,
            feature_names=train.feature_names.tolist(),
        )
        model.save(tmp_path / "model")
        order = np.random.default_rng(0).permutation(train.n_features)
        shuffled = Dataset(
            train.X[:, order], train.Y, train.feature_names[order], train.label_names
        )
        save(shuffled, tmp_path / "shuffled.txt")
        assert call("extend", tmp_path / "model", tmp_path / "shuffled.txt", "-q").code == 0
        extended = longtail.load(tmp_path / "model")
        assert extended.classes_.tolist() == train.classes.tolist()
        model.classifier_.add_labels(
            model.transform(train.X), train.Y[:, -4:], label_names=train.classes.tolist()[-4:]
        )
        assert np.allclose(
            extended.predict_topk(train.X, 5).data, model.predict_topk(train.X, 5).data, atol=1e-5
        )

    def test_one_class_a_row(self, call, files, tmp_path):
        train = read_dataset(files / "features")
        y = np.array([row[0] for row in train.label_sets()])
        old = y != y[0]
        longtail.DiSMEC().fit(train.X[old], y[old]).save(tmp_path / "model")
        single = Dataset(train.X, [[name] for name in y], train.feature_names)
        save(single, tmp_path / "single.txt")
        answer = call("extend", tmp_path / "model", tmp_path / "single.txt", "--json", "-q").json
        assert answer["added"] == [y[0]]
        assert set(longtail.load(tmp_path / "model").predict(train.X)) >= {y[0]}


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "part"),
        [
            (["nowhere", "DATA"], "nowhere: there is no such folder"),
            (["MODEL", "nowhere"], "nowhere: there is no such file"),
            (["MODEL", "XMC"], "takes texts, but the data has features"),
            (["MODEL", "DATA", "--labels", "moon"], "No point of the data has the label 'moon'"),
            (["MODEL", "DATA", "--to", "FOLDER"], "not overwritten"),
            (["MODEL", "NUMBERS"], "name them alike"),
            (["MODEL", "UNLABELLED"], "No point of the data has a label"),
        ],
    )
    def test_one_line(self, call, files, model, tmp_path, monkeypatch, words, part):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "mine").write_text("mine")
        save(Dataset([[1.0]] * 3, np.array([[1], [0], [1]])), tmp_path / "numbers.txt")
        (tmp_path / "unlabelled.jsonl").write_text('{"text": "word1", "labels": []}\n')
        places = {
            "MODEL": model,
            "DATA": files / "train.jsonl",
            "XMC": files / "features" / "train.txt",
            "FOLDER": "folder",
            "NUMBERS": "numbers.txt",
            "UNLABELLED": "unlabelled.jsonl",
        }
        before = content(model)
        outcome = call("extend", *(places.get(word, word) for word in words), "-q")
        assert (outcome.code, outcome.out) == (1, "")
        assert part in outcome.err
        assert len(outcome.err.splitlines()) == 1
        assert content(model) == before
        assert not (tmp_path / "model.partial").exists()

    def test_methods_that_learn_labels_together(self, call, files, tmp_path):
        class Together(ExtremeClassifier):
            """Has no add_labels."""

            method = "together"

            def _fit(self, X, Y, run):
                self.width_ = Y.shape[1]

        train = read_dataset(files / "features")
        Together().fit(train.X, train.Y).save(tmp_path / "model")
        outcome = call("extend", tmp_path / "model", files / "features", "-q")
        assert outcome.code == 1
        assert "together learns its labels together" in outcome.err

    def test_checkpoints_of_other_work(self, call, files, model):
        partial = model.with_name("model.partial")
        partial.mkdir()
        (partial / "mine").write_text("mine")
        outcome = call("extend", model, files / "train.jsonl", "-q")
        assert outcome.code == 1
        assert "is in the way" in outcome.err
        assert (partial / "mine").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_killed_at_any_moment_the_model_is_the_old_or_the_new_one(call, files, older, tmp_path):
    context = fork_server()

    def run(folder, kill_at):
        shutil.copytree(older / "model", folder / "model")
        words = ["extend", str(folder / "model"), str(files / "train.jsonl"), "--n-jobs", "1"]
        log = str(folder.with_suffix(".log"))
        moment = killable.Moment(kill_at)
        process = context.Process(target=killable.run, args=(words, str(folder), moment, log))
        process.start()
        return words, process

    before = content(older / "model")
    words, process = run(tmp_path / "whole", None)
    process.join()
    assert process.exitcode == 0
    wanted = content(tmp_path / "whole" / "model")
    assert wanted != before
    moments = int((tmp_path / "whole.count").read_text())
    last = moments - 12  # from where on the new one is put in its place
    chosen = [*range(0, last, 9), *range(last, moments, 3)]
    states = set()
    for first in range(0, len(chosen), 2):
        pair = [(at, *run(tmp_path / f"at-{at}", at)) for at in chosen[first : first + 2]]
        for at, words, process in pair:
            process.join()
            assert process.exitcode == -signal.SIGKILL
            model = tmp_path / f"at-{at}" / "model"
            found = content(model)
            assert found in (before, wanted)
            states.add(found == wanted)
            assert call(*words).code == 0
            assert content(model) == wanted
            assert [entry.name for entry in model.parent.iterdir()] == ["model"]
    assert states == {False, True}
