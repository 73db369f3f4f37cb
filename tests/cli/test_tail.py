"""Tail weights at the command line: predictions, measures, the curve and the choice."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import longtail
from longtail import store
from longtail.data import read_dataset
from longtail.decisions import choose_tail, fit_calibration, validation_scores
from longtail.labels import propensities
from longtail.metrics import evaluate
from tests.cli.test_refusals import assert_refused


@pytest.fixture
def model(text_model, tmp_path):
    """A copy that may be written to."""
    return shutil.copytree(text_model, tmp_path / "model")


def test_predictions_are_those_of_the_library(call, files, text_model):
    texts = read_dataset(files / "test.jsonl").texts
    tagger = longtail.load(text_model)
    words = ["predict", text_model, files / "test.jsonl", "-k", 3]
    for options, arguments in (
        (["--tail", 0.8], {"tail": 0.8}),
        (
            ["--tail", 0.8, "--propensity-constants", "Amazon-670K"],
            {
                "tail": 0.8,
                "propensities": propensities(
                    tagger.label_counts_, tagger.n_points_, propensity_constants="Amazon-670K"
                ),
            },
        ),
        (["--tail", 0], {}),
    ):
        outcome = call(*words, *options)
        assert (outcome.code, outcome.err) == (0, "")
        wanted = tagger.tag(texts, 3, **arguments)
        assert [list(zip(r["labels"], r["scores"], strict=True)) for r in outcome.records] == wanted
    assert call(*words, "--tail", 0.8).out != call(*words).out


def test_evaluation_is_that_of_the_library(call, files, text_model):
    words = ["evaluate", text_model, files / "test.jsonl", "--json"]
    outcome = call(*words, "--tail", 0.8)
    assert (outcome.code, outcome.err) == (0, "")
    train, test = read_dataset(files / "train.jsonl"), read_dataset(files / "test.jsonl")
    tagger = longtail.load(text_model)
    wanted = evaluate(
        test.label_sets(),
        Y_score=tagger.predict_topk(test.texts, 5, tail=0.8),
        Y_pred=tagger.predict(test.texts),
        Y_train=train.label_sets(),
        classes=tagger.classes_.tolist(),
    )
    assert outcome.json["metrics"] == pytest.approx(wanted.to_dict(), abs=1e-12)
    plain = call(*words).json["metrics"]
    assert plain["PSP@5"] != outcome.json["metrics"]["PSP@5"]
    assert plain["f1_micro"] == outcome.json["metrics"]["f1_micro"]


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize("tail", ["-1", "nan", "inf"])
def test_odd_weights(call, files, text_model, command, tail):
    outcome = call(command, text_model, files / "test.jsonl", "--tail", tail)
    assert_refused(outcome, "tail must be zero or a positive, finite number")


def test_probabilities_have_no_tail(call, files, matrix_model):
    outcome = call("predict", matrix_model, files / "features", "--proba", "--tail", 0.5)
    assert_refused(outcome, "--proba")


@pytest.mark.parametrize(
    ("options", "wish"),
    [
        ([], {}),
        (["--max-loss", 0.05, "--at", 3], {"max_loss": 0.05, "at": 3}),
        (["--weight", 0.2, "-k", "1,2"], {"weight": 0.2, "k": (1, 2)}),
    ],
)
def test_the_choice_is_that_of_the_library(call, files, text_model, options, wish):
    outcome = call("tail", text_model, files / "test.jsonl", "--json", *options)
    assert (outcome.code, outcome.err) == (0, "")
    test = read_dataset(files / "test.jsonl")
    held = validation_scores(longtail.load(text_model), test.texts, test.label_sets())
    wanted = choose_tail(held, **wish)
    found = outcome.json
    assert found["tail"] == wanted.tail
    assert found["wanted"] == wanted.wanted
    assert (found["scale"], found["shift"]) == wanted.calibration
    assert found["points"] == len(test)
    for row, row_wanted in zip(found["curve"], wanted.curve.to_dicts(), strict=True):
        assert row == pytest.approx(row_wanted, abs=1e-12)


def test_table_and_plot(call, files, matrix_model, tmp_path):
    plot = tmp_path / "trade-off.png"
    outcome = call("tail", matrix_model, files / "features", "--plot", plot)
    assert outcome.code == 0
    assert outcome.err == f"The plot is in {plot}.\n"
    assert plot.read_bytes().startswith(b"\x89PNG")
    chosen = call("tail", matrix_model, files / "features", "--json").json["tail"]
    assert f"Chosen: --tail {chosen:g}, for the best PSP@1" in outcome.out
    (marked,) = [line for line in outcome.out.splitlines() if line.rstrip().endswith("chosen")]
    assert marked.split()[0] == f"{chosen:g}"


def test_calibration_is_kept_in_the_model(call, files, model):
    before, notes = longtail.load(model), store.read_meta(model).meta
    outcome = call("tail", model, files / "test.jsonl", "--calibrate", "--json", "--n-jobs", 1)
    assert outcome.code == 0
    assert outcome.err == f"The score scale is kept in {model}.\n"
    test = read_dataset(files / "test.jsonl")
    wanted = fit_calibration(validation_scores(before, test.texts, test.label_sets()))
    after = longtail.load(model)
    assert after.score_scale == wanted == (outcome.json["scale"], outcome.json["shift"])
    assert after.classifier_.get_params() == before.classifier_.get_params()
    assert store.read_meta(model).meta == notes
    assert np.array_equal(
        after.predict_topk(test.texts, 5).data, before.predict_topk(test.texts, 5).data
    )


def test_refusals(call, files, text_model, tmp_path):
    words = ["tail", text_model, files / "test.jsonl"]
    assert_refused(call(*words, "--max-loss", 0.1, "--weight", 0.5), "not both")
    assert_refused(call(*words, "--max-loss", -1), "from 0 to 1")
    assert_refused(call(*words, "--propensity-constants", "Nowhere"), "Nowhere")
    assert_refused(call(*words, "--plot", tmp_path / "trade-off.doc"), "png")
    (tmp_path / "empty.txt").write_text("0 2 2\n")
    assert_refused(call("tail", text_model, tmp_path / "empty.txt"))
    assert call(*words, "--at", 0).code == 2
