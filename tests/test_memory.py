"""Nothing dense of n×L or D×L: peak memory of fit and predict with 20,000 labels that occur."""

from __future__ import annotations

import numpy as np
import pytest

import longtail
from longtail import DiSMEC, PairRanker
from longtail.data import make_longtail
from longtail.errors import InputError, OutOfMemoryError
from longtail.methods.registry import find_method, methods
from tests.instances import REPRESENTATIVES, mostly_exhaustive
from tests.peaks import D, L, N, peaks, problem

SETTINGS = {  # models small enough for the bound below to bite, and few rounds
    "br": {"C": 0.1, "tol": 0.1, "max_iter": 1},
    "br-dekel": {"C": 0.1, "tol": 0.1, "max_iter": 1},
    "cc": {"C": 0.1, "tol": 0.1, "max_iter": 1},
    "ccd-l1": {"strength": 20.0, "max_iter": 1},
    "cdn": {"C": 0.1, "tol": 0.1, "max_iter": 1, "n_burn_in": 0, "n_samples": 2},
    "cs": {"code_size": 60, "set_size": 1},
    "dbpc": {"hidden": 32, "batch_size": 32, "n_bits": 32, "max_rounds": 1, "n_neighbors": 1},
    "dismec": {"tol": 0.1, "max_iter": 1},
    "ecc": {"C": 0.1, "tol": 0.1, "max_iter": 1, "n_chains": 2},
    "lm-knn": {"n_dimensions": 20, "max_iter": 1},
    "logtree": {"table_bits": 20},
    "pcc": {"C": 0.1, "tol": 0.1, "max_iter": 1, "beam": 2},
    "plst": {"code_size": 20},
    "proxml": {"strength": 5.0, "max_iter": 1},
    "proxml-cv": {"strengths": [20.0], "folds": 2, "max_iter": 1},
    "rbf": {"n_hubs": 10, "max_cluster_size": 2, "C": 0.1, "tol": 0.1, "max_iter": 1},
    "sbf": {"code_size": 400, "n_hashes": 2, "C": 0.1, "tol": 0.1, "max_iter": 1},
}

REFUSED = {"cbm", "cbm-cv", "msvm", "ovo", "pair-crf", "powerset"}
"""Methods for fewer labels, which say beforehand what so many would need."""

UNTOLD = {"ova"}
"""Methods that keep all weights, which are as large as what must not be made."""

IN_BLOCKS = {"cs": 3.0, "plst": 3.0, "mrb": 3.9}
"""Methods that have the scores of all labels for some points at a time, or a table of the words of
all labels: bytes for each cell of n×L that predicting may take, fewer than a float."""


ALWAYS = {*REPRESENTATIVES} - {"cc"}
"""Measured by `make test`; the peak of `cc` is compared with its estimate there."""


@pytest.mark.parametrize("method", mostly_exhaustive({*methods()} - REFUSED - UNTOLD, ALWAYS))
def test_peak_memory_is_far_below_a_dense_matrix(method):
    if method == "dbpc":
        pytest.importorskip("torch")
    found = peaks(method, SETTINGS.get(method, {}))
    if found["fit"] is None:
        pytest.skip("the system does not tell how much memory is held")
    points_by_labels = 4 * N * L  # 320 MB, all labels occur
    features_by_labels = 4 * D * L  # the same
    # the finished blocks, the matrix made of them, and the blocks that two threads work on
    allowed = 2 * found["weights"] + 120e6
    assert allowed < min(points_by_labels, features_by_labels), "the test could not fail"
    to_predict = IN_BLOCKS.get(method, 1.0) * N * L  # by default not even a flag for each cell
    assert found["predict"] < to_predict, found
    assert found["fit"] < allowed, found


@pytest.mark.parametrize("method", sorted(REFUSED))
def test_what_cannot_fit_is_refused_with_an_estimate(method):
    data = make_longtail(8000, 10_000, L, power=0.5, random_state=0)
    assert (np.bincount(data.Y.indices, minlength=L) > 0).all()
    with pytest.raises(InputError, match=r"[\d.]+ [GM]B") as caught:
        find_method(method).estimator().fit(data.X, data.Y)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


def test_by_default_ova_refuses_weights_beyond_four_gigabytes():
    data = make_longtail(20_000, 100_000, 3 * L, power=0.5, features_per_sample=60, random_state=0)
    need = find_method("ova").estimator().estimate(data.X, data.Y).peak_bytes / 1e9
    assert need > 4
    with pytest.raises(InputError, match=rf"some {need:.2g} GB .* memory_limit of 4 GB"):
        find_method("ova").estimator().fit(data.X, data.Y)


@pytest.mark.parametrize("method", sorted(REFUSED | UNTOLD))
def test_a_limit_below_a_dense_matrix_holds_where_the_others_are_measured(method):
    """Whatever the default allows: none of them makes an array of n×L in less than that."""
    data, limit = problem(), 0.15
    assert limit * 1e9 < 4 * N * L
    with pytest.raises(InputError, match=r"[\d.]+ [GM]B .* memory_limit of 0\.15 GB") as caught:
        find_method(method).estimator(memory_limit=limit).fit(data.X, data.Y)
    assert "\n" not in str(caught.value)


def test_no_memory_is_a_sentence_that_says_what_it_was_for(tmp_path, monkeypatch):
    X, y = np.eye(4), [["a"], ["b"], ["a"], ["b"]]
    model = DiSMEC().fit(X, y)
    model.save(tmp_path / "model")
    ranker = PairRanker(n_jobs=1).fit(X, ["a", "b", "a", "b"])

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(DiSMEC, "_fit", fail)
    monkeypatch.setattr(DiSMEC, "_topk", fail)
    monkeypatch.setattr(PairRanker, "_profiles", fail)
    monkeypatch.setattr(DiSMEC, "from_state", fail)
    for attempt, purpose in (
        (lambda: DiSMEC().fit(X, y), "to train"),
        (lambda: model.predict_topk(X, 1), "to predict"),
        (lambda: longtail.load(tmp_path / "model"), "to load"),
        (lambda: ranker.add_classes(X, ["c"] * 4), "to add classes"),
    ):
        with pytest.raises(OutOfMemoryError, match=f"^There is not enough memory {purpose}.*\\.$"):
            attempt()
