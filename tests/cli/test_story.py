"""Train, predict, evaluate: on texts and on features, with names in and out."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail import ranked, store
from longtail.data import read_dataset
from longtail.labels import label_counts
from longtail.metrics import by_frequency, evaluate
from tests.cli.files import N_LABELS


class TestTexts:
    def test_the_model_is_a_tagger_that_knows_its_training_set(self, files, text_model):
        tagger = longtail.load(text_model)
        train = read_dataset(files / "train.jsonl")
        assert tagger.takes_text
        assert tagger.classes_.tolist() == train.classes.tolist()
        assert tagger.n_points_ == len(train)
        assert tagger.label_counts_.tolist() == label_counts(train.Y).tolist()
        # names go in and out in Python, too
        assert set(tagger.predict(train.texts[:1])[0]) <= set(train.classes.tolist())
        meta = store.read_meta(text_model).meta
        assert meta == {"data": "train.jsonl", "method": "dismec", "random_state": 0}

    def test_predictions_are_those_of_the_library(self, call, files, text_model):
        outcome = call("predict", text_model, files / "test.jsonl", "-k", 3)
        assert (outcome.code, outcome.err) == (0, "")
        texts = read_dataset(files / "test.jsonl").texts
        wanted = longtail.load(text_model).tag(texts, 3)
        assert len(outcome.records) == len(texts)
        for record, row in zip(outcome.records, wanted, strict=True):
            assert list(record) == ["labels", "scores"]
            assert record["labels"] == [name for name, _ in row]
            assert record["scores"] == [score for _, score in row]
        assert any("thème [bold]é" in record["labels"] for record in outcome.records)
        assert "thème [bold]é" in outcome.out  # as itself, not as an escape

    def test_a_new_process_predicts_the_same_to_the_bit(self, call, files, text_model):
        here = call("predict", text_model, files / "test.jsonl", "--n-jobs", 1)
        words = ["-m", "longtail", "predict", str(text_model), str(files / "test.jsonl")]
        there = subprocess.run([sys.executable, *words], capture_output=True, check=True)
        assert there.stderr == b""
        assert there.stdout.decode("utf-8") == here.out

    def test_all_ways_to_give_texts_agree(self, call, files, text_model, tmp_path):
        texts = read_dataset(files / "test.jsonl").texts
        wanted = call("predict", text_model, files / "test.jsonl").records
        (tmp_path / "lines.txt").write_text("\n".join(texts), encoding="utf-8")
        with gzip.open(tmp_path / "lines.txt.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(texts) + "\n")
        objects = "".join(json.dumps({"body": text, "id": 1}) + "\n" for text in texts)
        (tmp_path / "bodies.ndjson").write_text(objects)
        (tmp_path / "table.csv").write_text("text,n\n" + "".join(f'"{t}",1\n' for t in texts))
        longtail.data.save(read_dataset(files / "test.jsonl"), tmp_path / "table.parquet")
        for words in (
            [tmp_path / "lines.txt"],
            [tmp_path / "lines.txt.gz"],
            [tmp_path / "bodies.ndjson", "--text-column", "body"],
            [tmp_path / "table.csv"],
            [tmp_path / "table.csv", "--read", "max_line_bytes=2000000"],
            [tmp_path / "table.parquet"],
            [files],  # the folder's test part
            [files, "--part", "test"],
        ):
            outcome = call("predict", text_model, *words)
            assert outcome.err == "", words
            assert outcome.records == wanted, words
        for lines, words in (("\n".join(texts), []), (objects, ["--text-column", "body"])):
            assert call("predict", text_model, "-", *words, stdin=lines).records == wanted

    def test_every_line_of_text_gets_an_answer(self, call, text_model):
        outcome = call("predict", text_model, "-", stdin="word1 word2\n\nword3\r\n")
        assert len(outcome.records) == 3
        assert call("predict", text_model, "-", stdin="").out == ""

    def test_threshold_and_file(self, call, files, text_model, tmp_path):
        everything = call("predict", text_model, files / "test.jsonl", "-k", N_LABELS).records
        for name in ("out.jsonl", "out.jsonl.gz"):
            outcome = call(
                "predict", text_model, files / "test.jsonl", "-k", N_LABELS, "--threshold", -0.25,
                "--to", tmp_path / name,
            )  # fmt: skip
            assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
            opener = gzip.open if name.endswith(".gz") else open
            with opener(tmp_path / name, "rt", encoding="utf-8") as file:
                found = [json.loads(line) for line in file]
            for record, whole in zip(found, everything, strict=True):
                n = sum(score >= -0.25 for score in whole["scores"])
                assert record["labels"] == whole["labels"][:n]
                assert record["scores"] == whole["scores"][:n]
        assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jsonl", "out.jsonl.gz"]

    def test_a_fault_in_the_input_leaves_no_file(self, call, text_model, tmp_path):
        (tmp_path / "in.jsonl").write_text('{"text": "word1"}\n{"text": 5}\n')
        outcome = call("predict", text_model, tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl")
        assert outcome.code == 1
        assert "in.jsonl, line 2" in outcome.err
        assert [p.name for p in tmp_path.iterdir()] == ["in.jsonl"]

    def test_evaluation_is_that_of_the_library(self, call, files, text_model):
        outcome = call("evaluate", text_model, files / "test.jsonl", "--json", "-k", "1,4")
        assert (outcome.code, outcome.err) == (0, "")
        train, test = read_dataset(files / "train.jsonl"), read_dataset(files / "test.jsonl")
        tagger = longtail.load(text_model)
        options = {"k": (1, 4), "classes": tagger.classes_.tolist()}
        scores = tagger.predict_topk(test.texts, 4)
        wanted = evaluate(
            test.label_sets(),
            Y_score=scores,
            Y_pred=tagger.predict(test.texts),
            Y_train=train.label_sets(),
            **options,
        )
        assert outcome.json["metrics"] == pytest.approx(wanted.to_dict(), abs=1e-12)
        assert set(outcome.json["metrics"]) >= {"P@1", "PSP@4", "f1_micro"}
        bins = by_frequency(test.label_sets(), scores, train.label_sets(), **options)
        assert outcome.json["by_frequency"] == bins.to_dicts()
        assert outcome.json["points"] == len(test)
        assert outcome.json["unknown_labels"] == 0
        assert outcome.json["metrics"]["P@1"] > 0.9

    def test_the_table_says_the_same(self, call, files, text_model):
        values = call("evaluate", text_model, files / "test.jsonl", "--json").json["metrics"]
        table = call("evaluate", text_model, files / "test.jsonl").out
        for name in ("P@1", "nDCG@3", "PSP@5", "f1_micro"):
            assert f"{100 * values[name]:.2f}" in table

    def test_unknown_labels_count_as_missed(self, call, files, text_model, tmp_path):
        text = (files / "test.jsonl").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            line["labels"].append("never seen")
        path = tmp_path / "more.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        before = call("evaluate", text_model, files / "test.jsonl", "--json").json
        after = call("evaluate", text_model, path, "--json").json
        assert after["unknown_labels"] == 1
        assert after["metrics"]["P@5"] == before["metrics"]["P@5"]
        assert after["metrics"]["R@5"] < before["metrics"]["R@5"]
        assert after["metrics"]["subset_accuracy"] == 0
        assert after["by_frequency"][0]["true"] == len(lines)
        assert "1 label is unknown" in call("evaluate", text_model, path).out

    def test_no_label_known(self, call, text_model, tmp_path):
        (tmp_path / "other.jsonl").write_text('{"text": "word1", "labels": ["elsewhere"]}\n')
        outcome = call("evaluate", text_model, tmp_path / "other.jsonl")
        assert outcome.code == 1
        assert outcome.err.startswith("Error: None of the labels is known")


class TestFeatures:
    def test_names_of_labels_and_features_stay(self, files, matrix_model):
        tagger = longtail.load(matrix_model)
        train = read_dataset(files / "features")
        assert tagger.classes_.tolist() == train.classes.tolist()
        assert tagger.classifier_.get_params()["C"] == 10
        assert tagger.features.get_params() == tagger.features_.get_params()
        assert tagger.features_.damping == "sqrt"
        label = train.label_sets()[0][0]
        reason = tagger.explain(train.X[[0]], label)
        assert set(reason.parts["feature"]) <= set(train.feature_names.tolist())

    def test_a_folder_means_its_test_part(self, call, files, matrix_model):
        by_folder = call("predict", matrix_model, files / "features", "-k", 5)
        by_file = call("predict", matrix_model, files / "features" / "test.txt", "-k", 5)
        assert by_folder.out == by_file.out
        test = read_dataset(files / "features", part="test")
        wanted = longtail.load(matrix_model).tag(test.X)
        assert [r["scores"] for r in by_folder.records] == [[s for _, s in row] for row in wanted]
        measured = call("evaluate", matrix_model, files / "features", "--json").json
        assert measured["points"] == len(test)
        assert measured["metrics"]["P@1"] > 0.9
        assert measured["metrics"]["PSP@1"] > 0

    def test_probabilities(self, call, files, matrix_model):
        tagger = longtail.load(matrix_model)
        X = read_dataset(files / "features", part="test").X
        labels, values = ranked(tagger.predict_proba(X, threshold=0.3), 4)
        outcome = call(
            "predict", matrix_model, files / "features", "--proba", "--threshold", 0.3, "-k", 4
        )
        for record, row, scores in zip(outcome.records, labels, values, strict=True):
            assert record["labels"] == tagger.classes_[row[row >= 0]].tolist()
            assert record["scores"] == scores[row >= 0].tolist()
            assert all(0.3 <= score <= 1 for score in record["scores"])

    def test_columns_are_matched_by_name(self, call, files, matrix_model, tmp_path):
        test = read_dataset(files / "features", part="test")
        order = np.random.default_rng(0).permutation(test.n_features)
        shuffled = longtail.Dataset(
            test.X[:, order], test.Y, test.feature_names[order], test.label_names
        )
        longtail.data.save(shuffled, tmp_path / "shuffled.txt")
        found = call("predict", matrix_model, tmp_path / "shuffled.txt").records
        for record, wanted in zip(
            found, call("predict", matrix_model, files / "features").records, strict=True
        ):
            assert record["labels"] == wanted["labels"]
            assert record["scores"] == pytest.approx(wanted["scores"], abs=1e-6)

    def test_files_without_names_go_by_number(self, call, tmp_path):
        data = longtail.data.make_longtail(80, 90, 12, labels_per_sample=2, random_state=1)
        train = longtail.Dataset(data.X[:60], data.Y[:60])
        longtail.data.save(train, tmp_path / "train.txt")
        longtail.data.save(longtail.Dataset(data.X[60:], data.Y[60:]), tmp_path / "test.svm")
        assert call("train", tmp_path / "train.txt", "--to", tmp_path / "m", "-q").code == 0
        records = call("predict", tmp_path / "m", tmp_path / "test.svm", "-k", 2).records
        model = longtail.load(tmp_path / "m")
        labels, _ = ranked(model.predict_topk(sp.csr_array(data.X[60:]), 2), 2)
        assert [r["labels"] for r in records] == labels.tolist()
        assert (
            call("evaluate", tmp_path / "m", tmp_path / "test.svm", "--json").json["points"] == 20
        )

    def test_a_classifier_saved_alone(self, call, files, tmp_path):
        train = read_dataset(files / "features")
        classifier = longtail.DiSMEC().fit(train.X, train.label_sets())
        classifier.save(tmp_path / "alone")
        measured = call("evaluate", tmp_path / "alone", files / "features", "--json").json
        assert sum(row["labels"] for row in measured["by_frequency"]) == len(classifier.classes_)
        assert 0 < measured["metrics"]["PSP@1"] <= 1
        assert call("predict", tmp_path / "alone", files / "features").code == 0
        assert call("inspect", tmp_path / "alone", "--json").json["training points"] == len(train)

    @pytest.mark.parametrize("form", ["one class", "dense"])
    def test_models_from_python_with_other_forms_of_labels(self, call, files, tmp_path, form):
        train = read_dataset(files / "features")
        Y = [labels[0] for labels in train.label_sets()]
        if form == "dense":
            Y = train.Y.toarray()
        names = train.classes.tolist() if form == "dense" else None
        classifier = longtail.BinaryRelevance().fit(train.X, Y, label_names=names)
        classifier.save(tmp_path / form)
        records = call("predict", tmp_path / form, files / "features", "--proba", "-k", 5).records
        assert all(len(record["labels"]) == 5 for record in records)
        measured = call("evaluate", tmp_path / form, files / "features", "--json").json
        assert 0 < measured["metrics"]["jaccard"] <= 1


def test_held_out_points(call, files, tmp_path):
    words = ["train", files / "train.jsonl", "--to", tmp_path / "m", "--test-size", 0.2, "-q"]
    outcome = call(*words, "--json", "--random-state", 3, "-k", "1")
    assert (outcome.code, outcome.err) == (0, "")
    whole = read_dataset(files / "train.jsonl")
    train, test = whole.split(test_size=0.2, random_state=3)
    assert outcome.json["points"] == len(train)
    assert outcome.json["test"]["points"] == len(test)
    tagger = longtail.load(tmp_path / "m")
    wanted = evaluate(test.Y, Y_score=tagger.predict_topk(test.texts, 1), k=1)["P@1"]
    assert outcome.json["test"]["metrics"]["P@1"] == wanted
    # the model remembers it
    assert store.read_meta(tmp_path / "m").meta["held_out"]["P@1"] == wanted
    assert not (tmp_path / "m.partial").exists()
    by_number = call(*words[:-3], "--test-size", 30, "--json", "-q")
    assert by_number.json["test"]["points"] == 30
    assert "Held out: 30 points" in call(*words[:-3], "--test-size", 30, "-q").out


def test_feature_options(call, files, tmp_path):
    (tmp_path / "stop").write_text("word1 word2\nword3\n")
    outcome = call(
        "train", files / "train.jsonl", "--to", tmp_path / "m", "-q", "--ngram-range", "1,2",
        "--min-df", 2, "--max-df", 0.5, "--max-features", 300, "--stop-words", tmp_path / "stop",
        "--no-idf", "--norm", "l1", "--damping", "log", "--analyzer", "word",
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    found = longtail.load(tmp_path / "m").features_.get_params()
    wanted = {
        "ngram_range": (1, 2), "min_df": 2, "max_df": 0.5, "max_features": 300, "idf": False,
        "stop_words": ["word1", "word2", "word3"], "norm": "l1", "damping": "log",
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_columns_and_separators(call, tmp_path):
    rows = "".join(f"word{i % 4} word{i % 3},a {i % 4}|b {i % 3}\n" for i in range(30))
    (tmp_path / "docs.csv").write_text("body,tags\n" + rows)
    columns = ["--text-column", "body", "--labels-column", "tags", "--label-separator", "|"]
    words = ["train", tmp_path / "docs.csv", "--to", tmp_path / "m", "-q"]
    assert call(*words, *columns).code == 0
    assert set(longtail.load(tmp_path / "m").classes_.tolist()) == {
        *(f"a {i}" for i in range(4)), *(f"b {i}" for i in range(3)),
    }  # fmt: skip
    measured = call("evaluate", tmp_path / "m", tmp_path / "docs.csv", *columns, "--json").json
    assert (measured["points"], measured["labels"], measured["unknown_labels"]) == (30, 7, 0)


def test_published_constants(call, files, text_model):
    words = ["evaluate", text_model, files / "test.jsonl", "--json"]
    usual = call(*words).json["metrics"]["PSP@5"]
    other = call(*words, "--propensity-constants", "Amazon-670K").json["metrics"]["PSP@5"]
    assert other != usual
    outcome = call(*words, "--propensity-constants", "Nowhere")
    assert outcome.code == 1
    assert outcome.err.startswith("Error: No propensity constants are published for 'Nowhere'")
