"""Peak memory of a training with 20,000 labels that all occur, in a process of its own.

`tests.preloaded` has it, so that a run costs a fork and not an import.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor

import longtail.methods
from longtail.choosing.peak_memory import PeakMemory
from longtail.data import make_longtail
from longtail.methods.joint._conditionals import Task
from tests.forking import answer_of

for _method in longtail.methods.registry.methods().values():
    _method.estimator  # noqa: B018 - imported before the fork

N, D, L = 4000, 4000, 20_000

SOLVED, MADE_UP = 100, (80, 20)


@cache
def problem() -> Any:
    """Short documents with eight labels each; every label has one at least.

    Without noise, since a `PairRanker` that cannot tell labels apart answers with thousands.
    """
    data = make_longtail(
        N, D, L, power=0.3, labels_per_sample=8, features_per_sample=6, noise=0.0, random_state=0
    )
    assert (np.bincount(data.Y.indices, minlength=L) > 0).all()
    return data


def peaks(method: str, settings: dict[str, Any]) -> dict[str, float]:
    """Bytes that training and predicting take at most, and those of the weights, if it has any."""
    return answer_of(_measure, method, settings)


def _thin_out() -> None:
    """Of the regressions of chains and networks, which take milliseconds each, solve one in a
    hundred; the others get weights that are made up, of 80 features and 20 labels."""
    solve = Task.solve

    def thinned(task: Task, label: int) -> dict[str, Any]:
        if label % SOLVED == 0:
            return solve(task, label)
        rng, bias = np.random.default_rng(label), sum(task.X.shape[1:] + task.Y.shape[1:])
        features = rng.choice(task.X.shape[1], MADE_UP[0], replace=False)
        others = task.X.shape[1] + task.seen(label)[: MADE_UP[1]]
        rows = np.concatenate([np.sort(features), others, [bias]]).astype(np.int32)
        values = np.append(rng.normal(0, 0.01, len(rows) - 1), -5.0).astype(np.float32)
        return {
            "features": rows, "values": values, "gap": 0.0, "iterations": 1, "converged": True,
        }  # fmt: skip

    Task.solve = thinned


def _measure(method: str, settings: dict[str, Any]) -> dict[str, float]:
    estimator = longtail.methods.registry.find_method(method).estimator
    small = make_longtail(200, 80, 100, random_state=0)
    model = estimator(**settings).fit(small.X, small.Y)  # kernels compiled, libraries loaded
    model.predict(small.X), model.predict_topk(small.X, 5)
    data = problem()
    _thin_out()
    with PeakMemory() as training:
        model = estimator(n_jobs=2, **settings).fit(data.X, data.Y)
    with PeakMemory() as predicting:
        model.predict_topk(data.X, 5)
        model.predict(data.X)
    weights = getattr(model, "weights_", None)
    parts = [getattr(weights, name, None) for name in ("data", "indices")]
    get_reusable_executor(reuse=True).shutdown()  # idle workers would keep the process waiting
    return {
        "fit": training.peak_bytes,
        "predict": predicting.peak_bytes,
        "weights": sum(getattr(part, "nbytes", 0) for part in parts),
    }
