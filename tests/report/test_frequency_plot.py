"""Head, torso and tail as a plot: every bin has its mark, wherever it is the first."""

from __future__ import annotations

import numpy as np

from longtail import report
from longtail.metrics import by_frequency


def frame(counts, truth, scores):
    return by_frequency(truth, scores, counts=np.array(counts), k=(1, 2))


def marks(figure):
    return {
        name.get_text(): (line.get_marker(), list(line.get_xdata()), list(line.get_ydata()))
        for legend in figure.legends
        for name, line in zip(legend.get_texts(), figure.axes[0].lines, strict=True)
    }


def test_marks_are_where_they_belong():
    truth = np.array([[1, 0, 1], [1, 1, 0]])
    one = frame([200, 50, 5], truth, np.array([[9, 0.5, 1], [9, 2, 1.0]]))
    two = frame([200, 50, 5], truth, np.array([[1, 9, 0.0], [9, 0, 1.0]]))
    figure = report.frequency_figure({"one": one, "$two": two}, k=2, title="all")
    found = marks(figure)
    assert found["tail: 1-9 points"] == ("^", [100.0, 0.0], [0, 1])
    assert found["torso: 10-99 points"] == ("s", [100.0, 0.0], [0, 1])
    assert found["head: 100+ points"] == ("o", [100.0, 100.0], [0, 1])
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["one", "$two"]


def test_a_bin_keeps_its_mark():
    truth = np.array([[1, 0]])
    found = marks(report.frequency_figure({"a": frame([300, 40], truth, truth)}, k=1))
    assert {name: mark for name, (mark, _, _) in found.items()} == {"head: 100+ points": "o"}


def test_nothing_to_show(tmp_path):
    report.save_figure(report.frequency_figure({}, k=1), tmp_path / "none.png")
    assert marks(report.frequency_figure({}, k=1)) == {}
