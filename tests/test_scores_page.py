"""The page on scores says of every method what its numbers are."""

from __future__ import annotations

import re

from longtail.methods.registry import methods
from tests.conftest import ROOT


def test_the_table_of_scores_has_every_method():
    page = (ROOT / "docs" / "scores.md").read_text("utf-8")
    told = {
        name: row.rpartition("|")[0].rpartition("|")[2].strip() != "none"
        for row in re.findall(r"^\| `.*\|$", page, flags=re.M)
        for name in re.findall(r"`([\w-]+)`", row.split("|")[1])
    }
    assert told == {
        name: hasattr(method.estimator, "predict_proba") for name, method in methods().items()
    }
