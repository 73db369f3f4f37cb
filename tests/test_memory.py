"""Nothing dense of n×L or D×L: peak memory of fit and predict with 20,000 labels."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from longtail.methods import methods

N, D, L = 3000, 6000, 20_000

SCRIPT = """
import json, resource, sys
import longtail.methods
from longtail.data import make_longtail

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

estimator = longtail.methods.find_method(sys.argv[1]).estimator
n, d, labels = map(int, sys.argv[2:])
small = make_longtail(200, 300, 100, random_state=0)
model = estimator().fit(small.X, small.Y)           # kernels compiled, libraries loaded
model.predict(small.X), model.predict_topk(small.X, 5)
data = make_longtail(n, d, labels, random_state=0)
before = peak()
model = estimator(n_jobs=2).fit(data.X, data.Y)
model.predict_topk(data.X, 5)
model.predict(data.X)
stored = model.weights_.data.nbytes + model.weights_.indices.nbytes
print(json.dumps({"grown": peak() - before, "model": stored / 2**20, "labels": int(data.n_labels)}))
"""


@pytest.mark.parametrize("method", list(methods()))
def test_peak_memory_is_far_below_a_dense_matrix(method):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, method, str(N), str(D), str(L)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    points_by_labels = N * L * 8 / 2**20  # 458 MB
    features_by_labels = D * L * 8 / 2**20  # 916 MB
    assert found["labels"] == L
    # the blocks of two threads, the blocks' results and the model itself
    assert found["grown"] < 120 + 4 * found["model"], found
    assert found["grown"] < 0.5 * points_by_labels, found
    assert found["grown"] < 0.25 * features_by_labels, found
