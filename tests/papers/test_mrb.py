"""The table of the pair ranker's paper, and the samples of WordNet that stand in for its data."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import DataError
from longtail.papers import find_paper, prepare_trial, read_trial, run_method
from longtail.papers.mrb import _collection, _sample, stratified
from longtail.report import notes_text

PAPER = find_paper("mrb")


def test_figures_of_the_paper():
    values = PAPER.table("2").values
    assert values["DMOZ-7500"]["mRb"] == {
        "accuracy": 0.499, "maf1": 0.352, "covered_classes": 0.495,
    }  # fmt: skip
    assert values["Wikipedia-7500"]["LogT"]["maf1"] == 0.151
    assert "OVO" not in values["DMOZ-7500"]
    assert "OVA 0.484 / 0.348 / 0.489" in notes_text(PAPER.notes)
    assert [trial.n_classes for trial in PAPER.trials] == [100, 500, 1000, 3000, 5000, 7500]
    assert all(len(trial.seeds) >= 3 for trial in PAPER.trials)
    assert len(PAPER.trials_on("wordnet-hypernyms")) == 6
    assert PAPER.trial("wordnet-500").n_classes == 500


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=60), st.floats(0.05, 0.95), st.integers(0, 9)
)
def test_split_by_class(classes, share, seed):
    numbers = np.array(classes)
    chosen = stratified(numbers, share, np.random.default_rng(seed))
    for number, count in Counter(classes).items():
        tested = int(chosen[numbers == number].sum())
        if count == 1:
            assert tested == 0
        else:
            assert 1 <= tested < count
            assert tested in (1, count - 1) or abs(tested - share * count) <= 0.5


@pytest.fixture
def folder(tmp_path):
    """Class number c has c + 1 documents; some rows have a second label, one has none."""
    rows = [
        {"id": f"{c}-{i}", "text": f"word{c} other{i}", "labels": [f"z{c}", "a"][: 1 + i % 2]}
        for c in range(6)
        for i in range(c + 1)
    ]
    rows.append({"id": "x", "text": "nothing", "labels": []})
    place = tmp_path / "wordnet-hypernyms"
    place.mkdir()
    with gzip.open(place / "all.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    _collection.cache_clear()
    yield tmp_path
    _collection.cache_clear()


def test_the_class_is_the_first_label(folder):
    texts, classes = _collection(folder / "wordnet-hypernyms")
    assert len(texts) == 21
    assert Counter(classes) == {f"z{c}": c + 1 for c in range(6)}


def test_samples(folder):
    place = folder / "wordnet-hypernyms"
    train, test, best = _sample(5, place, 0)
    assert best == {}
    assert train.classes.tolist() == test.classes.tolist() == [f"z{c}" for c in range(1, 6)]
    assert train.Y.sum(axis=0).tolist() == [1, 2, 3, 4, 4]
    assert test.Y.sum(axis=0).tolist() == [1, 1, 1, 1, 2]
    for part in (train, test):
        for text, (label,) in zip(part.texts, part.label_sets(), strict=True):
            assert text.startswith(f"word{label[1:]} ")
    again, other = _sample(5, place, 0)[0], _sample(5, place, 1)[0]
    assert again.texts == train.texts
    assert other.texts != train.texts
    assert len({tuple(_sample(2, place, seed)[0].classes) for seed in range(9)}) > 2
    with pytest.raises(DataError, match="there are 5 classes with two documents"):
        _sample(6, place, 0)


def test_every_method_gets_its_features(folder, monkeypatch):
    """With the names of methods that are there; counts for one, tf-idf for the other."""
    from longtail.methods.registry import Method, methods

    known = {**methods(), "counts-only": Method("counts-only", "tests.counting:CountsOnly")}
    monkeypatch.setattr("longtail.papers.reproducing.known_methods", lambda: known)
    small = replace(PAPER.trials[0], make=lambda place, seed: _sample(4, place, seed), n_classes=4)
    paper = replace(PAPER, methods={"mRb": "counts-only", "OVA": "dismec"}, trials=(small,))
    prepared = prepare_trial(paper, small, folder)
    assert prepared.seeds == (0, 1, 2)
    for method in paper.methods:
        (row,) = run_method(prepared, method, n_jobs=1, progress=False)
        assert row.left_out is None
        assert [cell.metric for cell in row.cells] == ["accuracy", "maf1", "covered_classes"]
        assert all(0 < cell.ours <= 1 for cell in row.cells)
        assert row.cells[0].ours == pytest.approx(row.result.evaluation["P@1"])
    made = prepared.problem.made
    assert made["counts"].transformer.get_params()["norm"] is None
    assert made["counts"].X.max() == 1
    assert made["scaled"].transformer.idf


@pytest.mark.published
def test_samples_of_wordnet(data_folder):
    trial = PAPER.trial("wordnet-1000")
    train, test = read_trial(trial, data_folder, seed=2)
    assert train.n_labels == test.n_labels == 1000
    for part in (train, test):
        assert np.bincount(part.Y.indices, minlength=1000).min() >= 1
        assert (np.diff(part.Y.indptr) == 1).all()
    share = len(test) / (len(train) + len(test))
    assert 0.25 <= share < 0.3
    counts = np.bincount(train.Y.indices) + np.bincount(test.Y.indices)
    assert np.median(counts) < 5  # a long tail
