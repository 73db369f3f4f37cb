"""Peak memory of a training with 20,000 labels that all occur, in a process of its own.

Preloaded into multiprocessing's fork server, so that a run costs a fork and not an import.
"""

from __future__ import annotations

import multiprocessing
from functools import cache
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor

import longtail.methods
from longtail.comparison.memory import PeakMemory
from longtail.data import make_longtail

longtail.methods.methods()  # imports every method before the fork

N, D, L = 4000, 4000, 20_000


@cache
def problem() -> Any:
    """Short documents with eight labels each; every label has one at least."""
    data = make_longtail(
        N, D, L, power=0.3, labels_per_sample=8, features_per_sample=6, random_state=0
    )
    assert (np.bincount(data.Y.indices, minlength=L) > 0).all()
    return data


def peaks(method: str, settings: dict[str, Any]) -> dict[str, float]:
    """Bytes that training and predicting take at most, and those of the weights, if it has any."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.trainings", "tests.peaks"])
    there, here = context.Pipe()
    training = context.Process(target=_measure, args=(method, settings, here))
    training.start()
    here.close()
    found = there.recv()  # EOFError if the process died
    training.join()
    return found


def _measure(method: str, settings: dict[str, Any], answer: Any) -> None:
    estimator = longtail.methods.find_method(method).estimator
    small = make_longtail(200, 300, 500, random_state=0)
    model = estimator(**settings).fit(small.X, small.Y)  # kernels compiled, libraries loaded
    model.predict(small.X), model.predict_topk(small.X, 5)
    data = problem()
    with PeakMemory() as training:
        model = estimator(n_jobs=2, **settings).fit(data.X, data.Y)
    with PeakMemory() as predicting:
        model.predict_topk(data.X, 5)
        model.predict(data.X)
    weights = getattr(model, "weights_", None)
    parts = [getattr(weights, name, None) for name in ("data", "indices")]
    answer.send(
        {
            "fit": training.peak_bytes,
            "predict": predicting.peak_bytes,
            "weights": sum(getattr(part, "nbytes", 0) for part in parts),
        }
    )
    get_reusable_executor(reuse=True).shutdown()  # idle workers would keep the process waiting
