"""A document's way through the modules: what "How it is built" says, on a traced run."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from sklearn import get_config
from sklearn.utils import validation

import longtail
from longtail import TextFeatures, _sparse
from longtail.data._label_cells import TableRows
from tests.cli.conftest import call
from tests.conftest import ROOT

SOURCE = Path(longtail.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
TEXTS = ["waves and sand", "deep snow", "sand castles", "snow and ice"] * 10
LABELS = [["sea"], ["winter"], ["sea", "sun"], ["winter"]] * 10


def listed(which):
    """The modules of one of the page's tables, in order."""
    table = PAGE.partition(f"| {which}: module | does |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `([\w/]+\.py)` \|", table, flags=re.M)


class Trace:
    """The modules that a command calls, in the order of their first calls, and how often it makes
    features, encodes labels and looks for numbers in X that are not finite."""

    WORK: ClassVar = {
        TextFeatures.fit_transform.__code__: "features",
        TextFeatures.transform.__code__: "features",
        TableRows._matrix.__code__: "labels",
    }
    LOOKS = tuple(
        look.__code__
        for look in (validation._assert_all_finite, _sparse.all_finite, _sparse.all_moderate)
    )

    def __init__(self, *words):
        self.modules, self.work = [], Counter()
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            outcome = call(*words)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        assert outcome.code == 0, outcome

    def _called(self, frame, event, _):
        if event != "call":
            return
        code = frame.f_code
        if code in self.WORK:
            self.work[self.WORK[code]] += 1
        if code in self.LOOKS and not get_config()["assume_finite"]:
            self.work["checks"] += 1
        place = Path(code.co_filename)
        if place.is_relative_to(SOURCE) and code.co_name != "<module>":
            module = place.relative_to(SOURCE).as_posix()
            stores_parameters = code.co_name == "__init__" and module.startswith("methods/")
            if module not in self.modules and not stores_parameters:
                self.modules.append(module)


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("route")
    rows = zip(TEXTS, LABELS, strict=True)
    lines = [json.dumps({"text": text, "labels": own}) for text, own in rows]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    words = {
        "training": ["train", folder / "docs.jsonl", "--method", "dismec", "--to"],
        "prediction": ["predict", folder / "model", folder / "docs.jsonl"],
    }
    call(*words["training"], folder / "model")  # compiles and imports, which is no part of the way
    call(*words["prediction"])
    words["training"].append(folder / "again")
    return {which: Trace(*each) for which, each in words.items()}


@pytest.mark.parametrize("which", ["training", "prediction"])
def test_the_modules_of_the_page_are_passed_in_its_order(traces, which):
    wanted = listed(which)
    assert len(wanted) >= 10
    assert [each for each in traces[which].modules if each in wanted] == wanted


def test_a_training_makes_features_encodes_labels_and_checks_x_once(traces):
    assert traces["training"].work == {"features": 1, "labels": 1, "checks": 1}


def test_a_prediction_makes_features_and_checks_x_once(traces):
    assert traces["prediction"].work == {"features": 1, "checks": 1}
