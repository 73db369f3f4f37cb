"""Methods in forked processes and in several threads of the caller: they end, and agree."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.base import clone

from longtail.data import Dataset, read_dataset, save
from longtail.errors import LongtailError
from longtail.testing.problem import small_problem
from tests.data.test_hostile import FORMATS, laid_out
from tests.forking import in_a_fork
from tests.instances import instances
from tests.trainings import learned


@pytest.mark.parametrize("classifier", instances(), ids=lambda c: c.method)
def test_a_child_can_train_what_its_parent_has_trained(classifier):
    X, Y = small_problem(classifier)
    here = learned(classifier, X, Y)
    assert in_a_fork(lambda: learned(classifier, X, Y)) == here
    model = clone(classifier).fit(X, Y)
    assert in_a_fork(lambda: str(model.explain(X[:1]))) == str(model.explain(X[:1]))


@pytest.mark.parametrize("format", FORMATS)
def test_a_child_and_threads_can_read_what_the_parent_has_read(format, tmp_path):
    path = laid_out(tmp_path, format, FORMATS[format].good.encode())

    def read():
        return repr(FORMATS[format].read(path))

    here = read()
    assert in_a_fork(read) == here
    assert in_threads(read) == [here] * 4


def test_a_child_and_threads_can_write_and_read_tables(tmp_path):
    data = Dataset(None, [("sea", "sun"), ("snow",)], texts=["at the beach", "on the slope"])

    path = tmp_path / "here.parquet"
    save(data, path)

    def through(name):
        def again():
            path = tmp_path / f"{threading.get_native_id()}-{name}"
            save(data, path)
            read = read_dataset(path)
            return read.texts, read.label_sets()

        return again

    for name in ("a.jsonl", "a.csv", "a.parquet"):
        here = through(name)()
        assert in_threads(through(name)) == [here] * 4
        if name != "a.parquet":
            assert in_a_fork(through(name)) == here
    assert in_a_fork(lambda: read_dataset(path).texts) == data.texts
    assert "a forked process cannot write Parquet" in in_a_fork(lambda: refusal(save, data, path))


@pytest.mark.parametrize(
    "classifier",
    [c for c in instances() if c.method in ("ova", "ovo", "msvm", "ccd-l1", "dismec", "rbf")],
    ids=lambda c: c.method,
)
def test_threads_of_the_caller_do_not_disturb_each_other(classifier):
    rng = np.random.default_rng(0)
    X = rng.random((300, 60))
    Y = np.eye(4, dtype=int)[rng.integers(4, size=300)]
    alone = learned(classifier, X, Y)
    assert in_threads(lambda: learned(classifier, X, Y)) == [alone] * 4


def refusal(work, *given):
    """What an error of ours says."""
    with pytest.raises(LongtailError) as caught:
        work(*given)
    return str(caught.value)


def in_threads(work):
    """What four threads of this process answer, all at once."""
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
