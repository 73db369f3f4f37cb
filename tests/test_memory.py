"""Nothing dense of n×L or D×L: peak memory of fit and predict with 20,000 labels."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from longtail.data import make_longtail
from longtail.errors import InputError, ParameterError
from longtail.methods import find_method, methods

N, D, L = 2000, 10_000, 20_000

SETTINGS = {  # models small enough for the bound below to bite, and quick to train
    "br": {"C": 0.1, "tol": 0.01},
    "br-dekel": {"C": 0.1, "tol": 0.01},
    "ccd-l1": {"strength": 5.0, "tol": 0.1, "max_iter": 20},
    "cs": {"code_size": 60, "set_size": 1},
    "dbpc": {"hidden": 32, "n_bits": 32, "max_rounds": 2, "n_neighbors": 1, "batch_size": 32},
    "lm-knn": {"n_dimensions": 20, "max_iter": 5},
    "logtree": {"table_bits": 22},
    "plst": {"code_size": 20},
    "proxml": {"strength": 5.0},
    "proxml-cv": {"strengths": [20.0, 5.0], "folds": 2},
    "rbf": {"n_hubs": 10, "max_cluster_size": 2, "C": 0.1, "tol": 0.01},
    "sbf": {"code_size": 400, "n_hashes": 2, "C": 0.1, "tol": 0.01},
}

REFUSED = {
    "cbm", "cbm-cv", "cc", "cdn", "ecc", "msvm", "ova", "ovo", "pair-crf", "pcc", "powerset",
}  # fmt: skip
"""Methods for fewer labels, which say beforehand what so many would need."""

SCRIPT = """
import json, resource, sys
import longtail.methods
from longtail.data import make_longtail

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

estimator = longtail.methods.find_method(sys.argv[1]).estimator
settings = json.loads(sys.argv[2])
n, d, labels = map(int, sys.argv[3:])
small = make_longtail(200, 300, 100, random_state=0)
model = estimator().fit(small.X, small.Y)           # kernels compiled, libraries loaded
model.predict(small.X), model.predict_topk(small.X, 5)
data = make_longtail(n, d, labels, random_state=0)
start = peak()
model = estimator(n_jobs=2, **settings).fit(data.X, data.Y)
trained = peak()
model.predict_topk(data.X, 5)
model.predict(data.X)
predicted = peak()
weights = getattr(model, "weights_", None)
stored = sum(getattr(weights, part).nbytes for part in ("data", "indices")
             if hasattr(weights, part))
print(json.dumps({"fit": trained - start, "predict": predicted - trained, "model": stored / 2**20}))
"""


@pytest.mark.parametrize("method", [name for name in methods() if name not in REFUSED])
def test_peak_memory_is_far_below_a_dense_matrix(method):
    settings = json.dumps(SETTINGS.get(method, {}))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, method, settings, str(N), str(D), str(L)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    points_by_labels = N * L * 8 / 2**20  # 305 MB
    features_by_labels = D * L * 8 / 2**20  # 1,526 MB
    # the finished blocks, the matrix made of them, and the blocks that two threads work on
    allowed = 2 * found["model"] + 120
    assert allowed < min(points_by_labels, features_by_labels), "the test could not fail"
    assert found["fit"] < allowed, found
    assert found["predict"] < 0.2 * points_by_labels, found
    assert found["model"] < 0.1 * features_by_labels, found


@pytest.mark.parametrize("method", sorted(REFUSED))
def test_what_cannot_fit_is_refused_with_an_estimate(method):
    data = make_longtail(N, D, L, random_state=0)
    model = find_method(method).estimator()
    if method == "powerset":  # 2,000 points have at most as many sets
        model.memory_limit = 1.0
    elif hasattr(model, "memory_limit"):  # only 5,000 of the labels have points
        model.memory_limit = 0.1
    with pytest.raises((ParameterError, InputError), match=r"[\d.]+ GB"):
        model.fit(data.X, data.Y)
