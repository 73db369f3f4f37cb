"""The benchmark's side of the peers: lay out the data, call a driver, read what it reports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.data import Dataset, write_xmc

HERE = Path(__file__).parent
ENVIRONMENTS = {"omikuji": ".venv/trees", "napkinxc": ".venv/trees", "pecos": ".venv/pecos"}
TITLES = {"omikuji": "Omikuji, 3 trees", "napkinxc": "napkinXC PLT", "pecos": "PECOS XLinear"}


class PeerMissing(Exception):  # noqa: N818 - a reason to go without, not a failure
    """The peer is not installed, or its driver failed; the message says which."""


@dataclass
class Outcome:
    """Figures of one method on one set: best seconds so far, bytes on disk, its top five."""

    title: str
    version: str
    train: float
    predict: float
    bytes: int
    top: sp.csr_array
    note: str = ""
    predict_fastest: float = np.nan

    def better_of(self, other: Outcome | None) -> Outcome:
        """This outcome with the shorter times of the two."""
        if other is not None:
            self.train = min(self.train, other.train)
            self.predict = min(self.predict, other.predict)
            self.predict_fastest = min(self.predict_fastest, other.predict_fastest)
        return self


def lay_out(folder: Path, X: sp.csr_array, Y: sp.csr_array, X_test: sp.csr_array) -> None:
    """Write one set in the forms that the drivers read."""
    folder.mkdir(parents=True, exist_ok=True)
    write_xmc(Dataset(X, Y), folder / "train.txt")
    for name, matrix in (("X", X), ("Y", Y), ("X_test", X_test)):
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(matrix), compressed=False)


def call(peer: str, data: Path, out: Path, n_labels: int, threads: int) -> Outcome:
    """Run a peer's driver in its own environment and process."""
    python = HERE / ENVIRONMENTS[peer] / "bin" / "python"
    if not python.exists():
        raise PeerMissing(f"{ENVIRONMENTS[peer]} is not there; `make bench-proxml` makes it")
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [python, HERE / f"run_{peer}.py", data, out, "--threads", str(threads)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    report = out / "report.json"
    if done.returncode or not report.exists():
        raise PeerMissing(f"its driver failed: {_last_line(done.stderr)}")
    top = np.load(out / "top.npz")
    return Outcome(
        title=TITLES[peer],
        top=as_scores(top["labels"], n_labels),
        **json.loads(report.read_text()),
    )


def as_scores(labels: Any, n_labels: int) -> sp.csr_array:
    """Labels of shape (n, k), best first and -1 for none, as scores that rank them so."""
    rows, ranks = np.nonzero(labels >= 0)
    scores = (labels.shape[1] - ranks).astype(np.float64)
    return sp.csr_array((scores, (rows, labels[rows, ranks])), shape=(labels.shape[0], n_labels))


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _last_line(text: str) -> str:
    lines = [line for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"
