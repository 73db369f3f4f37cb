"""Plots: they show the data, have names on their axes, and are written whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import report
from longtail.data import make_longtail
from longtail.errors import MissingExtraError, ModelError, ParameterError
from longtail.labels import label_counts


@pytest.fixture(scope="module")
def labels():
    return make_longtail(500, 300, 100, random_state=0).Y


def test_figure_shows_the_counts(labels):
    frequency, sizes = report.label_figure(labels, title="tiny $5 [x]\n").axes
    counts = np.sort(label_counts(labels))[::-1]
    line = frequency.lines[0]
    assert line.get_xdata().tolist() == list(range(1, (counts > 0).sum() + 1))
    assert line.get_ydata().tolist() == counts[counts > 0].tolist()
    heights = [bar.get_height() for bar in sizes.patches]
    assert heights == np.bincount(np.diff(labels.indptr)).tolist()
    for ax in (frequency, sizes):
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.get_title()
    assert frequency.get_xscale() == frequency.get_yscale() == "log"


def test_many_labels_a_point_are_binned():
    Y = sp.csr_array(np.tri(400, 300, dtype=np.int8))
    bars = report.label_figure(Y).axes[1].patches
    assert len(bars) <= 61
    assert sum(bar.get_height() for bar in bars) == 400


@pytest.mark.parametrize("Y", [sp.csr_array((5, 3)), sp.csr_array((0, 3)), sp.csr_array([[1]])])
def test_hardly_any_labels(Y, tmp_path):
    report.save_figure(report.label_figure(Y), tmp_path / "few.png")
    assert (tmp_path / "few.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.PDF", b"%PDF"), ("a.jpg", b"\xff\xd8")]
)
def test_formats(labels, tmp_path, name, start):
    report.save_figure(report.label_figure(labels), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_odd_targets(labels, tmp_path):
    figure = report.label_figure(labels)
    with pytest.raises(ParameterError, match="plots are written as png"):
        report.save_figure(figure, tmp_path / "plot.doc")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ModelError, match="is a folder"):
        report.save_figure(figure, tmp_path / "folder.png")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="matplotlib"):
        report.check_plot_target("a.png")
