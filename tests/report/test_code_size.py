"""The table and the plot of code sizes show the settings, the best of them and the choice."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from longtail import report
from longtail.errors import ParameterError
from longtail.methods.codes.choosing import choose_clusters, code_size_curve, lower_envelope
from longtail.report.code_size import code_size_figure, code_size_table


@pytest.fixture(scope="module", name="Y")
def label_matrix():
    return (np.random.default_rng(0).random((200, 40)) < 0.05).astype(int)


@pytest.fixture(scope="module")
def curve(Y):
    return code_size_curve(Y, numbers_of_hubs=[0, 5, 10, 20], max_cluster_sizes=[1, 2, 5, 10])


def lines_of(table):
    screen = Console(width=100, file=io.StringIO())
    screen.print(table)
    return screen.file.getvalue().splitlines()


def test_a_line_for_each_number_of_hubs_and_one_for_the_best(curve):
    (ax,) = code_size_figure(curve, title="tiny $5\n").axes
    *by_hubs, best = ax.lines
    for line, n_hubs in zip(by_hubs, (0, 5, 10, 20), strict=True):
        rows = curve.filter(pl.col("n_hubs") == n_hubs).sort("code_size")
        assert line.get_label() == str(n_hubs)
        assert line.get_xdata().tolist() == rows["code_size"].to_list()
        assert line.get_ydata() == pytest.approx(100 * rows["uhl"].to_numpy())
    envelope = lower_envelope(curve)
    assert best.get_xdata().tolist() == envelope["code_size"].to_list()
    assert best.get_ydata() == pytest.approx(100 * envelope["uhl"].to_numpy())
    assert best.get_drawstyle() == "steps-post"


def test_the_choice_is_marked(Y):
    choice = choose_clusters(Y, 30)
    setting = (choice.n_hubs, choice.max_cluster_size)
    (ax,) = code_size_figure(choice.curve, chosen=setting).axes
    star = ax.lines[-1]
    assert star.get_xdata().tolist() == [choice.code_size]
    assert star.get_ydata() == pytest.approx([100 * choice.uhl])
    (marked,) = [
        line for line in lines_of(code_size_table(choice.curve, chosen=setting)) if "chosen" in line
    ]
    assert marked.split()[:2] == [str(choice.code_size), str(choice.n_hubs)]


def test_a_chosen_setting_off_the_best_curve_is_in_the_table(curve):
    envelope = lower_envelope(curve)
    off = curve.join(envelope, on=["n_hubs", "max_cluster_size"], how="anti").row(0, named=True)
    setting = (off["n_hubs"], off["max_cluster_size"])
    assert code_size_table(curve).row_count == len(envelope)
    assert code_size_table(curve, chosen=setting).row_count == len(envelope) + 1
    assert code_size_table(curve, chosen=setting, every=True).row_count == len(curve)


def test_table(curve):
    lines = lines_of(code_size_table(curve, title="what is lost"))
    assert lines[0] == "what is lost"
    sizes = [int(line.split()[0]) for line in lines if line.strip()[:1].isdigit()]
    assert sizes == lower_envelope(curve)["code_size"].to_list()


def test_files_and_odd_curves(curve, tmp_path):
    report.save_figure(code_size_figure(curve, chosen=(0, 5)), tmp_path / "sizes.svg")
    assert (tmp_path / "sizes.svg").read_bytes().startswith(b"<?xml")
    report.save_figure(code_size_figure(curve[:1]), tmp_path / "one.png")
    report.save_figure(code_size_figure(curve[:0]), tmp_path / "none.png")
    with pytest.raises(ParameterError, match="7 hubs and clusters of 3"):
        code_size_figure(curve, chosen=(7, 3))
    with pytest.raises(ParameterError, match="mark one that it has"):
        code_size_table(curve, chosen=(7, 3))
