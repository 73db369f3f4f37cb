"""Tables and plots of comparisons: aligned, safe, readable."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from longtail import report
from longtail.choosing import Comparison, Result, Setup
from longtail.errors import ParameterError
from longtail.metrics import Evaluation
from longtail.papers import Cell, FigureNote, Reproduced, find_paper

COMMON = Setup("tiny", 60, 20, 8, 30, 0, 0.1, (1, 3))


def result(name, p=0.5, psp=0.3, seconds=1.0, size=1_000_000, **others):
    values = {"P@1": p, "P@3": p / 2, "PSP@1": psp, "PSP@3": psp, "f1_micro": p, **others}
    return Result(name, "br", {}, Evaluation(values), seconds, 0.01, 20, size)


class TestTables:
    def test_columns_are_aligned(self):
        results = [
            result("a", seconds=1234.5, size=9),
            result("long-name", 1.0, seconds=0.001),
            result("b", seconds=123.4, psp=float("nan"), size=None),
        ]
        table = report.ComparisonTable.main([each.name for each in results], (1, 3))
        head, rule, *rows = table.text(results).splitlines()
        assert len({len(line) for line in (head, rule, *rows)}) == 1
        assert head.split() == [
            "method", "P@1", "P@3", "PSP@1", "PSP@3", "train", "s", "predict", "s", "ms/point",
            "MB", "peak", "MB",
        ]  # fmt: skip
        assert rows[0].split() == [
            "a", "50.00", "25.00", "30.00", "30.00", "1,234", "0.01", "0.50", "9e-06", "–",
        ]  # fmt: skip
        assert rows[1].split()[1:3] == ["100.00", "50.00"]
        assert rows[2].split()[3:] == ["–", "–", "123.4", "0.01", "0.50", "–", "–"]

    def test_a_failure_says_why_on_one_line(self):
        table = report.ComparisonTable.main(["a"], (1,))
        line = table.row(Result("a", "br", {}, failure="two\nlines \x1b[31m"))
        assert line == "a       two lines \\x1b[31m"

    def test_other_tables(self):
        found = result("a", **{"nDCG@3": 0.25, "C@1": 0.125, "hamming_loss": 0.000123})
        assert "25.00" in report.ComparisonTable.rankings(["a"], (1, 3)).row(found)
        assert "nDCG@1" not in report.ComparisonTable.rankings(["a"], (1, 3)).head()
        row = report.ComparisonTable.sets(["a"]).row(found)
        assert row.split()[-1] == "0.0123"

    def test_who_is_best(self):
        one, two = result("a", p=0.6, seconds=2.0), result("b", psp=0.4, seconds=2.0, size=5)
        line = report.best_line(Comparison(COMMON, [one, two]))
        assert line == (
            "Best: a at P@1/3, F1 micro; b at PSP@1/3, model size; all equal at training time, "
            "prediction time."
        )
        third = result("c", p=0.6, psp=0.1, seconds=3.0)
        assert "a and c at P@1/3" in report.best_line(Comparison(COMMON, [one, two, third]))
        assert report.best_line(Comparison(COMMON, [one])) is None
        failed = Result("d", "br", {}, failure="no luck")
        assert report.best_line(Comparison(COMMON, [one, failed])) is None


class TestPlot:
    @staticmethod
    def labels(figure):
        figure.draw_without_rendering()
        return [[text for text in ax.texts if text.get_text()] for ax in figure.axes]

    @staticmethod
    def drawn(ax):
        return {
            (float(line.get_xdata()[0]), round(float(line.get_ydata()[0]), 6))
            for line in ax.lines
            if len(line.get_xdata()) == 1
        }

    def test_many_methods_have_one_point_each(self):
        results = [result(f"m{i}", 0.5 + i / 50, 0.2, 1.0 + i) for i in range(11)]
        time = report.comparison_figure(Comparison(COMMON, results), against=["time"]).axes[0]
        assert self.drawn(time) == {(1.0 + i, round(50 + 2.0 * i, 6)) for i in range(11)}
        assert time.get_ylabel() == "P@1, %"

    def test_unknown_panels_are_refused(self):
        for against in (["colour"], []):
            with pytest.raises(ParameterError, match="against time, size, tail"):
                report.comparison_figure(Comparison(COMMON, [result("a")]), against=against)

    @pytest.mark.parametrize("n", [1, 2, 8, 14])
    def test_names_do_not_overlap(self, n):
        """Points that nearly coincide in every respect, with long names."""
        from matplotlib.text import Text

        rng = np.random.default_rng(n)
        results = [
            result(
                f"some-method-{i}",
                p=0.8 + 0.02 * rng.random(),
                psp=0.3 + 0.02 * rng.random(),
                seconds=30 + rng.random(),
                size=int(2_000_000 + 100_000 * rng.random()),
            )
            for i in range(n)
        ]
        figure = report.comparison_figure(Comparison(COMMON, results), title="all at one place")
        for ax, names in zip(figure.axes, self.labels(figure), strict=True):
            assert {text.get_text() for text in names} == {each.name for each in results}
            boxes = [Text.get_window_extent(text) for text in names]
            assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
            for box in boxes:
                assert ax.bbox.x0 <= box.x0
                assert box.x1 <= ax.bbox.x1

    def test_points_are_where_they_belong(self):
        results = [result("a", 0.8, 0.4, 2.0, 3_000_000), result("b", 0.7, 0.5, 20.0, 1_000)]
        figure = report.comparison_figure(Comparison(COMMON, results))
        *costly, tail = figure.axes
        for ax, costs in zip(costly, ([2.0, 20.0], [3.0, 0.001]), strict=True):
            assert ax.get_xscale() == "log"
            assert ax.get_xlabel()
            assert self.drawn(ax) == {
                (costs[0], 80.0), (costs[0], 40.0), (costs[1], 70.0), (costs[1], 50.0),
            }  # fmt: skip
        assert self.drawn(tail) == {(40.0, 80.0), (50.0, 70.0)}
        assert (tail.get_xlabel(), tail.get_ylabel()) == ("PSP@1, %", "P@1, %")
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["P@1", "PSP@1"]

    def test_what_is_not_known_is_left_out(self, tmp_path):
        results = [
            result("no size", size=None),
            result("no tail", psp=float("nan")),
            Result("failed", "br", {}, failure="no luck"),
        ]
        figure = report.comparison_figure(Comparison(COMMON, results), title="$x [y]\n")
        time, size, tail = self.labels(figure)
        assert [text.get_text() for text in tail] == ["no size"]
        assert {text.get_text() for text in time} == {"no size", "no tail"}
        assert [text.get_text() for text in size] == ["no tail"]
        for name in ("a.png", "a.svg"):
            report.save_figure(figure, tmp_path / name)
        empty = report.comparison_figure(Comparison(COMMON, []))
        report.save_figure(empty, tmp_path / "empty.png")


class TestReproduction:
    def test_contradictions_are_marked_and_explained(self):
        cells = (
            Cell("4", "PSnDCG@1", 63.9, 61.0, "must be equal"),
            Cell("4", "PSP@1", 63.6, 61.0, "must be equal"),
            Cell("", "C@1", None, 12.5),
        )
        text = report.reproduced_text(
            Reproduced("Mediamill", "CCD-L1", "", result("CCD-L1"), None, cells)
        )
        lines = text.splitlines()
        assert lines[0].startswith(
            "CCD-L1: trained in 1.0 s, 20 points predicted in 0.01 s, 1.0 MB"
        )
        assert lines[3].split() == ["Table", "4", "PSnDCG", "63.9*", "61.00", "-2.90"]
        assert lines[5].split() == ["C", "–", "12.50"]
        assert lines[-1] == "* PSnDCG@1, PSP@1 of the paper must be equal"

    def test_what_is_left_out(self):
        row = Reproduced("Bibtex", "SLEEC", "", None, "not built yet", ())
        assert report.reproduced_text(row) == "SLEEC: not built yet"

    def test_metrics_without_ranks(self):
        row = Reproduced(
            "Scene", "CBM", "", result("CBM"), None, (Cell("2", "subset_accuracy", 69.7, 70.0),)
        )
        assert report.reproduced_text(row).splitlines()[-1].split()[-3:] == [
            "69.7", "70.00", "+0.30",
        ]  # fmt: skip

    def test_notes(self):
        notes = [
            FigureNote("odd", table="4", dataset="Bibtex", method="ProXML"),
            FigureNote("all odd"),
        ]
        assert report.notes_text(notes) == (
            "Note on Table 4, Bibtex, ProXML: odd.\nNote on the figures: all odd."
        )

    def test_means_and_deviations(self):
        cells = (
            Cell("2", "accuracy", 0.5, 0.51234, None, (0.5, 0.52468), 3),
            Cell("", "maf1", None, 0.25, None, (0.25, 0.25), 3),
        )
        mean = replace(result("OVA"), peak_bytes=123_456_789, n_parameters=9_876_543)
        row = Reproduced("WordNet-100", "OVA", "", mean, None, cells, (), (0, 1))
        lines = report.reproduced_text(row, parameters=True).splitlines()
        assert lines == [
            "OVA: trained in 1.0 s (peak 123.5 MB), 20 points predicted in 0.01 s, 1.0 MB, "
            "9,876,543 parameters",
            "                  paper            ours    diff",
            "Table 2 accuracy  0.500 0.5123 ± 0.0175 +0.0123",
            "maf1                  – 0.2500 ± 0.0000",
        ]
        assert "parameters" not in report.reproduced_text(row)


class TestGrowth:
    @staticmethod
    def rows():
        def row(method, n, values, seconds):
            results = tuple(result(method, maf1=v, seconds=seconds) for v in values)
            seeds = tuple(range(len(values)))
            return Reproduced(
                f"WordNet-{n}", method, "", results[0], None, (), results * (len(values) > 1), seeds
            )

        return [
            row("mRb", 100, (0.5, 0.6), 2.0),
            row("OVA", 100, (0.4,), 1.0),
            Reproduced("WordNet-500", "OVO", "", None, "not built yet", ()),
            row("mRb", 500, (0.3, 0.3), 20.0),
            row("OVA", 500, (0.1,), 50.0),
            replace(row("OVA", 1000, (0.9,), 50.0), variant="tail weight 1"),
        ]

    def test_one_line_a_method(self, tmp_path):
        table = report.growth_table(find_paper("mrb"), self.rows())
        assert table.select("method", "classes", "seed", "maf1").rows() == [
            ("mRb", 100, 0, 0.5), ("mRb", 100, 1, 0.6), ("OVA", 100, 0, 0.4),
            ("mRb", 500, 0, 0.3), ("mRb", 500, 1, 0.3), ("OVA", 500, 0, 0.1),
        ]  # fmt: skip
        figure = report.growth_figure(table, title="$a")
        maf1, seconds = figure.axes
        drawn = {line.get_label(): line for line in maf1.lines}
        assert drawn["mRb"].get_xdata().tolist() == [100, 500]
        assert drawn["mRb"].get_ydata().tolist() == pytest.approx([55, 30])
        assert drawn["OVA"].get_ydata().tolist() == pytest.approx([40, 10])
        lines = [line for line in seconds.lines if line.get_label() in ("mRb", "OVA")]
        assert [line.get_ydata().tolist() for line in lines] == [[2, 20], [1, 50]]
        spread = maf1.containers[0].lines[2][0].get_segments()  # of mRb, which has two seeds
        assert spread[0][:, 1] == pytest.approx([55 - 50**0.5, 55 + 50**0.5])
        assert seconds.get_yscale() == "log"
        report.save_figure(figure, tmp_path / "a.png")

    def test_refused(self):
        table = report.growth_table(find_paper("mrb"), self.rows())
        with pytest.raises(ParameterError, match="has no jaccard"):
            report.growth_figure(table, measures=["jaccard"])
        with pytest.raises(ParameterError, match="nothing to draw"):
            report.growth_figure(report.growth_table(find_paper("mrb"), []))
