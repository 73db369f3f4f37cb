"""Random truth, scores and predictions for the tests of the metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st


@st.composite
def ranking_problems(draw: st.DrawFn) -> tuple[list[set[int]], list[dict[int, float]], int]:
    """True sets, scores of predicted labels (with ties, negatives and zeros), number of labels."""
    n = draw(st.integers(1, 8))
    L = draw(st.integers(1, 9))
    label = st.integers(0, L - 1)
    score = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-1e6, 1e6, allow_nan=False))
    truth = draw(st.lists(st.sets(label), min_size=n, max_size=n))
    scores = draw(st.lists(st.dictionaries(label, score), min_size=n, max_size=n))
    return truth, scores, L


def label_matrix(sets: list[set[int]], L: int) -> sp.csr_array:
    rows = [row for row, labels in enumerate(sets) for _ in labels]
    columns = [label for labels in sets for label in labels]
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(sets), L))


def score_matrix(scores: list[dict[int, float]], L: int) -> sp.csr_array:
    """Stored zeros stay stored."""
    indptr = np.cumsum([0] + [len(row) for row in scores])
    columns = [label for row in scores for label in row]
    values = [value for row in scores for value in row.values()]
    return sp.csr_array((np.array(values, float), columns, indptr), shape=(len(scores), L))


def random_problem(
    seed: int, n: int = 200, L: int = 60, labels: int = 4, predicted: int = 15
) -> tuple[list[set[int]], list[dict[int, float]], Any]:
    """A larger one with some empty rows on both sides."""
    rng = np.random.default_rng(seed)
    truth = [set(rng.integers(0, L, rng.integers(0, labels + 1)).tolist()) for _ in range(n)]
    scores = [
        dict(
            zip(rng.permutation(L)[:size].tolist(), rng.standard_normal(size).tolist(), strict=True)
        )
        for size in rng.integers(0, predicted + 1, n)
    ]
    return truth, scores, rng.uniform(0.05, 1, L)
