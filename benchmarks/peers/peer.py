"""What the drivers of all methods share: their arguments, the data, the clock and the report.

A driver runs in a process of its own, in the environment of its method, as

    python run_TOOL.py DATA OUT --threads 2 --repeats 3 --settings '{"C": 1}'

DATA holds `train.txt` (XMC text), `X.npz`, `Y.npz` and `X_test.npz`. The driver trains once, stores
the model in OUT/model, loads it again, predicts the best five labels of every test point `repeats`
times, and writes OUT/top.npz (`labels` of shape (n, 5), best first; -1 where there were fewer) and
OUT/report.json. Reading the data and loading the model are in none of the times, but in the memory.
Nothing of longtail is imported here: a peer's environment does not have it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

K = 5
PROC = Path("/proc")


class Job:
    """One run of a method: where its data lies, where its results go, and its clock."""

    def __init__(self) -> None:
        options = argparse.ArgumentParser()
        options.add_argument("data", type=Path)
        options.add_argument("out", type=Path)
        options.add_argument("--threads", type=int, default=2)
        options.add_argument("--repeats", type=int, default=3, help="of the prediction")
        options.add_argument("--settings", type=json.loads, default={}, help="as JSON")
        given = options.parse_args()
        self.data, self.out = given.data, given.out
        self.threads, self.repeats = given.threads, given.repeats
        self.settings: dict[str, Any] = given.settings
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

    def report(self, labels: Any, tool: str, version: str, **figures: Any) -> None:
        """Write the top five, the figures, the size of the model folder, memory and versions."""
        np.savez(self.out / "top.npz", labels=labels)
        size = sum(file.stat().st_size for file in self.model.rglob("*") if file.is_file())
        written = {**figures, "bytes": size, "versions": {tool: version, **versions()}}
        written.setdefault("peak", peak_memory())
        (self.out / "report.json").write_text(json.dumps(written))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def versions() -> dict[str, str]:
    """Of Python and of what a method may stand on, as far as it has been imported."""
    found = {"Python": platform.python_version()}
    for name in ("numpy", "scipy", "numba"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    return found


def peak_memory() -> int:
    """Bytes that this process held at most, and each of the processes it has started since.

    Linux's VmHWM where there is one: `ru_maxrss` is the same mark, but a child takes over that of
    the process that started it, so a small method would show the benchmark's own memory.
    """
    own = _high_water("self")
    if own is None:
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for folder in PROC.glob("[0-9]*"):
        if _status(folder.name, "PPid") == str(os.getpid()):
            own += _high_water(folder.name) or 0
    return own


def _status(process: str, name: str) -> str | None:
    try:
        text = (PROC / process / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    return None if found is None else found[1]


def _high_water(process: str) -> int | None:
    kilobytes = _status(process, "VmHWM")
    return None if kilobytes is None else 1024 * int(kilobytes)


def padded(rows: list[list[tuple[int, float]]]) -> np.ndarray:
    """The labels of lists of (label, score), best first, as an array of shape (n, 5)."""
    labels = np.full((len(rows), K), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        for j, (label, _) in enumerate(row[:K]):
            labels[i, j] = label
    return labels


def ranked(found: Any) -> np.ndarray:
    """The labels of a sparse matrix of scores, best first, as an array of shape (n, 5)."""
    labels = np.full((found.shape[0], K), -1, dtype=np.int64)
    for i in range(found.shape[0]):
        row = slice(found.indptr[i], found.indptr[i + 1])
        order = np.argsort(-found.data[row], kind="stable")[:K]
        labels[i, : len(order)] = found.indices[row][order]
    return labels
