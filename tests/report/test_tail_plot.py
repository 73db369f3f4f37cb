"""The plot and the table of the trade-off show the curve, its weights and the choice."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from longtail import report
from longtail.errors import ParameterError


@pytest.fixture
def curve():
    tails = np.round(np.linspace(0, 1.5, 31), 2)
    table = {"tail": tails}
    for k, (high, low) in {1: (0.82, 0.35), 3: (0.7, 0.45), 5: (0.58, 0.5)}.items():
        table[f"P@{k}"] = high - 0.25 * tails**4
        table[f"PSP@{k}"] = low + 0.1 * np.sin(2 * tails)
    return pl.DataFrame(table)


def test_a_panel_a_rank_shows_the_whole_curve(curve):
    figure = report.tail_figure(curve, title="tiny $5\n")
    assert len(figure.axes) == 3
    for ax, k in zip(figure.axes, (1, 3, 5), strict=True):
        line = ax.lines[0]
        assert line.get_xdata() == pytest.approx(100 * curve[f"PSP@{k}"].to_numpy())
        assert line.get_ydata() == pytest.approx(100 * curve[f"P@{k}"].to_numpy())
        assert ax.get_xlabel() == f"PSP@{k}, %"
        assert ax.get_ylabel() == f"P@{k}, %"
        assert ax.get_legend() is None


def test_weights_stand_beside_their_points(curve):
    for ax in report.tail_figure(curve).axes:
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        x, y = ax.lines[0].get_data()
        written = {float(text.get_text()): text.xy for text in ax.texts}
        assert len(written) >= 5
        assert 0.0 in written
        places = []
        for tail, place in written.items():
            at = curve["tail"].to_list().index(tail)
            assert place == (x[at], y[at])
            assert left < place[0] < right
            assert low < place[1] < high
            places.append([(place[0] - left) / (right - left), (place[1] - low) / (high - low)])
        gaps = np.abs(np.array(places)[:, None] - np.array(places)[None]).max(axis=2)
        assert gaps[~np.eye(len(places), dtype=bool)].min() >= 0.075 - 1e-12


def test_the_frame_ends_soon_after_the_best_of_the_tail(curve):
    ax = report.tail_figure(curve).axes[0]
    best = int(curve["PSP@1"].arg_max())
    low, _ = ax.get_ylim()
    assert low < 100 * curve["P@1"][best]
    assert low > 100 * curve["P@1"][-1]


def test_the_choice_is_marked(curve):
    for chosen in (0.6, 1.5):  # in the frame, wherever it is
        figure = report.tail_figure(curve, chosen=chosen)
        row = curve.filter(pl.col("tail") == chosen).row(0, named=True)
        for ax, k in zip(figure.axes, (1, 3, 5), strict=True):
            star = ax.lines[1]
            assert star.get_xdata() == pytest.approx([100 * row[f"PSP@{k}"]])
            assert star.get_ydata() == pytest.approx([100 * row[f"P@{k}"]])
            assert ax.get_ylim()[0] < 100 * row[f"P@{k}"] < ax.get_ylim()[1]
            assert ax.get_legend().get_texts()[0].get_text() == f"chosen: {chosen:g}"


def test_files_and_odd_curves(curve, tmp_path):
    report.save_figure(report.tail_figure(curve, chosen=0.5), tmp_path / "trade-off.svg")
    assert (tmp_path / "trade-off.svg").read_bytes().startswith(b"<?xml")
    one = report.tail_figure(curve[:1], chosen=0.0)
    report.save_figure(one, tmp_path / "one.png")
    with pytest.raises(ParameterError, match=r"no tail weight 0\.33"):
        report.tail_figure(curve, chosen=0.33)
    with pytest.raises(ParameterError, match="no P@k"):
        report.tail_figure(curve.select("tail"))
    with pytest.raises(ParameterError, match="no PSP@3"):
        report.tail_figure(curve.drop("PSP@3"))


def test_table(curve):
    screen = Console(width=100, file=io.StringIO())
    screen.print(report.tail_curve_table(curve, chosen=0.5, title="the trade-off"))
    lines = screen.file.getvalue().splitlines()
    assert lines[0] == "the trade-off"
    (marked,) = [line for line in lines if "chosen" in line]
    assert marked.split()[0] == "0.5"
    assert f"{100 * curve['P@1'][10]:.2f}" in marked
    assert report.tail_curve_table(curve).row_count == 31
    with pytest.raises(ParameterError):
        report.tail_curve_table(curve, chosen=7.0)
