"""The plots of a mixture show its components, the correlations and the curve."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from longtail import report
from longtail.errors import InputError, ParameterError
from longtail.report import component_curve_figure, components_figure

LABELS = ["sky", "lake $x$", "reflection", "sunset\n"]
WEIGHTS = np.array([0.1, 0.5, 0.25, 0.15])
CHANCES = np.array(
    [
        [0.9, 0.01, 0.02, 0.3],
        [0.2, 0.97, 0.6, 0.04],
        [0.5, 0.5, 0.0, 0.99],
        [0.01, 0.0, 0.02, 0.03],
    ]
)


def bars_of(ax):
    names = [text.get_text() for text in ax.get_yticklabels()]
    return dict(zip(names, (bar.get_width() for bar in ax.patches), strict=True))


def test_the_heaviest_components_come_first_with_their_likely_labels():
    figure = components_figure(WEIGHTS, CHANCES, LABELS, n_components=3, title="a lake $5\n")
    assert [ax.get_title() for ax in figure.axes] == ["π = 0.5", "π = 0.25", "π = 0.15"]
    first, second, third = map(bars_of, figure.axes)
    assert first == {"lake $x$": 0.97, "reflection": 0.6, "sky": 0.2}
    assert list(first) == ["lake $x$", "reflection", "sky"]  # the most probable on top
    assert second == {"sunset": 0.99, "sky": 0.5, "lake $x$": 0.5}
    assert third == {}
    assert figure.axes[0].yaxis_inverted()
    assert [text.get_text() for text in figure.axes[2].texts] == ["no label"]
    every = components_figure(WEIGHTS, CHANCES, LABELS, least=0.0)
    assert [len(bars_of(ax)) for ax in every.axes] == [4, 4, 4, 4]


def test_fewer_components_than_asked_for():
    figure = components_figure(WEIGHTS[:2], CHANCES[:2], LABELS, n_components=9)
    assert [ax.get_title() for ax in figure.axes] == ["π = 0.5", "π = 0.1"]


def test_correlations_are_one_more_panel():
    correlations = np.array([[1.0, 0.5], [0.5, 1.0]])
    figure = components_figure([1.0], [[0.9, 0.4]], LABELS[:2], correlations=correlations)
    panel = figure.axes[-1]
    assert len(figure.axes) == 2
    assert [text.get_text() for text in panel.texts] == ["0.50", "0.50"]
    shown = panel.images[0].get_array()
    assert np.ma.getmaskarray(shown).tolist() == [[True, False], [False, True]]
    assert panel.images[0].get_clim() == (-1, 1)
    assert correlations[0, 0] == 1.0  # not written to


@pytest.fixture
def table():
    return pl.DataFrame(
        {
            "method": ["LR", "LR", "GB", "LR"],
            "n_components": [10, 1, 5, 5],
            "subset_accuracy": [0.28, 0.25, 0.26, 0.27],
        }
    )


def test_a_curve_a_method_and_a_line_for_others(table):
    figure = component_curve_figure(table, others={"br": 0.24, "powerset": 0.3}, title="tiny")
    (ax,) = figure.axes
    logistic, boosted, *flat = ax.lines
    assert logistic.get_xdata().tolist() == [1, 5, 10]
    assert logistic.get_ydata() == pytest.approx([25, 27, 28])
    assert boosted.get_xdata().tolist() == [5]
    assert [line.get_ydata()[0] for line in flat] == pytest.approx([24, 30])
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["LR", "GB", "br", "powerset"]
    assert ax.get_ylabel() == "subset accuracy, %"
    alone = component_curve_figure(table.filter(pl.col("method") == "LR").drop("method"))
    assert len(alone.axes[0].lines) == 1


def test_files(table, tmp_path):
    correlations = np.eye(4)
    figure = components_figure(WEIGHTS, CHANCES, LABELS, correlations=correlations)
    report.save_figure(figure, tmp_path / "components.svg")
    assert (tmp_path / "components.svg").read_bytes().startswith(b"<?xml")
    odd = table.with_columns(method=pl.lit("$\\frac"))
    report.save_figure(component_curve_figure(odd, others={"$\\x": 0.2}), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_odd_input_is_refused(table):
    with pytest.raises(InputError, match="do not fit 3 labels"):
        components_figure(WEIGHTS, CHANCES, LABELS[:3])
    with pytest.raises(InputError, match="do not fit 4 labels"):
        components_figure(WEIGHTS, CHANCES, LABELS, correlations=np.eye(3))
    with pytest.raises(InputError):
        components_figure([], np.zeros((0, 4)), LABELS)
    with pytest.raises(ParameterError, match="least"):
        components_figure(WEIGHTS, CHANCES, LABELS, least=2.0)
    with pytest.raises(ParameterError, match="n_components"):
        components_figure(WEIGHTS, CHANCES, LABELS, n_components=0)
    with pytest.raises(ParameterError, match="no jaccard"):
        component_curve_figure(table, measure="jaccard")
    with pytest.raises(ParameterError, match="no n_components"):
        component_curve_figure(table.drop("n_components"))
