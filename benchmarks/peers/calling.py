"""The benchmark's side of the drivers: the methods there are, their data, a call, its report."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.data import Dataset, write_xmc
from peers.problems import Problem

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".venv"


@dataclass(frozen=True)
class Method:
    """A method as the benchmark runs it; ours are those without an environment of their own."""

    title: str
    driver: str
    environment: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    remark: str = "its defaults"
    most_cells: float = math.inf
    """Features times labels up to which it is measured unless more is asked for."""


METHODS = {
    "proxml": Method("ProXML", "longtail", settings={"classifier": "ProXML"}),
    "dismec": Method("DiSMEC", "longtail", settings={"classifier": "DiSMEC"}, most_cells=6e8),
    "br": Method(
        "BinaryRelevance", "longtail", settings={"classifier": "BinaryRelevance", "C": 10.0},
        remark="C=10, recommended for rows of unit length", most_cells=1e8,
    ),
    "rbf": Method("RobustBloom", "longtail", settings={"classifier": "RobustBloom", "C": 10.0},
        remark="C=10, as above", most_cells=1e8,
    ),
    "omikuji": Method("Omikuji, 3 trees", "omikuji", "omikuji"),
    "pecos": Method("PECOS XLinear", "pecos", "pecos", remark="its defaults: PIFA, one tree"),
    "napkinxc": Method("napkinXC PLT", "napkinxc", "napkinxc"),
    "svc": Method("scikit-learn SVC", "sklearn", "sklearn", {"base": "LinearSVC"},
        remark="OneVsRestClassifier(LinearSVC()), its defaults", most_cells=1e8,
    ),
    "logistic": Method(
        "scikit-learn LR", "sklearn", "sklearn",
        {"base": "LogisticRegression", "solver": "liblinear", "C": 10.0},
        remark="OneVsRestClassifier(LogisticRegression(solver='liblinear', C=10)), "
        "C as BinaryRelevance's",
        most_cells=1e6,
    ),
}  # fmt: skip


class PeerMissing(Exception):  # noqa: N818 - a reason to skip the method, not a failure
    """The method is not installed, or its driver failed; the message says which."""


def lay_out(folder: Path, problem: Problem) -> None:
    """Write the features, and the labels of the training part, in the forms that drivers read."""
    folder.mkdir(parents=True, exist_ok=True)
    X, Y, X_test = problem.X, problem.Y, problem.X_test
    write_xmc(Dataset(X, Y), folder / "train.txt")
    for name, matrix in (("X", X), ("Y", Y), ("X_test", X_test)):
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(matrix), compressed=False)


def call(
    method: Method, data: Path, out: Path, *, threads: int, environments: Path, limit: float
) -> tuple[dict[str, Any], np.ndarray]:
    """Run a method in its own environment and process; its figures and labels, best first.

    `limit` is in seconds. Whatever ends the call, the driver and its workers end with it.
    """
    python = _python(method, environments)
    shutil.rmtree(out, ignore_errors=True)
    words = [python, HERE / f"run_{method.driver}.py", data, out, "--threads", str(threads)]
    process = subprocess.Popen(
        [*words, "--settings", json.dumps(method.settings)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # a group of its own, to be ended as one
    )
    try:
        _, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise PeerMissing(f"it was ended after {limit / 60:g} minutes, the limit") from None
    finally:
        _end_group(process)
    report = out / "report.json"
    if process.returncode or not report.exists():
        raise PeerMissing(_reason(process.returncode, said))
    with np.load(out / "top.npz") as top:
        return json.loads(report.read_text()), top["labels"]


def as_scores(labels: np.ndarray, n_labels: int) -> sp.csr_array:
    """Labels of shape (n, k), best first and -1 for none, as scores that rank them so."""
    rows, ranks = np.nonzero(labels >= 0)
    scores = (labels.shape[1] - ranks).astype(np.float64)
    return sp.csr_array((scores, (rows, labels[rows, ranks])), shape=(labels.shape[0], n_labels))


def _python(method: Method, environments: Path) -> Path:
    """The interpreter to run a method with: ours, or that of its environment if it is complete."""
    if method.environment is None:
        return Path(sys.executable)
    folder = environments / method.environment
    failed = folder / "failed.txt"
    if failed.exists():
        errors = [line for line in failed.read_text().splitlines() if "error" in line.lower()]
        raise PeerMissing(f"it cannot be installed: {_last_line(chr(10).join(errors))}")
    if not (folder / ".installed").exists():
        raise PeerMissing("it is not installed; `make bench-peers` does that")
    return folder / "bin" / "python"


def _end_group(process: subprocess.Popen[str]) -> None:
    """End what is left of a driver: itself where it was given up, and workers it left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _reason(code: int, said: str) -> str:
    if code < 0:
        hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
        return f"its driver was ended by {signal.Signals(-code).name}{hint}"
    return f"its driver failed: {_last_line(said)}"


def _last_line(text: str) -> str:
    lines = [line for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"
