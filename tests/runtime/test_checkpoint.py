"""Checkpoints: a run that was stopped at any moment ends with the same weights."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.errors import CheckpointError
from longtail.runtime.run import Run
from longtail.solvers import fit_linear
from longtail.store import read_arrays, write_arrays


def data(seed=0, n=400, d=120, b=60):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.1, rng=rng, format="csr", dtype=np.float32)
    return X, sp.csr_array((rng.random((n, b)) < 0.05).astype(np.float32))


def same(first, second):
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(first.weights, name), getattr(second.weights, name))


class StopError(Exception):
    pass


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("after", [1, 3, 5])
def test_resume_after_an_exception(tmp_path, loss, after):
    X, T = data()
    undisturbed = fit_linear(X, T, loss=loss, block_size=10)
    seen = []

    def stop_after(what, done, total):
        seen.append(done)
        if len(seen) > after:
            raise StopError

    with pytest.raises(StopError):
        fit_linear(X, T, loss=loss, block_size=10, run=Run(stop_after, tmp_path / "c"))
    blocks = sorted((tmp_path / "c").glob("block-*"))
    assert len(blocks) >= after
    first = []
    resumed = fit_linear(
        X, T, loss=loss, block_size=10,
        run=Run(lambda what, done, total: first.append(done), tmp_path / "c"),
    )  # fmt: skip
    assert first[0] >= 10 * after  # what was finished is not done again
    same(resumed, undisturbed)


def test_damaged_block_is_done_again(tmp_path):
    X, T = data()
    whole = fit_linear(X, T, block_size=20, run=Run(checkpoint=tmp_path / "c"))
    blocks = sorted((tmp_path / "c").glob("block-*"))
    blocks[0].write_bytes(blocks[0].read_bytes()[:-7])
    flipped = bytearray(blocks[1].read_bytes())
    flipped[-3] ^= 1
    blocks[1].write_bytes(flipped)
    same(fit_linear(X, T, block_size=20, run=Run(checkpoint=tmp_path / "c")), whole)


def test_exchanged_and_senseless_blocks_are_done_again(tmp_path):
    X, T = data()
    whole = fit_linear(X, T, block_size=20, run=Run(checkpoint=tmp_path / "c"))
    first, second, third = sorted((tmp_path / "c").glob("block-*"))
    saved = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(saved)
    arrays, meta = read_arrays(third)
    write_arrays(third, {**arrays, "ends": arrays["ends"] * 10}, meta)
    same(fit_linear(X, T, block_size=20, run=Run(checkpoint=tmp_path / "c")), whole)
    arrays, meta = read_arrays(third)
    write_arrays(third, {"something": arrays["values"]}, meta)
    write_arrays(second, {**arrays, "features": arrays["features"] - 5}, {**meta, "block": "1"})
    same(fit_linear(X, T, block_size=20, run=Run(checkpoint=tmp_path / "c")), whole)


OTHER_SETTINGS = {
    "strength": 2.0,
    "loss": "logistic",
    "prune": 0.5,
    "tol": 1e-3,
    "max_iter": 7,
    "bias": 2.0,
    "dtype": np.float64,
    "sample_weight": np.linspace(1, 2, 400),
    "warm_start": sp.csr_array(np.ones((121, 5))),
}


@pytest.mark.parametrize("change", ["X", "T", *OTHER_SETTINGS])
def test_checkpoints_of_other_work_are_refused(tmp_path, change):
    X, T = data(b=5)
    fit_linear(X, T, run=Run(checkpoint=tmp_path / "c"))
    X2, T2 = X.copy(), T.copy()
    if change == "X":
        X2.data[0] += 1
    if change == "T":
        T2 = T2[:, ::-1]
    with pytest.raises(CheckpointError, match="other work"):
        fit_linear(
            X2, T2, run=Run(checkpoint=tmp_path / "c"),
            **{change: OTHER_SETTINGS[change]} if change in OTHER_SETTINGS else {},
        )  # fmt: skip


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    X, T = data(b=2)
    with pytest.raises(CheckpointError, match="not empty"):
        fit_linear(X, T, run=Run(checkpoint=tmp_path))
    assert (tmp_path / "thesis.tex").read_text() == "precious"


SCRIPT = """
import sys
from pathlib import Path
from longtail.runtime.run import Run
from longtail.solvers import fit_linear
from tests.runtime.test_checkpoint import data
X, T = data(n=2000, d=300, b=120)
fit = fit_linear(X, T, loss="logistic", block_size=4, n_jobs=2, tol=1e-9,
                 run=Run(lambda what, done, total: print(done, flush=True), Path(sys.argv[1])))
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_killed_process_resumes(tmp_path, sign):
    root = str(Path(__file__).resolve().parents[2])
    folder = tmp_path / "c"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    for line in process.stdout:
        if int(line) >= 12:
            break
    process.send_signal(sign)
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    waited = time.monotonic() - began
    assert process.returncode != 0
    if sign == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        print(f"stopped {waited:.2f} s after Ctrl-C")
    left = sorted(folder.glob("block-*"))
    assert len(left) >= 3
    for block in left:  # whole, or not there
        read_arrays(block)
    X, T = data(n=2000, d=300, b=120)
    finished = []
    resumed = fit_linear(
        X, T, loss="logistic", block_size=4, n_jobs=2, tol=1e-9,
        run=Run(lambda what, done, total: finished.append(done), folder),
    )  # fmt: skip
    assert finished[0] >= 12
    same(resumed, fit_linear(X, T, loss="logistic", tol=1e-9, n_jobs=2))


def test_what_a_run_killed_at_its_first_note_leaves_is_no_obstacle(tmp_path):
    X, T = data()
    name = f".longtail-{hashlib.sha256(b'run.json').hexdigest()[:16]}-{'0' * 16}.new"
    (tmp_path / "c" / name).mkdir(parents=True)
    (tmp_path / "c" / name / "run.json").write_text('{"format"')
    fit_linear(X, T, run=Run(None, tmp_path / "c"))
    assert not (tmp_path / "c" / name).exists()
    assert (tmp_path / "c" / "run.json").exists()
