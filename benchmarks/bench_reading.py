"""Reading EURLex-4K: seconds and peak memory beside scikit-learn's svmlight reader.

    make bench-reading
    python benchmarks/bench_reading.py --repeats 3

The training file is unpacked first, so that both readers parse plain text; scikit-learn's gets the
same lines without the header. Times are the best of several in one process, taken in turn, after a
first read that compiles the kernel. Memory is the growth of the process' resident set at its peak,
in a fresh process for each reader, over the arrays that it returns. The set is read from the folder
in data_folder.py.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from data_folder import data_folder
from longtail.data import read_xmc
from measuring import timed


def longtail_float32(folder: Path) -> list[np.ndarray]:
    return _arrays(read_xmc(folder / "train.txt"))


def longtail_float64(folder: Path) -> list[np.ndarray]:
    return _arrays(read_xmc(folder / "train.txt", dtype=np.float64))


def longtail_gzip(folder: Path) -> list[np.ndarray]:
    return _arrays(read_xmc(folder / "train.txt.gz"))


def scikit_learn(folder: Path) -> list[np.ndarray]:
    X, _ = load_svmlight_file(str(folder / "without_header.txt"), multilabel=True, zero_based=True)
    return [X.data, X.indices, X.indptr]


READERS: dict[str, Callable[[Path], list[np.ndarray]]] = {
    "longtail, float32 (default)": longtail_float32,
    "longtail, float64": longtail_float64,
    "longtail, float32, from .gz": longtail_gzip,
    "scikit-learn, float64": scikit_learn,
}
SMALL = "2 3 2\n0,1 0:0.5 2:1\n1 1:2\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="times each reader runs")
    parser.add_argument(
        "--memory-of", nargs=2, metavar=("READER", "FOLDER"), help=argparse.SUPPRESS
    )
    arguments = parser.parse_args()
    if arguments.memory_of:
        name, folder = arguments.memory_of
        print(*measured_memory(READERS[name], Path(folder)))
        return
    packed = data_folder("eurlex-4k") / "train.txt.gz"
    with tempfile.TemporaryDirectory() as folder:
        run(packed, Path(folder), arguments.repeats)


def run(packed: Path, folder: Path, repeats: int) -> None:
    shutil.copy(packed, folder / "train.txt.gz")
    content = gzip.decompress(packed.read_bytes())
    (folder / "train.txt").write_bytes(content)
    (folder / "without_header.txt").write_bytes(content.split(b"\n", 1)[1])
    print(f"EURLex-4K train.txt, {len(content) / 1e6:.1f} MB, best of {repeats}\n")
    del content
    best = dict.fromkeys(READERS, float("inf"))
    for reader in READERS.values():
        reader(folder)
    for _ in range(repeats):
        for name, reader in READERS.items():
            seconds, _ = timed(lambda reader=reader: reader(folder))
            best[name] = min(best[name], seconds)
    titles = ("seconds", 9), ("times as fast", 15), ("arrays MB", 11), ("peak MB", 9), ("ratio", 7)
    print(f"{'reader':<30}" + "".join(f"{title:>{width}}" for title, width in titles))
    reference = best["scikit-learn, float64"]
    for name, seconds in best.items():
        arrays, peak = memory(name, folder)
        print(
            f"{name:<30}{seconds:>9.3f}{reference / seconds:>15.1f}"
            f"{arrays / 1e6:>11.1f}{peak / 1e6:>9.1f}{peak / arrays:>7.2f}"
        )


def memory(name: str, folder: Path) -> tuple[float, float]:
    """Bytes of the arrays returned and of the peak, from a process of its own."""
    command = [sys.executable, __file__, "--memory-of", name, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    arrays, peak = run.stdout.split()
    return float(arrays), float(peak)


def measured_memory(reader: Callable[[Path], list[np.ndarray]], folder: Path) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as small:
        for name, content in (("train.txt", SMALL), ("without_header.txt", SMALL[6:])):
            Path(small, name).write_text(content)
        Path(small, "train.txt.gz").write_bytes(gzip.compress(SMALL.encode()))
        reader(Path(small))
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    arrays = reader(folder)
    return sum(array.nbytes for array in arrays), _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def _arrays(data: Any) -> list[np.ndarray]:
    return [array for m in (data.X, data.Y) for array in (m.data, m.indices, m.indptr)]


if __name__ == "__main__":
    main()
