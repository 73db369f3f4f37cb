"""Memory and time of training a mixture, and alternatives that need less."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.methods.mixtures.em import BLOCK_BYTES
from longtail.runtime.estimates import PRODUCT, WORKSPACE, Estimate, matrix_bytes
from longtail.runtime.executor import thread_count
from longtail.solvers.boosted.trees import Memory
from longtail.solvers.costs import GROWING, LOOK, NEWTON, features_met, softmax_estimate
from longtail.solvers.linear.direct import few_and_dense

FOR_LESS = "use a method for larger problems, such as proxml"
"""An alternative that needs less. Fewer components may need more: each then has more points, and
regressions for the labels and features of all of these."""

COUNTED = 1.0  # components per point, about
WEIGHT_BYTES = 44  # per weight of the experts: in this round, the last and the best
SAID_BYTES = 16  # per log-odds of a label in a component, which trees keep for every point
REMEMBERED = Memory().most_bytes  # of these that are kept
TREE_BYTES = 400  # per tree of five leaves: in this round's forest, the last and the best
SHARES = 6  # arrays of points and components
COMPONENT = 2e-3  # seconds per component and round, whatever their size
AGAIN = 0.5  # cost of a warm-started round, as a share of a solution from zero


def mixture_estimate(
    X: sp.csr_array,
    Y: sp.csr_array,
    n_components: int,
    *,
    experts: str,
    gate: str,
    rounds: int,
    n_trees: int,
    n_jobs: int | None,
) -> Estimate:
    """Memory and time of so many rounds of expectation maximisation.

    Regressions have a weight for each label and feature that the points of a component have.
    """
    n, n_features = X.shape
    counts = np.bincount(Y.indices, minlength=1)
    threads, n_labels = thread_count(n_jobs), int(np.count_nonzero(counts))
    own = min(float(n), COUNTED * n / n_components)
    varying = float(-np.expm1(own * np.log1p(-np.minimum(counts / (n + 1), 1.0))).sum())
    cells = float(n_components) * Y.shape[1]
    memory = (
        matrix_bytes(X, Y)
        + 8.0 * SHARES * n * n_components
        + 16.0 * cells
        + 3 * threads * min(float(BLOCK_BYTES), 8.0 * n * cells)
        + WORKSPACE
    )
    seconds, model = COMPONENT * rounds * n_components, None
    if gate == "logistic":
        need = softmax_estimate(X, n_components, n_jobs=n_jobs)
        memory += need.peak_bytes
        seconds += AGAIN * rounds * need.seconds
    if experts == "logistic":
        weights = n_components * (varying + 1) * (float(features_met(X, own)) + 1)
        if few_and_dense(n, n_features, X.nnz):
            look = NEWTON * PRODUCT * n * float(n_features) ** 2
        else:
            look = LOOK["newton"] * X.nnz
        memory += WEIGHT_BYTES * weights + threads * 8.0 * 14 * 32 * (n + n_features)
        seconds += AGAIN * rounds * look * n_labels * COUNTED
        model = int(8 * weights)
    else:
        memory += min(SAID_BYTES * n * cells, float(REMEMBERED))
        memory += TREE_BYTES * float(rounds) * n_trees * n_components * varying
        seconds += rounds * n_trees * GROWING * X.nnz * n_labels * COUNTED
    return Estimate(
        int(memory),
        model,
        seconds / threads,
        f"{n_components:,} components of {n_labels:,} labels, {n:,} points and {n_features:,} "
        f"features, some {rounds:,} rounds",
    )
