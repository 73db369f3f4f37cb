"""Tables: every figure is there, and nothing that came from data is read as markup."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from rich.console import Console

from longtail import report
from longtail.base import Explanation
from longtail.labels import algebraic_connectivity, tail_statistics
from longtail.metrics import Evaluation, by_frequency
from longtail.report import printable


def shown(renderable, width=100):
    screen = Console(width=width, file=io.StringIO())
    screen.print(renderable)
    return screen.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_metric_is_in_the_table(width):
    evaluation = Evaluation(
        {
            "P@1": 0.1234,
            "P@3": 0.2345,
            "PSP@3": 0.3456,
            "hamming_loss": 0.000123,
            "f1_micro": 0.4567,
        }
    )
    text = shown(
        report.evaluation_table(evaluation, "a title that is longer than the table"), width
    )
    for part in ("12.34", "23.45", "34.56", "0.0123", "45.67", "@1", "@3", "propensity"):
        assert part in text
    assert "a title that is longer than the table" in " ".join(text.split())
    assert all(len(line) <= width for line in text.splitlines())


def test_a_metric_without_a_value_is_left_empty():
    text = shown(report.evaluation_table(Evaluation({"P@1": float("nan"), "jaccard": 0.5})))
    assert "nan" not in text
    assert "50.00" in text


def test_frequency_bins():
    truth = np.array([[1, 0, 1], [0, 1, 0]])
    scores = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.1]])
    frame = by_frequency(truth, scores, counts=[3, 12, 150])
    text = shown(report.frequency_table(frame), 80)
    rows = [line.split() for line in text.splitlines() if line.split()[:1] in (["tail"], ["head"])]
    assert rows[0][:4] == ["tail", "1-9", "1", "1"]
    assert rows[1][:4] == ["head", "100+", "1", "1"]
    assert "unseen" not in text  # no label is in that bin
    assert "100.0" in text


def test_tail_of_nothing():
    text = shown(report.tail_table(tail_statistics(sp.csr_array((3, 2)))))
    assert "none occur" in text
    assert "nan" not in text


def test_label_graph():
    Y = sp.csr_array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    names = np.array(["sea", "[red]sun", "sky", "snow"])
    graph = report.describe_graph(Y, names, n_hubs=2)
    assert (graph.components, graph.largest, graph.isolated) == (2, 3, 1)
    assert graph.mean_neighbours == 1
    assert graph.connectivity == algebraic_connectivity(Y)
    assert [hub.label for hub in graph.hubs] == ["[red]sun", "sea"]
    assert "[red]sun" in shown(report.hubs_table(graph))


def test_graph_of_nothing():
    graph = report.describe_graph(sp.csr_array((2, 3)), np.arange(3))
    assert graph.to_dict() == {
        "components": 0, "largest": 0, "isolated": 0, "mean_neighbours": 0.0, "connectivity": 0.0,
        "hubs": [],
    }  # fmt: skip


def test_predictions_with_verdicts_and_reasons():
    parts = pl.DataFrame({"feature": ["[i]sand"], "contribution": [0.5]})
    why = Explanation("[b]sea", 0.1, -0.4, parts)
    table = report.predictions_table(
        [("[b]sea", 0.1), ("sun\x07", -0.25)], true=["[b]sea"], reasons=[why], title="[u]title"
    )
    lines = shown(table).splitlines()
    (sea,) = [line for line in lines if "[b]sea" in line]
    (sun,) = [line for line in lines if "sun\\x07" in line]
    assert "yes" in sea
    assert "[i]sand +0.50, bias -0.40" in sea
    assert "0.10" in sea
    assert "no" in sun.split()
    assert "-0.25" in sun
    assert "[u]title" in lines[0]
    assert "right" not in shown(report.predictions_table([("sea", 1.0)]))


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain", "plain"),
        (" two\n\tlines  ", "two lines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202eevil", "\\u202eevil"),
        ("\udc80", "\\udc80"),
        ("Schölkopf 中", "Schölkopf 中"),
        (7, "7"),
    ],
)
def test_printable(text, safe):
    assert printable(text) == safe
    assert printable(text).isprintable()


def test_printable_is_cut():
    assert printable("a" * 100, 10) == "a" * 9 + "…"
    assert printable("a b " * 10**6, 5) == "a b…"
    assert printable("short", 5) == "short"
    assert printable("x", 0) == "…"


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = report.nothing
    assert all(getattr(report, name) for name in report.__all__)
    assert set(report.__all__) <= set(dir(report))
