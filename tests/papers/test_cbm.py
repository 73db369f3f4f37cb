"""The tables of the mixtures' paper, and its trials on made-up and on real data."""

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.data import Dataset
from longtail.errors import DataError
from longtail.methods.registry import methods
from longtail.papers import find_paper, prepare_trial, reproduce, run_method
from longtail.papers.trial_data import _moved

PAPER = find_paper("cbm")
COLUMNS = ("argmax", "argmax-noise", "sample", "sample-noise")


def test_figures_of_the_paper():
    one, two, supplement = PAPER.tables
    assert one.values["sample"]["PowSet+LR"] == {"subset_accuracy": 64.6}
    assert one.values["argmax-noise"]["CBM+LR:K=2"] == {"subset_accuracy": 69.3}
    assert two.values["Mediamill"]["CBM+GB"] == {"subset_accuracy": 14.1}
    assert two.values["RCV1"]["CDN"] == {"subset_accuracy": 12.6}
    assert supplement.values["Scene"]["pairCRF"] == {"jaccard": 72.8, "hamming_loss": 9.2}


def test_parameters_are_those_of_the_methods():
    for trial in PAPER.trials:
        for name, given in trial.parameters.items():
            known = methods()[PAPER.methods[name]].estimator().get_params()
            assert set(given) <= set(known), (trial.dataset, name)


def ours_on(column, methods, n_seeds):
    """The best possible and what the methods reach on average, in percent."""
    prepared = prepare_trial(PAPER, PAPER.trial(column), ".", n_seeds=n_seeds)
    assert len(prepared.seeds) == n_seeds
    found = {}
    for method in methods:
        (row,) = run_method(prepared, method, n_jobs=1, progress=False)
        assert row.left_out is None
        (cell,) = (cell for cell in row.cells if cell.table == "1")
        found[method] = cell.ours
    return 100 * prepared.best["subset_accuracy"], found


@pytest.mark.parametrize(
    "column", ["argmax-noise", pytest.param("sample-noise", marks=pytest.mark.exhaustive)]
)
def test_made_up_trials_come_near_the_best_possible(column):
    """With the first seed: within 1.5 points of the bound, and above binary relevance."""
    bound, ours = ours_on(column, ("CBM+LR", "BinRel+LR"), 1)
    assert abs(ours["CBM+LR"] - bound) < 1.5
    assert ours["CBM+LR"] > ours["BinRel+LR"] + 5


@pytest.mark.exhaustive
@pytest.mark.published
@pytest.mark.parametrize("column", ["argmax"])
def test_table_1_on_average(column):
    """The pattern of Table 1 over two seeds: near the bound and above the three others.

    On the second seed's argmax data the start from labels alone ends 8 points below the bound; the
    trial's further starts find a better optimum.
    """
    others = ("BinRel+LR", "PowSet+LR", "pairCRF")
    bound, ours = ours_on(column, ("CBM+LR", *others), 2)
    assert abs(ours["CBM+LR"] - bound) < 1.5
    for method in others:
        assert ours["CBM+LR"] > ours[method], method


def test_made_up_trials_have_ten_seeds():
    for column in COLUMNS:
        assert PAPER.trial(column).seeds == tuple(range(10))
        assert PAPER.trial(column).made_up
    assert PAPER.trial("scene").seeds == (0,)


@pytest.mark.published
@pytest.mark.parametrize("method", ["PowSet+LR", "PCC"])
def test_scene_is_within_two_points(method, data_folder):
    (row,) = reproduce(PAPER, data_folder, only=["scene"], methods=[method])
    for cell in row.cells:
        assert abs(cell.difference) < 2.0, cell


def test_labels_can_be_moved():
    data = Dataset(np.eye(2), sp.csr_array(np.array([[1, 0, 0], [0, 1, 0]])))
    assert _moved(data, 1).Y.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert _moved(data, 0) is data
    with pytest.raises(DataError, match="cannot be moved"):
        _moved(data, 2)
