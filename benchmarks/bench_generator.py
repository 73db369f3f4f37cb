"""How `make_longtail` compares with real sets: who is frequent, and how much rows differ.

    make bench-generator
    python benchmarks/bench_generator.py --sets debian-depends,made-up-debian

The real sets' training parts are read from the folder in data_folder.py; a set that is not there is
left out. The made-up ones have the shape of debian-depends, and that of Amazon-670K at a twentieth
of its size. Nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from peers.problems import Problem, generated, like_amazon, real, texts

RANKS = tuple(4**power for power in range(8))
COUNTS = (1, 2, 3, 10, 100, 1000)
PERCENTILES = (5, 25, 50, 75, 95)
SETS: dict[str, Callable[[], Problem | None]] = {
    "bibtex": lambda: real("bibtex", "bibtex", None),
    "rcv1-subset1": lambda: real("rcv1-subset1", "rcv1-subset1", None),
    "delicious": lambda: real("delicious", "delicious", None),
    "eurlex-4k": lambda: real("eurlex-4k", "eurlex-4k", None),
    "wordnet-hypernyms": lambda: texts("wordnet-hypernyms", "wordnet-hypernyms"),
    "debian-depends": lambda: texts("debian-depends", "debian-depends"),
    "made-up-debian": lambda: generated(44_575, 25_667, 22_008, held_out=0),
    "made-up-amazon": lambda: like_amazon(20),
}


def sorted_counts(matrix: sp.csr_array) -> NDArray[np.int64]:
    """In how many rows a column is, the most frequent first, without those in none."""
    counts = np.sort(np.bincount(matrix.indices, minlength=matrix.shape[1]))[::-1]
    return counts[counts > 0]


def shares(matrix: sp.csr_array) -> list[str]:
    """Percent of the rows that the columns of some ranks are in."""
    counts = 100 * sorted_counts(matrix) / matrix.shape[0]
    return [f"{counts[rank - 1]:.3g}" if rank <= len(counts) else "" for rank in RANKS]


def sizes(matrix: sp.csr_array) -> list[str]:
    """Columns per row: mean, standard deviation over mean, percentiles over mean."""
    of_row = np.diff(matrix.indptr)
    mean = of_row.mean()
    ratios = [of_row.std(), *np.percentile(of_row, PERCENTILES)]
    return [f"{mean:.1f}", *(f"{value / mean:.2f}" for value in ratios)]


def how_many(matrix: sp.csr_array) -> list[str]:
    """How many columns are in 1, 2, 3 to 9, ... rows."""
    found = np.histogram(sorted_counts(matrix), bins=[*COUNTS, matrix.shape[0] + 1])[0]
    return [f"{value:,}" for value in found]


def table(title: str, head: list[str], rows: dict[str, list[str]]) -> None:
    print(f"\n{title}\n  {'':<18}" + "".join(f"{name:>11}" for name in head))
    for name, cells in rows.items():
        print(f"  {name:<18}" + "".join(f"{cell:>11}" for cell in cells))


def chosen(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"there is no {unknown[0]!r}; choose among {','.join(SETS)}"
        )
    return names


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", type=chosen, default=list(SETS), help="by commas")
    read = {name: SETS[name]() for name in options.parse_args().sets}
    found = {name: problem for name, problem in read.items() if problem is not None}
    X, Y = ({name: getattr(p, part) for name, p in found.items()} for part in "XY")
    ranks = [f"{rank:,}" for rank in RANKS]
    spread = ["mean", "sd/mean", *(f"{p} %/mean" for p in PERCENTILES)]
    classes = [f"{a:,}" if b == a + 1 else f"{a:,}-{b - 1:,}" for a, b in pairwise(COUNTS)]
    table("Sizes", ["rows", "features", "labels"], {
        name: [f"{n:,}" for n in (*x.shape, len(sorted_counts(Y[name])))] for name, x in X.items()
    })  # fmt: skip
    table("Percent of the rows that the label of a rank is in", ranks,
          {name: shares(y) for name, y in Y.items()})  # fmt: skip
    table("Percent of the rows that the feature of a rank is in", ranks,
          {name: shares(x) for name, x in X.items()})  # fmt: skip
    table("Features per row", spread, {name: sizes(x) for name, x in X.items()})
    table("Labels per row", spread, {name: sizes(y) for name, y in Y.items()})
    table("Labels by number of points", [*classes, f"{COUNTS[-1]:,}+"],
          {name: how_many(y) for name, y in Y.items()})  # fmt: skip


if __name__ == "__main__":
    main()
