"""`recommend`: the method for each kind of data, with the measured numbers in its reasons."""

from __future__ import annotations

import itertools
import re
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail.choosing import DECISIVE, RULES, WORDS, DataFacts, measure_facts, recommend
from longtail.data import load_api_docs, make_longtail, read_dataset
from longtail.errors import InputError, ParameterError
from longtail.features import RowScaler
from longtail.methods.registry import methods
from tests.conftest import ROOT


def texts_of_classes(n_classes, each, seed=0):
    """Texts of one class each: a few words of its own, and some that all have."""
    rng = np.random.default_rng(seed)
    texts, classes = [], []
    for number in range(n_classes):
        for _ in range(each):
            common = " ".join(f"common{i}" for i in rng.integers(50, size=5))
            texts.append(f"own{number} own{number}x {common}")
            classes.append(f"class {number}")
    return texts, classes


def grouped(n=600, n_groups=150, seed=0):
    """Points with two labels each, always of one group of three: groups exclude each other."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    Y = np.zeros((n, 3 * n_groups), dtype=int)
    for row, g in enumerate(group):
        Y[row, 3 * g + rng.choice(3, 2, replace=False)] = 1
    return sp.csr_array(rng.random((n, 30)) * (rng.random((n, 30)) < 0.2)), sp.csr_array(Y)


EXPECTED = {
    "scene": "cbm",
    "yeast": "cbm",
    "rcv1-subset1": "cbm",
    "mediamill": "cbm",
    "bibtex": "proxml",
    "delicious": "proxml",
    "eurlex-4k": "proxml",
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_real_sets(data_folder, name, expected):
    if not (data_folder / name).is_dir():
        pytest.skip(f"no {name} at {data_folder}")
    data = read_dataset(data_folder / name, part="train")
    found = recommend(RowScaler().fit_transform(data.X), data.Y)
    assert found.method == expected
    assert f"{found.facts.labels:,}" in found.reasons[0]
    assert found.facts.points == len(data)
    assert found.method in found.estimates


class TestGenerated:
    def test_thousands_of_classes_of_few_texts(self):
        texts, classes = texts_of_classes(600, 3)
        found = recommend(texts, classes)
        assert found.method == "mrb"
        assert "600 classes, with 3 texts" in found.reasons[0]
        assert "than one-versus-all at its default C" in found.reasons[0]
        assert "ova" in [one.method for one in found.alternatives]

    def test_accuracy_is_wanted_of_them(self):
        texts, classes = texts_of_classes(600, 3)
        assert recommend(texts, classes, want="accuracy").method == "ova"

    def test_few_classes(self):
        texts, classes = texts_of_classes(20, 10)
        found = recommend(texts, classes)
        assert found.method == "msvm"
        assert "20 classes" in found.reasons[0]

    def test_classes_of_points_that_are_no_texts(self):
        X = np.random.default_rng(0).random((1200, 5))
        assert recommend(X, np.arange(1200) % 600).method == "ova"

    def test_sets_that_repeat(self):
        rng = np.random.default_rng(0)
        sets = [("sea", "sun"), ("snow",), ("sea",), ("sun", "snow")]
        found = recommend(rng.random((200, 5)), [sets[i] for i in rng.integers(4, size=200)])
        assert found.method == "cbm"
        assert "4 distinct sets of 50.0 points" in found.reasons[0]

    def test_many_labels(self):
        data = make_longtail(500, 300, 400, random_state=0)
        found = recommend(data.X, data.Y)
        assert found.method == "proxml"
        assert f"{found.facts.tail_share:.0%}" in found.reasons[0]

    def test_labels_that_exclude_each_other_by_groups(self):
        X, Y = grouped()
        found = recommend(X, Y, want="hamming")
        assert found.facts.exclusivity > 0.99
        assert found.method == "rbf"
        assert f"{found.facts.exclusivity:.1%}" in found.reasons[0]

    def test_similar_points_are_wanted(self):
        data = make_longtail(1500, 300, 400, random_state=0)
        found = recommend(data.X, data.Y, want="similar")
        assert found.method == "dbpc"
        assert "150 prototypes" in found.reasons[0]


class TestFacts:
    def test_are_those_of_the_data(self):
        Y = sp.csr_array([[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
        facts = measure_facts(sp.csr_array((4, 7)), Y)
        assert (facts.points, facts.features, facts.labels) == (4, 7, 3)
        assert (facts.label_sets, facts.labels_per_point, facts.tail_share) == (3, 1.25, 1.0)
        assert not facts.one_class
        assert facts.exclusivity == 1.0

    def test_what_would_cost_too_much_is_left_out_and_said(self, monkeypatch):
        monkeypatch.setattr("longtail.choosing.facts.MOST_PAIRS", 3)
        facts = measure_facts(sp.csr_array((2, 1)), sp.csr_array([[1, 1], [1, 1]]))
        assert facts.exclusivity is None
        assert facts.connectivity is None
        assert facts.in_words()["Exclusivity"].startswith("not measured")


class TestRecommendation:
    def test_what_does_not_fit_is_passed_over_with_a_reason(self, monkeypatch):
        monkeypatch.setattr("longtail.choosing.recommendation.available_memory", lambda: 30_000_000)
        rng = np.random.default_rng(0)
        Y = (rng.random((20, 100)) < 0.5).astype(int)[rng.integers(20, size=3000)]
        found = recommend(rng.random((3000, 40)), Y)
        assert found.method != "cbm"
        assert any("cbm would take" in reason and "30 MB" in reason for reason in found.reasons)

    def test_where_nothing_fits_the_cause_and_the_remedy_are_one_sentence(self, monkeypatch):
        monkeypatch.setattr("longtail.choosing.recommendation.available_memory", lambda: 1000)
        data = make_longtail(300, 200, 50, random_state=0)
        with pytest.raises(InputError, match=r"^No method fits: \S+ would take [^;]*; give fewer"):
            recommend(data.X, data.Y)

    def test_estimates_of_texts_are_those_of_a_tagger(self):
        data = load_api_docs()
        texts, Y = data.texts[:200], data.Y[:200]
        found = recommend(texts, Y)
        for name, need in found.estimates.items():
            tagger = longtail.Tagger(classifier=methods()[name].estimator())
            expected = tagger.estimate(texts, Y)
            assert (need.peak_bytes, need.model_bytes, need.reason) == (
                expected.peak_bytes, expected.model_bytes, expected.reason,
            )  # fmt: skip

    def test_tables_and_plain_values(self):
        data = make_longtail(300, 200, 50, random_state=0)
        found = longtail.recommend(data.X, data.Y)
        assert found.table()["method"].to_list() == list(found.estimates)
        assert found.facts.table().shape == (9, 2)
        assert found.to_dict()["facts"]["points"] == 300
        assert str(found).startswith(f"{found.method}: ")

    def test_odd_wishes_and_nothing_at_all_are_refused(self):
        with pytest.raises(ParameterError, match="want must be one of ranking"):
            recommend(np.eye(2), ["a", "b"], want="best")
        with pytest.raises(InputError, match=r"^X has 2 rows and Y 3;"):
            recommend(np.eye(2), ["a", "b", "c"])
        with pytest.raises(InputError, match=r"^X holds NaN"):
            recommend(np.array([[np.nan], [1.0]]), ["a", "b"])
        with pytest.raises(InputError, match="no point with a label"):
            recommend(np.eye(2), sp.csr_array((2, 3)))


class TestRules:
    def test_name_methods_and_pages_that_exist(self):
        for rule in RULES:
            assert rule.method in methods()
            assert (ROOT / "docs" / rule.page).is_file()

    def test_ask_for_the_facts_that_are_said_to_decide(self):
        asked = set()

        class Watched:
            def __init__(self, facts):
                self._facts = facts

            def __getattr__(self, name):
                asked.add("label_sets" if name == "points_per_set" else name)
                return getattr(self._facts, name)

        for one_class, text in itertools.product((True, False), repeat=2):
            facts = DataFacts(2000, 10, 120, text, False, one_class, 1.0, 2.0, 0.5, 90, 0.95, 0.1)
            many = replace(facts, labels=600)
            for rule, seen in itertools.product(RULES, (facts, many)):
                rule.suits(Watched(seen))
                rule.leads(Watched(seen))
        assert asked == DECISIVE
        assert set().union(*WORDS.values()) == {field.name for field in fields(DataFacts)}

    def test_one_always_leads(self):
        for one_class in (True, False):
            for text in (True, False):
                facts = DataFacts(
                    100, 10, 600, text, False, one_class, 1.0, 2.0, 0.5, 90, None, None
                )
                assert any(rule.suits(facts) and rule.leads(facts) for rule in RULES)


class TestPage:
    """`docs/which-method.md` has the rules, word by word, and all methods."""

    @staticmethod
    def rows(*, below):
        page = (ROOT / "docs" / "which-method.md").read_text("utf-8")
        section = page.partition(below)[2].partition("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("| `")]
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]

    def test_has_the_rules(self):
        shown = self.rows(below="# Which method?")
        assert [row[:4] for row in shown] == [
            [f"`{rule.method}`", rule.data, rule.first, ", ".join(f"`{w}`" for w in rule.wants)]
            for rule in RULES
        ]
        linked = [re.search(r"\]\(([\w-]+\.md)", row[4]).group(1) for row in shown]
        assert linked == [rule.page for rule in RULES]

    def test_has_every_method(self):
        shown = self.rows(below="## All methods")
        assert sorted(row[0] for row in shown) == sorted(f"`{name}`" for name in methods())
