"""The first paper's experiment on the real data set that is quick to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from longtail.methods.linear import ProXML
from longtail.papers import choose, find_paper, read_trial, reproduce, with_choice

PAPER = find_paper("proxml")


@pytest.mark.exhaustive
@pytest.mark.published
def test_proxml_on_bibtex_is_not_below_the_paper(data_folder):
    (row,) = reproduce(PAPER, data_folder, only=["bibtex"], methods=["proxml"], tail=0, n_jobs=2)
    assert row.result.evaluation["C@5"] > 0.9
    compared = [cell for cell in row.cells if cell.paper is not None]
    assert len(compared) == 12
    assert min(cell.difference for cell in compared) > 0


@pytest.mark.published
def test_the_recorded_strength_is_best_on_held_out_training_points(data_folder):
    trial = PAPER.trial("bibtex")
    near = replace(trial, choice=replace(trial.choice, values=(1.0, 1.5, 2.0)))
    train, _ = read_trial(trial, data_folder)
    candidates = list(choose(near, train, ProXML, n_jobs=2))
    assert [candidate.value for candidate in candidates] == [1.0, 1.5, 2.0]
    assert with_choice(near, candidates).parameters == trial.parameters
