"""Prediction with a sparse linear model: rows per second in batches, and the time of a single row.

    make bench-predict
    python benchmarks/bench_predict.py --train

Two sets: EURLex-4K's test part, from the folder in data_folder.py, and 45,000 generated points with
20,000 labels. So that this takes no training, a label's weights are the mean of its points, times
the rarity of the word, in its 36 strongest words; `--train` takes ProXML's instead. The model is
saved, and used as it is loaded: mapped into memory. scipy's way is the product of the sparse
matrices, 256 rows at a time, made dense, and `argpartition`; it has no threads.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import longtail
from longtail import ranked
from longtail.labels import TailRanking, inverse_propensities
from longtail.methods.linear import ProXML
from longtail.search.index import LinearIndex
from measuring import best_of, timed
from peers.problems import Problem, generated, real

THREADS = 2
K = 5
WORDS = 36
SCIPY_ROWS = 2048
SINGLE_ROWS = 1000


def trained_points() -> Problem:
    """Generated points, to be predicted themselves."""
    problem = generated(45_000, 25_000, 20_000, held_out=0)
    return problem._replace(X_test=problem.X, Y_test=problem.Y)


def strongest_words(X: sp.csr_array, Y: sp.csr_array) -> sp.csr_array:
    """Weights (D + 1, L): the mean of a label's points in its strongest words, the bias -1."""
    counts = np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1)
    rarity = np.log(X.shape[0] / np.maximum(np.bincount(X.indices, minlength=X.shape[1]), 1))
    means = sp.csr_array(Y.T.tocsr() @ X.astype(np.float64))
    means.data *= rarity[means.indices] / np.repeat(counts, np.diff(means.indptr))
    words, values = ranked(means, WORDS)
    labels, places = np.nonzero(words >= 0)
    features = np.concatenate([words[labels, places], np.full(Y.shape[1], X.shape[1])])
    labels = np.concatenate([labels, np.arange(Y.shape[1])])
    values = np.concatenate([values[words >= 0], -np.ones(Y.shape[1])])
    where = features.astype(np.int32), labels.astype(np.int32)
    return sp.csr_array((values, where), shape=(X.shape[1] + 1, Y.shape[1]))


def model_of(problem: Problem, train: bool) -> ProXML:
    if train:
        return ProXML(n_jobs=THREADS).fit(problem.X, problem.Y)
    learned = {
        "classes_": np.arange(problem.Y.shape[1]),
        "label_kind_": "sparse",
        "label_counts_": np.bincount(problem.Y.indices, minlength=problem.Y.shape[1]),
        "n_points_": problem.X.shape[0],
        "n_features_in_": problem.X.shape[1],
        "weights_": strongest_words(problem.X, problem.Y).astype(np.float32),
    }
    return ProXML.from_state({"parameters": {"n_jobs": THREADS}, "learned": learned})


def median(work: Callable[[sp.csr_array], Any], rows: list[sp.csr_array]) -> float:
    return float(np.median([timed(lambda row=row: work(row))[0] for row in rows]))


def by_scipy(X: sp.csr_array, weights: sp.csr_array, biases: np.ndarray) -> np.ndarray:
    """The k best labels of every row, in no order."""
    found = []
    for first in range(0, X.shape[0], 256):
        scores = (X[first : first + 256] @ weights).toarray() + biases
        found.append(np.argpartition(scores, -K, axis=1)[:, -K:])
    return np.concatenate(found)


def measure(problem: Problem, train: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model_of(problem, train).save(path)
        size = sum(file.stat().st_size for file in path.iterdir())
        model: ProXML = longtail.load(path)
        report(problem, model, size)


def report(problem: Problem, model: ProXML, size: int) -> None:
    X, weights = problem.X_test, model.weights_
    met = np.diff(weights.indptr)[X.indices].sum() / X.shape[0]
    per_label = (weights.nnz - weights.shape[1]) / weights.shape[1]
    print(
        f"{problem.name}: {X.shape[0]:,} points, {weights.shape[1]:,} labels, "
        f"{per_label:.0f} weights a label, {met:,.0f} met a point; model {size / 1e6:.2f} MB"
    )
    index = LinearIndex(weights)
    inverse = inverse_propensities(model.label_counts_, model.n_points_)
    ranking = TailRanking(2.0, 0.0, 0.6 * np.log(inverse))
    body, biases = sp.csr_array(weights[:-1]), weights[[-1]].toarray().ravel()
    some = X[:SCIPY_ROWS]
    index.topk(X[:600], K, n_jobs=THREADS)
    index.topk(X[:600], K, ranking=ranking, n_jobs=THREADS)

    theirs = some.shape[0] / best_of(lambda: by_scipy(some, body, biases), 1)
    for name, work in (
        ("two threads", lambda: index.topk(X, K, n_jobs=THREADS)),
        ("one thread", lambda: index.topk(X, K)),
        ("two threads, tail", lambda: index.topk(X, K, ranking=ranking, n_jobs=THREADS)),
    ):
        ours = X.shape[0] / best_of(work)
        print(f"  top {K}, {name:<18}{ours:>10,.0f} rows/s{ours / theirs:>8.1f} times scipy's")
    print(f"  top {K}, {'scipy':<18}{theirs:>10,.0f} rows/s")

    rows = [X[[i]] for i in range(min(SINGLE_ROWS, X.shape[0]))]
    model.predict_topk(rows[0], K)
    for name, one in (
        ("index", lambda row: index.topk(row, K)),
        ("index, tail", lambda row: index.topk(row, K, ranking=ranking)),
        ("predict_topk", lambda row: model.predict_topk(row, K)),
        ("scipy", lambda row: by_scipy(row, body, biases)),
    ):
        print(f"  one row, {name:<16}{1e6 * median(one, rows):>10,.0f} µs, median")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--train", action="store_true", help="train ProXML instead")
    chosen = options.parse_args()
    for problem in (real("eurlex-4k", "EURLex-4K", "sqrt"), trained_points()):
        if problem is not None:
            measure(problem, chosen.train)


if __name__ == "__main__":
    main()
