"""`longtail predict`: which labels it answers, where they go, and what becomes of bad rows."""

from __future__ import annotations

import gzip
import json
import os
import threading

import numpy as np
import pytest

import longtail
from longtail.data import read_dataset
from tests.cli.files import N_LABELS

needs_fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")


class TestWhichLabels:
    def test_by_default_the_set_that_python_predicts(self, call, files, text_model):
        records = call("predict", text_model, files / "test.jsonl").records
        texts, tagger = read_dataset(files / "test.jsonl").texts, longtail.load(text_model)
        assert [set(record["labels"]) for record in records] == list(
            map(set, tagger.predict(texts))
        )
        scores = tagger.predict_topk(texts, N_LABELS).toarray()
        column = {name: number for number, name in enumerate(tagger.classes_.tolist())}
        for record, row in zip(records, scores, strict=True):
            assert record["scores"] == [row[column[name]] for name in record["labels"]]
            assert record["scores"] == sorted(record["scores"], reverse=True)

    @pytest.mark.parametrize("method", ["knn", "mrb"])
    def test_sets_that_are_not_the_best_labels(self, call, files, tmp_path, method):
        words = ("train", files / "train.jsonl", "--to", tmp_path / "m", "-m", method, "-q")
        assert call(*words).code == 0
        records = call("predict", tmp_path / "m", files / "test.jsonl").records
        wanted = longtail.load(tmp_path / "m").predict(read_dataset(files / "test.jsonl").texts)
        assert [set(record["labels"]) for record in records] == list(map(set, wanted))
        assert all(len(record["labels"]) == len(record["scores"]) for record in records)

    def test_a_threshold_is_not_cut(self, call, files, text_model):
        everything = call("predict", text_model, files / "test.jsonl", "-k", N_LABELS).records
        lowest = min(min(record["scores"]) for record in everything)
        words = ("predict", text_model, files / "test.jsonl", "--threshold")
        assert call(*words, lowest).records == everything
        middle = float(np.median([record["scores"][8] for record in everything]))
        found = call(*words, middle).records
        assert max(len(record["labels"]) for record in found) > 5
        for record, whole in zip(found, everything, strict=True):
            n = sum(score >= middle for score in whole["scores"])
            assert (record["labels"], record["scores"]) == (
                whole["labels"][:n],
                whole["scores"][:n],
            )
        for record, whole in zip(call(*words, middle, "-k", 3).records, found, strict=True):
            assert record["labels"] == whole["labels"][:3]

    def test_a_deep_threshold_looks_further_where_it_must(
        self, call, files, text_model, monkeypatch
    ):
        from longtail.cli import _answers

        words = ("predict", text_model, files / "test.jsonl", "--threshold", -0.8)
        wanted = call(*words).out
        monkeypatch.setattr(_answers, "_DEPTH", 1)
        monkeypatch.setattr(_answers, "_MOST_SCORES", 7)
        assert call(*words).out == wanted

    def test_probabilities_of_the_set(self, call, files, matrix_model):
        records = call("predict", matrix_model, files / "features", "--proba").records
        X = read_dataset(files / "features", part="test").X
        wanted = longtail.load(matrix_model).predict(X)
        assert [set(record["labels"]) for record in records] == list(map(set, wanted))
        assert all(0 < score <= 1 for record in records for score in record["scores"])


class TestWhereItGoes:
    @needs_fifos
    @pytest.mark.parametrize("name", ["pipe", "pipe.gz"])
    def test_a_fifo_is_written_to_and_stays(self, call, files, text_model, tmp_path, name):
        pipe, read = tmp_path / name, []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        reader.start()
        words = ("predict", text_model, files / "test.jsonl")
        outcome = call(*words, "--to", pipe)
        reader.join()
        assert (outcome.code, outcome.out) == (0, "")
        content = gzip.decompress(read[0]) if name.endswith(".gz") else read[0]
        assert content.decode("utf-8") == call(*words).out
        assert pipe.is_fifo()

    @needs_fifos
    def test_a_device_stays(self, call, files, text_model):
        assert call("predict", text_model, files / "test.jsonl", "--to", "/dev/null").code == 0
        assert not os.path.isfile("/dev/null")

    def test_a_dash_is_standard_output(self, call, files, text_model, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        words = ("predict", text_model, files / "test.jsonl")
        assert call(*words, "--to", "-").out == call(*words).out
        assert list(tmp_path.iterdir()) == []

    @needs_fifos
    def test_plots_and_pages_go_through_as_well(self, call, files, tmp_path):
        pytest.importorskip("matplotlib")
        pipe, read = tmp_path / "labels.svg", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        reader.start()
        words = ("inspect", files / "train.jsonl", "--no-graph", "--no-recommend", "--plot", pipe)
        assert call(*words).code == 0
        reader.join()
        assert b"<svg" in read[0]
        assert pipe.is_fifo()


BAD = {
    "jsonl": (
        [b'{"text": "word1"}', b'{"text": 5}', b"[", b'{"txt": ""}', b"\xff", b'{"text": "word2"}'],
        {2, 3, 4, 5},
    ),
    "csv": (
        [b"text,n", b"word1,1", b"a,b,c", b"\xff,1", b'"a" b,1', b"word2,2"],
        {3, 4, 5},
    ),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("from_stream", [False, True])
class TestBadRows:
    def predict(self, call, text_model, tmp_path, kind, from_stream, *words):
        lines, bad = BAD[kind]
        path = tmp_path / f"points.{kind}"
        path.write_bytes(b"\n".join(lines) + b"\n")
        given = ("-", "--format", kind) if from_stream else (path,)
        stdin = path.read_bytes() if from_stream else None
        return call("predict", text_model, *given, *words, stdin=stdin), bad

    def test_they_are_skipped_and_named(self, call, text_model, tmp_path, kind, from_stream):
        outcome, bad = self.predict(
            call, text_model, tmp_path, kind, from_stream, "--on-error", "skip"
        )
        assert outcome.code == 3
        records = outcome.records
        good = [record for record in records if "error" not in record]
        lines = call("predict", text_model, "-", stdin="word1\nword2\n")
        assert good == lines.records
        errors = [record["error"] for record in records if "error" in record]
        assert len(errors) == len(bad)
        for line, error in zip(sorted(bad), errors, strict=True):
            assert f"line {line}: " in error
        assert [n for n, record in enumerate(records) if "error" in record] == list(
            range(1, 1 + len(bad))
        )  # in their places
        (warning,) = outcome.err.splitlines()
        assert warning.startswith(f"Warning: {len(bad)} rows were skipped: ")

    def test_and_otherwise_the_first_ends_it(self, call, text_model, tmp_path, kind, from_stream):
        outcome, bad = self.predict(call, text_model, tmp_path, kind, from_stream)
        assert (outcome.code, outcome.out) == (1, "")
        assert f"line {min(bad)}: " in outcome.err


def test_bad_rows_of_training_and_test_data(call, tmp_path):
    rows = [{"text": f"word{i % 4}", "labels": [f"a{i % 4}"]} for i in range(40)]
    rows += [{"text": None, "labels": ["a1"]}, {"text": "word1"}, {"text": "word1", "labels": [2]}]
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("train", path, "--to", tmp_path / "m", "-m", "dismec", "--json", "-q")
    refused = call(*words)
    assert refused.code == 1
    assert "line 41: 'text' is null" in refused.err
    trained = call(*words, "--on-error", "skip")
    assert (trained.code, trained.json["points"]) == (3, 40)
    (warning,) = trained.err.splitlines()
    assert warning.startswith("Warning: 3 rows were skipped: ")
    for line in (41, 42, 43):
        assert f"line {line}: " in warning
    measured = call("evaluate", tmp_path / "m", path, "--json", "--on-error", "skip")
    assert (measured.code, measured.json["points"]) == (3, 40)
