"""Every method that chooses a parameter tells by one method what it tried, and what it took."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import longtail
from longtail.data import make_longtail
from longtail.methods.registry import methods
from tests.instances import SETTINGS

CHOOSING = {
    "cbm-cv": ({}, {"n_components": "chosen_n_components_", "C": "C_"}, None),
    "cs": ({"code_size": 8}, {"set_size": "set_size_"}, {"set_size": 2}),
    "dbpc": (
        {"validation": 0.2, "n_neighbors": None, "ratio": 0.2},
        {"round": "best_round_"},
        {"validation": 0.0, "n_neighbors": 1},
    ),
    "knn": ({}, {"n_neighbors": "n_neighbors_"}, {"n_neighbors": 3}),
    "lm-knn": ({}, {"n_neighbors": "n_neighbors_"}, {"n_neighbors": 3}),
    "ml-knn": ({}, {"n_neighbors": "n_neighbors_"}, {"n_neighbors": 3}),
    "mrb": ({"C": None}, {"C": "C_"}, {"C": 1.0}),
    "proxml-cv": ({}, {"strength": "strength_", "exponent": "exponent_"}, None),
    "sbf": ({"code_size": 20}, {"n_hashes": "n_hashes_"}, {"n_hashes": 2}),
}
"""method -> settings, columns of the table with the attribute of each, settings without a choice.

The last are None where there is always a choice."""


@pytest.fixture(scope="module")
def data():
    return make_longtail(120, 40, 8, labels_per_sample=2, random_state=0)


def made(name, **settings):
    return methods()[name].estimator(**SETTINGS.get(name, {}) | CHOOSING[name][0] | settings)


def test_all_methods_that_choose_have_the_table():
    """As the constructors declare it: by default, or always."""
    choosing = {
        name
        for name, method in methods().items()
        for known in method.parameters.values()
        if ("None: chosen" in known.sentence and known.default is None)
        or re.search(r" to try\b", known.sentence)
    }
    assert choosing == set(CHOOSING)
    assert choosing == {
        name for name, method in methods().items() if hasattr(method.estimator, "choice_table")
    }
    for method in methods().values():
        assert not hasattr(method.estimator, "cv_table"), method.name


@pytest.mark.parametrize("name", CHOOSING)
def test_without_training_there_is_no_choice_to_tell(name):
    with pytest.raises(NotFittedError):
        made(name).choice_table()


@pytest.mark.parametrize("name", CHOOSING)
def test_one_row_a_value_tried_and_one_of_them_chosen(name, data, tmp_path):
    if name == "dbpc":
        pytest.importorskip("torch")
    _, attributes, without = CHOOSING[name]
    model = made(name).fit(data.X, data.Y)
    table = model.choice_table()
    assert table.schema["chosen"] == pl.Boolean
    assert len(table) > 1
    assert table.select(*attributes).is_unique().all()
    (row,) = table.filter("chosen").iter_rows(named=True)
    for column, attribute in attributes.items():
        assert row[column] == getattr(model, attribute), column
    judged = [column for column in table.columns if column not in (*attributes, "chosen")]
    assert np.isfinite(table.select(judged).to_numpy()).all()
    best = table[judged[0]].min() if judged[0] == "hamming_loss" else table[judged[0]].max()
    assert row[judged[0]] == best

    model.save(tmp_path / "model")
    assert longtail.load(tmp_path / "model").choice_table().equals(table)
    if without is not None:
        nothing = model.set_params(**without).fit(data.X, data.Y).choice_table()
        assert nothing.is_empty()
        assert set(nothing.columns) == {c for c in table.columns if not c.startswith("fold ")}
        assert [nothing.schema[c] for c in nothing.columns] == [
            table.schema[c] for c in nothing.columns
        ]
