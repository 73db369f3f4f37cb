"""The page of a comparison: everything on it, safe, whole, and in need of nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from longtail import report
from longtail.choosing import Comparison, Result, compare
from longtail.data import Dataset, make_longtail
from longtail.errors import MissingExtraError, ParameterError
from longtail.metrics import FREQUENCY_BINS
from tests.report.test_comparison import COMMON, result

HOSTILE = '<script>alert("1")</script>&amp;\x1b[2J\n<!--'
SHOWN = "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;&amp;amp;\\x1b[2J &lt;!--"


class Reader(HTMLParser):
    """Tags that are open, all that were, and the rows of all tables by caption."""

    VOID = ("meta", "link")

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.tables = [], [], [], {}
        self.references = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            self.references += re.findall(r"url\(#([^)]*)\)", value or "")
            if name == "href" and value.startswith("#"):
                self.references.append(value[1:])
        if tag == "caption":
            self.caption = ""
        if tag == "tr":
            self.row = []
        if tag in ("th", "td"):
            self.row.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "caption":
            self.tables[self.caption] = []
        if tag == "tr":
            self.tables[self.caption].append(self.row)

    def handle_data(self, data):
        if "style" not in self.open:
            self.words += data
        if self.open and self.open[-1] == "caption":
            self.caption += data
        if self.open and self.open[-1] in ("th", "td"):
            self.row[-1] += data


@pytest.fixture(scope="module")
def found():
    train, test = make_longtail(600, 300, 60, random_state=0).split(random_state=0)
    methods = {"dismec": "dismec", "br": "br", "ova": "ova", "mrb": "mrb"}
    return compare(train, test, methods, curves=True)


@pytest.fixture(scope="module")
def read(found):
    return Reader(report.comparison_html(found, title="Tiny", command="longtail compare x"))


class TestContents:
    def test_is_well_formed_and_alone(self, read):
        assert read.open == []
        names = {tag for tag, _ in read.tags}
        assert not names & {"script", "img", "iframe", "object", "embed", "base", "form", "image"}
        for _, attributes in read.tags:
            assert not any(name.startswith("on") for name in attributes)
            for name in ("src", "href", "xlink:href"):
                assert attributes.get(name, "#").startswith(("#", "data:,"))
        policies = [each["content"] for _, each in read.tags if "http-equiv" in each]
        assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
        assert len(read.ids) == len(set(read.ids))
        assert read.references
        assert set(read.references) <= set(read.ids)

    def test_plots_say_what_they_show(self, read):
        plots = [attributes for tag, attributes in read.tags if tag == "svg"]
        assert len(plots) == 7
        assert len({plot["aria-label"] for plot in plots}) == 7
        for plot in plots:
            assert plot["role"] == "img"
            assert plot["viewbox"]
        for words in ("training time, s", "model size, MB", "PSP@1, %", "points with the label"):
            assert words in read.words

    def test_results_and_the_best_of_them(self, found, read):
        (caption,) = [name for name in read.tables if name.startswith("Precision")]
        head, *rows = read.tables[caption]
        table = report.ComparisonTable.main([], found.common.k)
        assert head == ["method", *table.columns.values()]
        assert rows == [[each.name, *table.cells(each)] for each in found.results]
        page = report.comparison_html(found)
        part = page.partition("<caption>Precision")[2].partition("</table>")[0]
        best = found.best()
        for each in found.results:
            cells = re.search(rf'<th scope="row">{each.name}</th>(.*)</tr>', part)[1]
            marks = [kind == ' class="best"' for kind in re.findall(r"<td([^>]*)>", cells)]
            assert marks == [each.name in best[measure] for measure in table.columns]

    def test_curves(self, found, read):
        (caption,) = [name for name in read.tables if "at some tail weights" in name]
        groups, head, *rows = read.tables[caption]
        assert groups == ["", "weight 0", "weight 0.5", "weight 1", "weight 2"]
        assert head == ["method", *["P@1", "PSP@1"] * 4]
        for row, each in zip(rows, found.results, strict=True):
            curve = each.tail_curve.filter(pl.col("tail").is_in([0.0, 0.5, 1.0, 2.0]))
            wanted = [f"{100 * v:.2f}" for r in curve.rows() for v in (r[1], r[4])]
            assert row == [each.name, *wanted]

    def test_bins_and_their_borders(self, found, read):
        (caption,) = [name for name in read.tables if name.startswith("R@5")]
        groups, _, *rows = read.tables[caption]
        assert groups == ["", "tail, 1-9 points", "torso, 10-99 points", "head, 100+ points"]
        assert list(FREQUENCY_BINS.values()) == [0, 1, 10, 100]
        for row, each in zip(rows, found.results, strict=True):
            bins = each.by_frequency.rows(named=True)[1:]
            wanted = [b[m] for b in bins for m in ("R@5", "P@5")]
            assert row[1:] == ["–" if v is None else f"{100 * v:.2f}" for v in wanted]
        labels = (found.common.label_counts >= 100).sum()
        assert f"head: 100+ training points; {labels} labels" in read.words

    def test_data_and_versions(self, found, read):
        facts = dict(read.tables["Sizes, and the tail of the training labels."])
        assert facts["Training points"] == "450"
        assert facts["Gini index"] == f"{found.common.label_tail.gini:.4g}"
        made = dict(read.tables["Date, versions and machine."])
        assert "numpy" in made["Versions"]
        assert "longtail compare x" in read.words


class TestOddComparisons:
    def test_nothing_finished(self):
        failed = Result("a", "br", {}, failure="no luck")
        read = Reader(report.comparison_html(Comparison(COMMON, [failed]), interrupted="b"))
        assert "No method finished." in read.words
        assert "Interrupted during b: 1 method was through before" in read.words
        assert read.tables["Methods without a result, and why."][1] == ["a", "no luck"]
        assert "svg" not in dict(read.tags)
        assert Reader(report.comparison_html(Comparison(COMMON))).open == []

    def test_one_result_is_not_called_the_best(self):
        page = report.comparison_html(Comparison(COMMON, [result("a")]))
        assert 'class="best"' not in page
        assert "Best:" not in page

    def test_what_was_not_measured_is_not_shown(self, found):
        bare = [replace(each, tail_curve=None, by_frequency=None) for each in found.results]
        read = Reader(report.comparison_html(Comparison(COMMON, bare)))
        assert "tail weight would bring" not in read.words
        assert "Head, torso" not in read.words
        assert sum(tag == "svg" for tag, _ in read.tags) == 3
        some = [bare[0], *found.results[1:]]
        assert (
            "Not ranked anew: dismec."
            in Reader(report.comparison_html(Comparison(found.common, some))).words
        )

    def test_other_bins(self):
        """A set without a frequent label, and one whose test part has a label of its own."""
        train = Dataset(np.eye(4), [("sea",), ("sun",), ("sea",), ("sun",)])
        test = Dataset(np.eye(4)[:3], [("sun",), ("sun",), ("snow",)])
        read = Reader(report.comparison_html(compare(train, test, ["dismec"], curves=True, k=[1])))
        (caption,) = [name for name in read.tables if name.startswith("R@1")]
        assert read.tables[caption][0] == ["", "tail, 1-9 points"]
        assert "head: 100+ training points; 0 labels, 0 times true" in read.words
        assert "1 label is in the test part only" in read.words


class TestHostileNames:
    def test_names_are_text(self, found):
        """Of the data, the methods, their parameters, failures and bins, and the command."""
        bins = found.results[0].by_frequency.with_columns(bin=pl.lit(HOSTILE) + pl.col("bin"))
        results = [
            replace(each, name=f"{HOSTILE}{number}", parameters={HOSTILE: HOSTILE}, by_frequency=b)
            for number, (each, b) in enumerate(
                zip(found.results, [bins] * len(found.results), strict=True)
            )
        ]
        failed = Result(HOSTILE, HOSTILE, {}, failure=f"no label {HOSTILE}")
        page = report.comparison_html(
            Comparison(replace(found.common, data=HOSTILE), [*results, failed]),
            command=HOSTILE,
            interrupted=HOSTILE,
        )
        assert "<script" not in page.lower()
        assert "<!--" not in page
        assert "\x1b" not in page
        read = Reader(page)
        assert read.open == []
        assert sum(tag == "svg" for tag, _ in read.tags) == 7
        assert f"<title>Methods compared on {SHOWN}</title>" in page
        assert f"<code>{SHOWN}</code>" in page
        assert read.words.count('<script>alert("1")</script>&amp;\\x1b[2J <!--') > 40

    def test_names_that_matplotlib_would_read(self, found):
        names = ["$\\frac$", "_hidden", "a$b$c", "^"]
        results = [
            replace(each, name=name) for each, name in zip(found.results, names, strict=True)
        ]
        page = report.comparison_html(Comparison(found.common, results))
        drawn = re.findall(r"<text [^>]*>([^<]*)</text>", page)
        for name in names:  # against time, size and tail, among the curves and the bins
            assert drawn.count(name) == 5

    def test_half_a_surrogate_pair_can_be_written(self, tmp_path):
        page = report.comparison_html(Comparison(COMMON, [result("a\udc80b")]))
        report.save_page(page, tmp_path / "a.html")
        assert "a\\udc80b" in (tmp_path / "a.html").read_text("utf-8")


class TestWriting:
    def test_the_same_every_time(self, found):
        """But for the date, so that two reports can be compared."""
        one, two = (
            re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "", report.comparison_html(found))
            for _ in range(2)
        )
        assert one == two

    def test_whole_or_not_at_all(self, tmp_path):
        place = tmp_path / "a.HTML"
        report.save_page("old", place)
        with pytest.raises(UnicodeEncodeError):
            report.save_page("new\udc80", place)
        assert place.read_text() == "old"
        assert list(tmp_path.iterdir()) == [place]

    def test_odd_targets(self, tmp_path, monkeypatch):
        with pytest.raises(ParameterError, match="reports are written as html"):
            report.save_page("", tmp_path / "a.txt")
        (tmp_path / "a.html").mkdir()
        with pytest.raises(ParameterError, match="is a folder"):
            report.save_page("", tmp_path / "a.html")
        for package, name in (("jinja2", "jinja2"), ("matplotlib.figure", "matplotlib")):
            monkeypatch.setitem(__import__("sys").modules, package, None)
            with pytest.raises(MissingExtraError, match=name):
                report.check_page_target("a.html")
