"""The figures of papers: read right, and odd where they are odd."""

from __future__ import annotations

import math

import pytest

from longtail.errors import ParameterError
from longtail.methods.registry import methods
from longtail.papers import (
    Candidate,
    Paper,
    PublishedTable,
    find_contradictions,
    find_paper,
    papers,
    read_table,
    with_choice,
)
from longtail.papers.contradictions import _too_low

PROXML = find_paper("proxml")


def row(table, dataset, method, metric):
    values = PROXML.table(table).values[dataset][method]
    return [values[f"{metric}@{k}"] for k in (1, 3, 5)]


@pytest.mark.parametrize(
    ("dataset", "method", "metric", "elsewhere", "within"),
    [
        ("EURLex-4K", "ProXML", "P", (83.4, 70.9, 59.1), 0),
        ("EURLex-4K", "ProXML", "PSP", (45.2, 48.5, 51.0), 0),
        ("EURLex-4K", "CCD-L1", "P", (80.8, 67.6, 55.1), 0),
        ("EURLex-4K", "CCD-L1", "PSP", (37.8, 41.6, 44.1), 0),
        ("EURLex-4K", "DiSMEC", "PSP", (41.2, 45.4, 49.3), 0),
        ("EURLex-4K", "DiSMEC", "P", (82.4, 68.5, 57.7), 0.3),
        ("EURLex-4K", "SLEEC", "P", (79.26, 64.30, 52.33), 0.1),
        ("EURLex-4K", "PD-Sparse", "PSP", (38.28, 42.00, 44.89), 0.8),
        ("EURLex-4K", "PFastreXML", "PSP", (43.86, 45.72, 46.97), 0.8),
        ("EURLex-4K", "LEML", "PSP", (24.10, 27.20, 29.09), 0.1),
        ("Bibtex", "ProXML", "P", (64.6, 39.0, 28.2), 0.2),
        ("Bibtex", "ProXML", "PSP", (50.1, 52.0, 58.3), 0),
        ("Bibtex", "SLEEC", "PSP", (51.12, 53.95, 59.56), 0.1),
        ("Bibtex", "PfastreXML".replace("Pf", "PF"), "PSP", (52.28, 54.36, 60.55), 0.1),
        ("Bibtex", "FastXML", "P", (63.42, 39.23, 28.86), 0.1),
        ("Bibtex", "LEML", "P", (62.54, 38.41, 28.21), 0.1),
        ("Bibtex", "PD-Sparse", "P", (61.29, 35.82, 25.74), 0.1),
        ("Mediamill", "ProXML", "P", (86.5, 68.4, 53.2), 0),
        ("Mediamill", "ProXML", "PSP", (64.3, 61.3, 60.8), 0),
        ("Mediamill", "SLEEC", "PSP", (70.14, 72.76, 74.02), 0.1),
        ("Mediamill", "FastXML", "PSP", (66.67, 65.43, 64.30), 0.1),
        ("Mediamill", "FastXML", "P", (84.22, 67.33, 53.04), 0.1),
    ],
)
def test_columns_belong_to_their_methods(dataset, method, metric, elsewhere, within):
    """Figures that are published elsewhere as well settle which column is whose."""
    found = row("4" if metric == "PSP" else "5", dataset, method, metric)
    assert found == pytest.approx(elsewhere, abs=within + 1e-9)


def test_tables_are_complete():
    for table, metrics in (("4", 6), ("5", 3), ("6", 3)):
        values = PROXML.table(table).values
        assert len(values) == 6
        for dataset, by_method in values.items():
            scaled = 8 if dataset in ("Wikipedia-500K", "Amazon-670K") else 9
            assert len(by_method) == scaled, dataset
            assert all(len(figures) == metrics for figures in by_method.values())
    assert {trial.dataset for trial in PROXML.trials} <= set(PROXML.table("4").values)


def test_contradictions_of_the_first_paper():
    found = {(found.dataset, found.method, *found.metrics) for found in find_contradictions(PROXML)}
    ours = {each for each in found if each[0] in ("EURLex-4K", "Bibtex", "Mediamill")}
    assert ours == {
        ("Mediamill", "FastXML", "PSP@1", "PSnDCG@1"),
        ("Mediamill", "Parabel", "PSP@1", "PSnDCG@1"),
        ("Mediamill", "CCD-L1", "PSP@1", "PSnDCG@1"),
        ("Bibtex", "PFastreXML", "PSP@1", "PSnDCG@1"),
        ("Bibtex", "Parabel", "PSP@1", "PSnDCG@1"),
        ("EURLex-4K", "FastXML", "PSP@1", "PSnDCG@1"),
        ("EURLex-4K", "FastXML", "nDCG@5"),
        ("EURLex-4K", "CCD-L1", "PSP@3", "PSnDCG@3", "PSP@5", "PSnDCG@5"),
    }
    assert ("Wikipedia-500K", "ProXML", "nDCG@3") in found
    assert not any(method == "ProXML" for _, method, *_ in ours)


def test_the_bound_on_ndcg_is_reached_and_not_crossed():
    """All hits as far down as the precision allows, over k hits as the ideal."""
    weights = [1 / math.log2(rank + 1) for rank in (1, 2, 3)]
    # every point: hit, miss, hit
    precision = {"P@1": 100.0, "P@3": 200 / 3}
    least = 100 * (weights[0] + weights[2]) / sum(weights)
    assert _too_low({**precision, "nDCG@3": least}) == []
    assert _too_low({**precision, "nDCG@3": least + 5}) == []
    ((metrics, about),) = _too_low({**precision, "nDCG@3": least - 0.5})
    assert metrics == ("nDCG@3",)
    assert f"{least:.1f}" in about
    assert _too_low(precision) == []


def test_read_table_wants_whole_lines():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        read_table("Bibtex N@1 50.1", ("ProXML", "SLEEC"), {"N": "nDCG"})


@pytest.mark.parametrize("paper", papers().values(), ids=lambda paper: paper.key)
class TestEveryPaper:
    def test_is_wholly_described(self, paper):
        assert paper.title
        assert paper.source
        assert paper.key == paper.key.lower()
        for table in paper.tables:
            assert table.place
            for by_method in table.values.values():
                assert set(by_method) <= set(paper.methods)
        for trial in paper.trials:
            assert trial.about
            assert set(trial.parameters) | set(trial.slow) <= set(paper.methods)
        assert set(paper.with_tail) <= set(paper.methods)
        for note in paper.notes:
            assert note.method in ("", *paper.methods)
            known = {each for t in paper.tables for each in t.values}
            assert note.dataset in {"", *known, *(trial.dataset for trial in paper.trials)}

    def test_settings_fit_the_methods_that_are_built(self, paper):
        for trial in paper.trials:
            for method, given in trial.parameters.items():
                built = methods().get(paper.methods[method])
                if built is not None:
                    built.estimator(**given).check_parameters()

    def test_recorded_settings_are_among_those_tried(self, paper):
        for trial in paper.trials:
            if trial.choice is not None:
                recorded = trial.parameters[trial.choice.method][trial.choice.parameter]
                assert recorded in trial.choice.values
                assert trial.features in trial.choice.features

    def test_names_are_found_in_any_case(self, paper):
        for trial in paper.trials:
            assert paper.trial(trial.dataset.upper()) is trial
            assert trial in paper.trials_on(trial.folder.upper())
        for theirs, ours in paper.methods.items():
            assert paper.method(theirs.lower()) == theirs
            assert paper.methods[paper.method(ours)] == ours


def test_unknown_names():
    with pytest.raises(ParameterError, match="no paper 'x'; choose among"):
        find_paper("x")
    with pytest.raises(ParameterError, match="no data set 'x' here"):
        PROXML.trial("x")
    with pytest.raises(ParameterError, match="no method 'x'"):
        PROXML.method("x")
    with pytest.raises(KeyError):
        PROXML.table("7")


def test_a_choice_holds_for_all_methods_that_share_the_parameter():
    trial = PROXML.trial("bibtex")
    chosen = with_choice(
        trial, [Candidate({}, 0.5, 0.6, 1.0), Candidate({"norm": None}, 0.2, 0.7, 1.0)]
    )
    assert chosen.features == {"norm": None}
    assert chosen.parameters["ProXML"] == chosen.parameters["CCD-L1"] == {"strength": 0.2}
    assert trial.parameters["ProXML"]["strength"] != 0.2


def test_other_papers_may_have_other_metrics():
    values = read_table("Scene S 0.091", ("R-BF",), {"S": "hamming_loss"})
    table = PublishedTable("1", "section 4", values, scale=1.0, digits=3)
    paper = Paper("other", "t", "s", {"R-BF": "robust-bloom"}, (table,), ())
    assert find_contradictions(paper) == []
