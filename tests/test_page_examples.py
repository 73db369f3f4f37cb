"""The Python on the other pages runs as it stands, block after block, and does what is said of it.

A page may speak of `X`, `Y` or `texts` without making them; such names are given here, small. What
a page says its code prints or finds is checked below it. Blocks that read benchmark sets are left
out, and so are the pages that other tests run: `test_pages` compares what is printed,
`test_readers_docs` and `test_architecture_page` have one page each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail.data import Dataset, load_api_docs, make_longtail, save
from longtail.labels import propensities
from longtail.methods.linear import DiSMEC
from tests.conftest import ROOT
from tests.pages import python_blocks, versions
from tests.test_pages import PAGES

ELSEWHERE = {*PAGES, "architecture", "formats"}


@dataclass
class Ran:
    """What a page leaves behind: its names, what it printed, its folder."""

    names: dict[str, Any]
    printed: str
    folder: Path

    def __getattr__(self, name: str) -> Any:
        return self.names[name]


def sea_and_snow() -> tuple[list[str], list[list[str]]]:
    texts = ["waves on the beach", "a boat on the waves", "skis in deep snow", "snow on the beach"]
    return texts * 3, [["sea"], ["sea", "boat"], ["snow"], ["sea", "snow"]] * 3


def index(folder):
    texts, labels = sea_and_snow()
    return {"texts": texts, "labels": labels}


def features(folder):
    texts, _ = sea_and_snow()
    counts = sp.csr_array(np.array([[9.0, 16.0, 0.0], [0.0, 0.0, 4.0]], np.float32))
    return {"train_texts": texts, "new_texts": ["waves and whales"], "X_train": counts}


def labels(folder):
    Y = make_longtail(200, 100, 30, random_state=0).Y
    return {"Y": Y, "Y_train": Y, "counts": np.array([1, 20, 400])}


def metrics(folder):
    train, test = make_longtail(300, 100, 30, random_state=0).split(test_size=0.3, random_state=0)
    model = DiSMEC().fit(train.X, train.Y)
    return {
        "model": model,
        "scores": model.predict_topk(test.X, 5),
        "X_test": test.X,
        "Y_train": train.Y,
        "Y_test": test.Y,
    }


def two_matrices(folder):
    made = make_longtail(150, 80, 12, random_state=0)
    return {"X": made.X, "Y": made.Y, "targets": made.Y}


def one_vs_rest(folder):
    """With a folder of the name and the layout that the page loads, small."""
    made = make_longtail(200, 40, 12, random_state=0)
    names = ["fisheries policy", *(f"label {number}" for number in range(1, 12))]
    made = Dataset(made.X, made.Y, label_names=names)
    (folder / "eurlex-4k").mkdir()
    train, test = made.split(test_size=0.2, random_state=0)
    save(train, folder / "eurlex-4k" / "train.txt")
    save(test, folder / "eurlex-4k" / "test.txt")
    words = np.array([f"word {column}" for column in range(40)])
    return {"X": made.X, "Y": made.Y, "X_new": made.X[:3], "x": made.X[[0]], "names": words}


def model_folder(folder):
    made = make_longtail(60, 40, 12, random_state=0)
    return {"model": DiSMEC(C=2.0).fit(made.X, made.Y)}


GIVEN = {
    "index": index,
    "features": features,
    "labels": labels,
    "metrics": metrics,
    "certificate": two_matrices,
    "solvers": two_matrices,
    "one-vs-rest": one_vs_rest,
    "model-folder": model_folder,
}


class Checks:
    """What the pages say of their code, each in the method that has the page's name."""

    @staticmethod
    def adding_labels(ran):
        assert ran.printed == "58\n"
        assert longtail.load(ran.folder / "model").classes_.tolist()[-2:] == [3, 7]

    @staticmethod
    def builtin_data(ran):
        if builtin_data_is_as_described():
            assert "5,046 points, texts, 1,385 labels" in ran.printed
            assert "5046 1385 3.05" in ran.printed
            assert "0.618" in ran.printed
        assert ran.data.X.shape == (45_000, 25_000)
        assert ran.data.Y.shape == (45_000, 20_000)
        assert ran.data.Y.nnz == 5 * 45_000
        assert abs(ran.data.X.nnz / 45_000 - 34) < 1

    @staticmethod
    def certificate(ran):
        assert re.search(r"better.*equal.*worse", ran.printed, flags=re.S)

    @staticmethod
    def codes(ran):
        assert "bits:" in ran.printed
        if builtin_data_is_as_described():
            assert ran.model.code_.shape[1] == 96
            assert np.count_nonzero(ran.data.Y[:300].sum(axis=0)) == 207

    @staticmethod
    def comparing(ran):
        assert ran.found.table()["failure"].null_count() == 3
        assert ran.found.best()["PSP@1"] == ["dismec"]
        written = (ran.folder / "compare.html").read_text("utf-8")
        assert "<h1>Three taggers</h1>" in written
        assert "What a tail weight would bring" in written

    @staticmethod
    def solvers(ran):
        assert isinstance(ran.fit.weights, sp.csr_array)
        assert ran.fit.weights.shape == (ran.data.X.shape[1] + 1, ran.data.Y.shape[1])
        assert {"objective", "gap", "iterations", "seconds"} <= set(ran.fit.table().columns)

    @staticmethod
    def features(ran):
        for X in (ran.X, ran.X_new):
            assert isinstance(X, sp.csr_array)
            assert X.dtype == np.float32
        assert ran.X.multiply(ran.X).sum(axis=1) == pytest.approx(1)
        words = ran.features.get_feature_names_out()
        assert set(words[ran.X_new.indices]) == {"waves"}

    @staticmethod
    def index(ran):
        (((name, score), *_),) = longtail.load("tagger").tag(["the waves"], k=3)
        assert (name, score > 0) == ("sea", True)

    @staticmethod
    def joint(ran):
        assert "of the sets are right" in ran.printed
        assert "C = 1e+06: network" in ran.printed

    @staticmethod
    def labels(ran):
        explicit = propensities(ran.Y_train, propensity_constants=(0.55, 1.5))
        assert propensities(ran.Y_train).tolist() == explicit.tolist()
        assert ran.statistics.table().columns == ["statistic", "value"]

    @staticmethod
    def metrics(ran):
        assert ran.result.table().columns == ["metric", "value"]
        assert 0 < ran.result["P@1"] == ran.result.to_dict()["P@1"]

    @staticmethod
    def mixtures(ran):
        assert "is the best possible" in ran.printed
        assert "components:" in ran.printed
        assert abs(ran.right.mean() - ran.data.upper_bound) < 0.05

    @staticmethod
    def model_folder(ran):
        assert ran.read_meta("tagger").meta == {"trained on": "api-docs"}
        assert ran.model.C == 2.0
        ran.write("scaler", ran.Scaler(0.5))
        assert ran.read("scaler").scale == 0.5

    @staticmethod
    def neighbors(ran):
        assert ran.model.n_neighbors_ in (1, 5, 10, 20)
        assert len(ran.metric.embedded_) == 300

    @staticmethod
    def one_vs_rest(ran):
        number = r"[+-]\d+\.\d{3}"
        assert re.match(
            rf"fisheries policy: {number} = bias {number}, word \d+ {number}, ", ran.printed
        )
        assert ran.why.table().columns == ["feature", "value", "weight", "contribution"]
        assert ran.scores.shape == ran.test.Y.shape

    @staticmethod
    def pairs(ran):
        assert "runner-up" in ran.printed

    @staticmethod
    def prototypes(ran):
        assert "120 prototypes of 600 points" in ran.printed

    @staticmethod
    def which_method(ran):
        assert ran.printed.startswith(ran.advice.method)
        assert set(ran.advice.table().columns) >= {"method", "memory", "time"}


def builtin_data_is_as_described() -> bool:
    """Whether the built-in data is made of the versions that its page and others speak of."""
    page = (ROOT / "docs" / "builtin-data.md").read_text("utf-8")
    return f"With {versions()}".replace(", scikit", " and scikit") in re.sub(r"\s+", " ", page)


def code_of(page: str) -> list[str]:
    return python_blocks((ROOT / "docs" / f"{page}.md").read_text("utf-8"))


EXAMPLES = [
    page
    for page in sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
    if page not in ELSEWHERE and code_of(page)
]


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_code_of_the_page_runs(page, tmp_path, monkeypatch, capsys):
    if page == "prototypes":
        pytest.importorskip("torch")
    if page == "comparing":  # which trains for half a minute on all of it
        docs = load_api_docs()
        part = docs.subset(np.arange(0, len(docs), 10))
        monkeypatch.setattr("longtail.data.load_api_docs", lambda: part)
    monkeypatch.chdir(tmp_path)
    given = GIVEN[page](tmp_path) if page in GIVEN else {}
    names = {"__name__": "page", **given}
    for number, code in enumerate(code_of(page)):
        exec(compile(code, f"{page}.md, example {number}", "exec"), names)
    check = getattr(Checks, page.replace("-", "_"), None)
    if check:
        check(Ran(names, capsys.readouterr().out, tmp_path))


def test_what_is_checked_belongs_to_a_page():
    checked = {name for name in vars(Checks) if not name.startswith("_")}
    assert checked | {page.replace("-", "_") for page in GIVEN} <= {
        page.replace("-", "_") for page in EXAMPLES
    }
