"""Training killed at every moment at which it touches a file, interrupted, and run again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import longtail
from tests.cli.files import write_docs
from tests.cli.killable import Moment, Training, content, killed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    write_docs(folder / "train.jsonl", folder / "test.jsonl")
    return folder / "train.jsonl"


def repeat(training, call):
    """The same command in this process, which costs less; the model that it makes."""
    outcome = call(*training.words)
    assert outcome.code == 0, (training.folder.name, outcome.err)
    assert training.left() == ["model"]  # nothing else is left
    return content(training.model)


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    training = Training(data, tmp_path_factory.mktemp("undisturbed") / "run")
    assert training.run() == 0
    return training


@pytest.mark.exhaustive
def test_killed_at_any_moment_the_same_command_ends_with_the_same_model(
    data, undisturbed, tmp_path, call
):
    wanted = content(undisturbed.model)
    moments = range(undisturbed.moments())
    trainings = [Training(data, tmp_path / f"at-{moment}") for moment in moments]
    assert set(killed(trainings, moments)) == {-signal.SIGKILL}
    left = [each.left() for each in trainings]
    assert ["model.partial"] in left
    assert ["model", "model.partial"] in left  # killed between saving and tidying up
    for training in trainings:
        assert repeat(training, call) == wanted


def test_an_older_model_stands_until_the_new_one_is_whole(data, undisturbed, tmp_path, call):
    wanted = content(undisturbed.model)
    older = Training(data, tmp_path / "older", "--set", "C=0.5")
    before = repeat(older, call)
    assert before != wanted
    last = undisturbed.moments()
    moments = [last // 4, *range(last // 2, last + 3, 2)]
    trainings = [Training(data, tmp_path / f"at-{moment}") for moment in moments]
    for training in trainings:
        shutil.copytree(older.model, training.model)
    assert set(killed(trainings, moments)) <= {0, -signal.SIGKILL}
    found = [content(training.model) for training in trainings]
    assert before in found
    assert wanted in found
    for training in trainings:
        longtail.load(training.model)
        assert content(training.model) in (before, wanted)
        assert repeat(training, call) == wanted


def test_killed_twice_and_resumed_on_other_threads(data, undisturbed, tmp_path):
    training = Training(data, tmp_path / "twice")
    for moment in (undisturbed.moments() // 3, 6):
        assert training.run(Moment(moment)) == -signal.SIGKILL
    training.words[training.words.index("--n-jobs") + 1] = "2"
    assert training.run() == 0
    model, wanted = longtail.load(training.model), longtail.load(undisturbed.model)
    assert (model.classifier_.weights_ != wanted.classifier_.weights_).nnz == 0


def test_checkpoints_of_other_work_are_not_used(data, undisturbed, tmp_path):
    training = Training(data, tmp_path / "other")
    assert training.run(Moment(undisturbed.moments() // 2)) == -signal.SIGKILL
    partial = training.folder / "model.partial"
    before = sorted(partial.rglob("*"))
    training.words += ["--set", "C=2"]
    assert training.run() == 1
    complaint = training.log.read_text().splitlines()[-1]
    assert complaint.startswith(f"Error: {partial} holds an unfinished training (dismec on ")
    assert "delete that folder" in complaint
    assert sorted(partial.rglob("*")) == before
    assert not training.model.exists()


def test_checkpoints_of_other_data_of_the_same_name(data, undisturbed, tmp_path):
    training = Training(data, tmp_path / "other")
    assert training.run(Moment(undisturbed.moments() // 2)) == -signal.SIGKILL
    (tmp_path / "else").mkdir()
    lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "else" / data.name).write_text("".join(lines[:-5]), encoding="utf-8")
    training.words[1] = str(tmp_path / "else" / data.name)
    assert training.run() == 1
    complaint = training.log.read_text().splitlines()[-1]
    assert complaint.startswith("Error: ")
    assert str(training.folder / "model.partial") in complaint
    assert "delete that folder" in complaint


def _long_words(folder):
    """A training that takes far longer than the test."""
    from longtail.data import make_longtail, save

    save(make_longtail(4000, 3000, 2000, random_state=0), folder / "long.txt")
    return [
        sys.executable, "-m", "longtail", "train", str(folder / "long.txt"), "--to",
        str(folder / "model"), "-m", "br", "--set", "tol=1e-9", "--n-jobs", "1", "-q",
    ]  # fmt: skip


def _wait_for_blocks(process, folder, number):
    deadline = time.monotonic() + 60
    while len(list(folder.glob("model.partial/checkpoint/block-*"))) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _start(words):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_signals_from_outside(tmp_path):
    words = _long_words(tmp_path)
    with _start(words) as run:
        _wait_for_blocks(run, tmp_path, 1)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert out == ""
    assert err.splitlines() == [
        f"Interrupted: what is finished is kept in {tmp_path / 'model.partial'}; run the same "
        "command again to go on."
    ]
    kept = len(list(tmp_path.glob("model.partial/checkpoint/block-*")))
    assert kept >= 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["long.txt", "model.partial"]
    assert not list(tmp_path.rglob(".longtail-*"))
    # The same command goes on after what is there.
    with _start(words) as run:
        _wait_for_blocks(run, tmp_path, kept + 1)
        run.send_signal(signal.SIGKILL)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err) == (-signal.SIGKILL, "", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["long.txt", "model.partial"]


def test_interrupted_before_anything_is_finished(call, data, tmp_path, monkeypatch):
    from longtail import DiSMEC

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(DiSMEC, "fit", interrupt)
    outcome = call("train", data, "--to", tmp_path / "model", "-m", "dismec", "-q")
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == "Interrupted before anything was finished; nothing is left.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_failing_training_leaves_nothing(call, tmp_path):
    lines = [{"text": "", "labels": ["a"]}, {"text": "", "labels": ["b"]}]
    (tmp_path / "empty.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = call("train", tmp_path / "empty.jsonl", "--to", tmp_path / "model", "-q")
    assert outcome.code == 1
    assert "No word is left" in outcome.err
    assert [p.name for p in tmp_path.iterdir()] == ["empty.jsonl"]


@pytest.mark.parametrize("content", ["file", "folder"])
def test_something_else_in_the_place_of_the_checkpoints(call, data, tmp_path, content):
    partial = tmp_path / "model.partial"
    if content == "file":
        partial.write_text("mine")
    else:
        (partial / "checkpoint").mkdir(parents=True)
        (partial / "checkpoint" / "mine").write_text("mine")
    outcome = call("train", data, "--to", tmp_path / "model", "-q")
    assert outcome.code == 1
    assert outcome.err.startswith(f"Error: {partial} is in the way")
    assert [p.name for p in tmp_path.iterdir()] == ["model.partial"]
    mine = partial if content == "file" else Path(partial / "checkpoint" / "mine")
    assert mine.read_text() == "mine"


def test_a_setting_of_several_values_does_not_hinder_going_on(data, tmp_path):
    options = ("--set", "strengths=1.0,0.25", "--set", "folds=2")
    training = Training(data, tmp_path / "cv", *options, method="proxml-cv")
    assert training.run(Moment(15)) == -signal.SIGKILL
    assert training.left() == ["model.partial"]
    assert training.run() == 0, training.log.read_text()
