"""The plot of F1 against the number of prototypes."""

from __future__ import annotations

import polars as pl
import pytest

from longtail.errors import ParameterError
from longtail.report import ratio_figure, save_figure

TABLE = pl.DataFrame(
    {
        "dataset": ["A $x$", "A $x$", "B", "B"],
        "ratio": [0.5, 0.1, 0.1, 0.5],
        "example": [0.4, 0.3, 0.2, 0.1],
        "macro": [0.2, 0.1, 0.1, 0.0],
    }
)


def test_a_panel_a_kind_and_a_line_a_data_set(tmp_path):
    figure = ratio_figure(TABLE, title="Prototypes")
    assert [ax.get_ylabel() for ax in figure.axes] == ["F1, example", "F1, macro"]
    first, second = figure.axes[0].lines
    assert first.get_xdata().tolist() == [0.1, 0.5]  # in order, whatever that of the rows
    assert first.get_ydata().tolist() == [0.3, 0.4]
    assert (first.get_label(), second.get_label()) == ("A $x$", "B")
    save_figure(figure, tmp_path / "ratio.svg")
    assert "A $x$" in (tmp_path / "ratio.svg").read_text("utf-8")


def test_what_cannot_be_drawn():
    with pytest.raises(ParameterError, match="nothing to draw"):
        ratio_figure(TABLE.drop("example", "macro"))
    with pytest.raises(ParameterError, match="nothing to draw"):
        ratio_figure(TABLE.head(0))
    with pytest.raises(ParameterError, match="no ratio; it has dataset, example"):
        ratio_figure(TABLE.drop("ratio"))
