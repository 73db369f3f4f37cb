"""What the drivers of all peers share: their arguments, the data, the clock and the report.

A driver runs in the peer's own environment, as

    python run_PEER.py DATA OUT --threads 2 --repeats 3

DATA holds `train.txt` (XMC text), `X.npz`, `Y.npz` and `X_test.npz`. The driver trains once, stores
the model in OUT/model, loads it again, predicts the best five labels of every test point `repeats`
times, and writes OUT/top.npz (`labels` and `scores` of shape (n, 5); label -1 where there were
fewer) and OUT/report.json. Reading the data and loading the model are in none of the times.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

K = 5


class Job:
    """One run of a peer: where its data lies, where its results go, and its clock."""

    def __init__(self) -> None:
        options = argparse.ArgumentParser()
        options.add_argument("data", type=Path)
        options.add_argument("out", type=Path)
        options.add_argument("--threads", type=int, default=2)
        options.add_argument("--repeats", type=int, default=3, help="of the prediction")
        given = options.parse_args()
        self.data, self.out = given.data, given.out
        self.threads, self.repeats = given.threads, given.repeats
        self.model = self.out / "model"
        self.out.mkdir(parents=True, exist_ok=True)

    def matrix(self, name: str) -> sp.csr_matrix:
        matrix = sp.csr_matrix(sp.load_npz(self.data / f"{name}.npz"))
        return matrix.astype(np.float32)

    def best_time(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """The fastest of `repeats` runs and the last result."""
        best, result = np.inf, None
        for _ in range(self.repeats):
            seconds, result = timed(work)
            best = min(best, seconds)
        return best, result

    def report(self, labels: Any, scores: Any, **figures: Any) -> None:
        """Write the top five and, with the size of the model folder, the figures."""
        np.savez(self.out / "top.npz", labels=labels, scores=scores)
        size = sum(file.stat().st_size for file in self.model.rglob("*") if file.is_file())
        (self.out / "report.json").write_text(json.dumps({**figures, "bytes": size}))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def padded(rows: list[list[tuple[int, float]]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of (label, score), best first, as two arrays of shape (n, 5)."""
    labels = np.full((len(rows), K), -1, dtype=np.int64)
    scores = np.full((len(rows), K), np.nan)
    for i, row in enumerate(rows):
        for j, (label, score) in enumerate(row[:K]):
            labels[i, j], scores[i, j] = label, score
    return labels, scores
