"""`memory_limit`: one parameter, one check and one sentence in every method that has it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone

import longtail
from longtail.data import make_longtail
from longtail.errors import InputError, ParameterError
from tests.instances import instances

pytestmark = pytest.mark.filterwarnings("ignore::longtail.errors.ConvergenceWarning")
LIMITED = [estimator for estimator in instances() if "memory_limit" in estimator.get_params()]


@pytest.fixture(params=LIMITED, ids=lambda estimator: estimator.method)
def classifier(request):
    if request.param.method == "dbpc":
        pytest.importorskip("torch")
    return clone(request.param)


@pytest.fixture(scope="module")
def data():
    return make_longtail(60, 40, 6, labels_per_sample=2, random_state=0)


def test_these_have_it():
    assert {estimator.method for estimator in LIMITED} == {
        "cbm", "cbm-cv", "cc", "cdn", "dbpc", "ecc", "lm-knn", "logtree", "ml-knn", "msvm", "ova",
        "ovo", "pair-crf", "pcc", "powerset",
    }  # fmt: skip
    assert {estimator.memory_limit for estimator in LIMITED} == {4.0}


def test_more_is_refused_before_any_work_in_one_sentence(classifier, data):
    need, seen = classifier.estimate(data.X, data.Y), []
    with pytest.raises(InputError) as caught:
        classifier.set_params(memory_limit=need.peak_bytes / 1.01e9).fit(
            data.X, data.Y, progress=lambda *told: seen.append(told)
        )
    form = (
        rf"{type(classifier).__name__} would need some [\d.]+ [kM]B for {re.escape(need.reason)}, "
        r"above memory_limit of 0\.\d+ GB; (use|take|give) .+, or raise memory_limit\."
    )
    assert re.fullmatch(form, str(caught.value)), str(caught.value)
    assert seen == []


def test_as_much_is_not(classifier, data):
    need = classifier.estimate(data.X, data.Y).peak_bytes / 1e9
    classifier.set_params(memory_limit=need).fit(data.X, data.Y)


def test_infinity_is_no_limit_and_is_saved(classifier, data, tmp_path):
    classifier.set_params(memory_limit=np.inf).fit(data.X, data.Y).save(tmp_path / "model")
    assert longtail.load(tmp_path / "model").memory_limit == np.inf


@pytest.mark.parametrize("limit", [0, -1.0, np.nan, "4", None, True])
def test_nonsense_is_refused(classifier, data, limit):
    with pytest.raises(ParameterError, match="memory_limit must be a positive number"):
        classifier.set_params(memory_limit=limit).fit(data.X, data.Y)


def test_a_checkpoint_does_not_depend_on_it(classifier, data, tmp_path):
    one = clone(classifier).fit(data.X, data.Y, checkpoint=tmp_path / "kept")
    other = classifier.set_params(memory_limit=np.inf)
    other.fit(data.X, data.Y, checkpoint=tmp_path / "kept")
    assert (one.predict(data.X) != other.predict(data.X)).nnz == 0
