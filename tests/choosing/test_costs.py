"""Peak memory and sizes of models, and means over several results."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import DiSMEC
from longtail.choosing import (
    PeakMemory,
    Result,
    compare,
    count_parameters,
    mean_result,
    prepare,
    train_method,
)
from longtail.choosing import peak_memory as memory
from longtail.data import make_longtail
from longtail.metrics import Evaluation
from tests.counting import CountsOnly

MB = 1_000_000

linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell a process its memory"
)


def touched(megabytes: int) -> np.ndarray:
    return np.ones(megabytes * MB // 8)


@linux
@pytest.mark.parametrize("how", ["mark", "samples"])
class TestPeakMemory:
    @pytest.fixture(autouse=True)
    def way(self, how, monkeypatch, tmp_path):
        if how == "samples":
            monkeypatch.setattr(memory, "_RESET", tmp_path / "none" / "clear_refs")

    @staticmethod
    def peak_of(megabytes: int) -> float:
        with PeakMemory() as found:
            kept = touched(megabytes)
            time.sleep(0.05)
            del kept
        assert found.peak_bytes is not None
        return found.peak_bytes / MB

    def test_a_passing_array_counts(self):
        assert self.peak_of(80) == pytest.approx(80, abs=8)

    def test_what_came_before_does_not(self):
        """A larger peak before, and memory held all the time."""
        held = touched(60)
        assert self.peak_of(150) == pytest.approx(150, abs=8)
        assert self.peak_of(40) == pytest.approx(40, abs=8)
        assert held[0] == 1

    def test_many_small_pieces_freed_before_do_not_hide_it(self):
        pieces = [np.ones(2000) for _ in range(3000)]
        del pieces
        with PeakMemory() as found:
            pieces = [np.ones(2000) for _ in range(3000)]
            time.sleep(0.05)
            del pieces
        assert found.peak_bytes > 40 * MB

    def test_nothing_costs_little(self):
        with PeakMemory() as found:
            pass
        assert 0 <= found.peak_bytes < 4 * MB

    def test_errors_pass_through(self):
        with pytest.raises(ZeroDivisionError), PeakMemory() as found:
            1 / 0  # noqa: B018
        assert found.peak_bytes is not None


def test_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(memory, "_RESET", tmp_path / "none" / "clear_refs")
    with PeakMemory() as found:
        pass
    assert found.peak_bytes is None


class Hungry(CountsOnly):
    """Takes 100 MB for a moment."""

    method = "hungry"

    def _fit(self, X, Y, run):
        touched(100)
        super()._fit(X, Y, run)


@linux
def test_a_comparison_shows_who_needs_more():
    train, test = make_longtail(200, 100, 20, random_state=0).split(random_state=0)
    found = compare(train, test, [Hungry(), CountsOnly()])
    assert found["hungry"].failure is None
    assert found["hungry"].peak_bytes / MB == pytest.approx(100, abs=10)
    assert found["counts-only"].peak_bytes < 20 * MB
    assert found.best()["peak_megabytes"] == ["counts-only"]
    assert found.table()["peak_megabytes"][0] == found["hungry"].peak_bytes / MB
    assert found.to_dict()["results"][0]["peak_bytes"] == found["hungry"].peak_bytes


class TestParameters:
    def test_sparse_ones_count_their_entries(self):
        X = np.array([[2.0, 0, 1], [0, 3, 0]])
        model = CountsOnly().fit(X, ["a", "b"])
        assert model.weights_.nnz == 3
        assert count_parameters(model) == 3 + X.size

    def test_nested_values_and_names(self):
        model = CountsOnly().fit(np.eye(2), ["a", "b"])
        usual = count_parameters(model)
        model.parts_ = {"a": [np.zeros((2, 3)), (np.arange(4), "text")], "b": np.array(["x", "y"])}
        model.matrix_ = sp.csc_array(np.eye(5))
        assert count_parameters(model) == usual + 6 + 4 + 5
        model.inner_ = CountsOnly().fit(np.eye(3), ["a", "b", "c"])
        assert count_parameters(model) == usual + 15 + count_parameters(model.inner_)

    def test_training_data_and_records_are_none(self):
        model = CountsOnly().fit(np.eye(2), ["a", "b"])
        usual = count_parameters(model)
        model.objective_ = np.zeros(7)
        assert count_parameters(model) == usual
        model.points_ = np.zeros(7)
        assert count_parameters(model) == usual + 7
        model.kept_data = ("points_",)
        assert count_parameters(model) == usual

    def test_results_have_it(self):
        train, test = make_longtail(200, 100, 20, random_state=0).split(random_state=0)
        trained = train_method(prepare(train, test), DiSMEC())
        found = compare(train, test, [DiSMEC()])["dismec"]
        assert found.n_parameters == count_parameters(trained.model)
        assert found.to_dict()["n_parameters"] == found.n_parameters


class TestMeans:
    def result(self, p, seconds, **others):
        return Result("a", "br", {}, Evaluation({"P@1": p}), seconds, 0.5, 20, **others)

    def test_of_everything(self):
        results = [
            self.result(0.5, 1.0, bytes=10, peak_bytes=100, n_parameters=3),
            self.result(0.7, 4.0, bytes=20, peak_bytes=200, n_parameters=5),
        ]
        mean = mean_result(results)
        assert mean.evaluation["P@1"] == pytest.approx(0.6)
        assert (mean.train_seconds, mean.bytes, mean.peak_bytes) == (2.5, 15, 150)
        assert (mean.n_parameters, mean.test_points) == (4, 20)

    def test_what_one_lacks_is_left_out(self):
        more = Result("a", "br", {}, Evaluation({"P@1": 0.5, "P@3": 0.4}), 1.0, 0.5, 20)
        mean = mean_result([more, self.result(0.7, 4.0, bytes=20)])
        assert list(mean.evaluation) == ["P@1"]
        assert mean.bytes is None

    def test_one_stays_as_it_is(self):
        one = self.result(0.5, 1.0)
        assert mean_result([one]) is one
