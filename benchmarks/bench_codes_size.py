"""Do clustering and coding scale to 100,000 labels, and does the code grow slower than the labels?

    make bench-codes-size
    python benchmarks/bench_codes_size.py --labels 1000,10000

Label sets are made up: frequencies follow a power law, labels come in groups of related ones, most
points stay within a group, a small share has one label from elsewhere, and a few hubs occur with
everything. The second table is the search for hubs and clusters by `choose_clusters`, which goes
through dozens of settings, for a code of a given share of the labels. Each number of labels is
measured in a process of its own, so that its peak of memory is its own. B/L is the code size, hubs
included, over the number of labels; UHL is a share of all decisions, and what is lost one of all
labels of all points.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp

from longtail.labels import cluster_labels, label_counts, unrecoverable_loss
from longtail.methods.codes import choose_clusters
from longtail.methods.codes.code import encode, robust_code
from measuring import alone, peak_gigabytes, timed

POINTS_PER_LABEL = 10
GROUP = 25
"""Labels of a group, on average."""
CROSSING = 0.02
"""Share of the points with a label from another group."""
HUBS = 10
WITH_HUB = 0.5
"""Share of the points with a hub."""
POWER = 0.9
COLUMNS = (
    " labels", "   points", "labels/point", "cluster s", "code s", "peak GB", "hubs", "clusters",
    "largest", " bits", "   B/L", "   UHL %", "lost %",
)  # fmt: skip


def made_up_labels(n_labels: int, seed: int = 0) -> sp.csr_array:
    """Label sets of exclusive groups with a power law, crossing points and hubs."""
    rng = np.random.default_rng(seed)
    n = POINTS_PER_LABEL * n_labels
    others = n_labels - HUBS
    weight = rng.permutation(np.arange(1, others + 1) ** -POWER)
    border = np.sort(rng.choice(np.arange(1, others), others // GROUP - 1, replace=False))
    starts = np.concatenate([[0], border, [others]])
    ends = np.concatenate([[0.0], np.cumsum(weight)])

    def drawn(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Labels between two labels, by weight."""
        at = ends[low] + rng.random(len(low)) * (ends[high] - ends[low])
        return np.clip(np.searchsorted(ends, at, side="right") - 1, low, high - 1)

    first = drawn(np.zeros(n, dtype=int), np.full(n, others))
    first[:others] = rng.permutation(others)  # every label occurs
    group = np.searchsorted(starts, first, side="right") - 1
    rows, columns = [np.arange(n)], [first]
    more = rng.poisson(1.0, n)
    rows.append(np.repeat(np.arange(n), more))
    columns.append(drawn(starts[group[rows[-1]]], starts[group[rows[-1]] + 1]))
    for share, low, high in ((CROSSING, 0, others), (WITH_HUB, others, n_labels)):
        rows.append(np.flatnonzero(rng.random(n) < share))
        columns.append(rng.integers(low, high, len(rows[-1])))
    found = (np.concatenate(rows), np.concatenate(columns))
    Y = sp.csr_array((np.ones(len(found[0]), dtype=np.float32), found), shape=(n, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    shuffled = rng.permutation(n_labels)
    return sp.csr_array(Y[:, shuffled])


def measured(n_labels: int, max_cluster_size: int, n_hubs: int) -> dict[str, float]:
    """One row of the table."""
    small = made_up_labels(200)
    unrecoverable_loss(small, cluster_labels(small, max_cluster_size=5))  # compiled
    Y = made_up_labels(n_labels)
    assert (label_counts(Y) > 0).all()

    clustering, clusters = timed(
        lambda: cluster_labels(Y, n_hubs=n_hubs, max_cluster_size=max_cluster_size)
    )
    making, code = timed(lambda: robust_code(clusters))
    encoding, _ = timed(lambda: encode(Y, code))
    uhl = unrecoverable_loss(Y, clusters)
    size = code.shape[1] + len(clusters.hubs)
    values = (
        n_labels, Y.shape[0], Y.nnz / Y.shape[0], clustering, making + encoding,
        peak_gigabytes(), len(clusters.hubs),
        clusters.number, clusters.largest, size, size / n_labels, 100 * uhl,
        100 * uhl * Y.shape[0] * Y.shape[1] / Y.nnz,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def searched(n_labels: int, share: float) -> str:
    """A line of the second table."""
    choose_clusters(made_up_labels(200), 100)  # compiled
    Y = made_up_labels(n_labels)
    seconds, choice = timed(lambda: choose_clusters(Y, round(share * n_labels)))
    peak = peak_gigabytes()
    lost = 100 * choice.uhl * Y.shape[0] * Y.shape[1] / Y.nnz
    return (
        f"{n_labels:>7,}{round(share * n_labels):>9,}{seconds:>9.0f}{peak:>9.2f}"
        f"{len(choice.curve):>10}{choice.n_hubs:>7}{choice.max_cluster_size:>10}{choice.code_size:>7,}"
        f"{lost:>8.2f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--labels", default="1000,10000,100000", help="numbers, by commas")
    options.add_argument("--max-cluster-size", type=int, default=50, help="labels of a cluster")
    options.add_argument("--hubs", type=int, default=2 * HUBS, help="labels set aside")
    options.add_argument("--share", type=float, default=0.1, help="code size to search for")
    given = options.parse_args()
    print("  ".join(COLUMNS))
    for n_labels in map(int, given.labels.split(",")):
        row = alone(measured, n_labels, given.max_cluster_size, given.hubs)
        cells = (
            (f"{value:,}" if isinstance(value, int) else f"{value:.3g}").rjust(len(name))
            for name, value in row.items()
        )
        print("  ".join(cells), flush=True)
    print("\n labels     bits   search s  peak GB  settings   hubs  max size   bits  lost %")
    for n_labels in map(int, given.labels.split(",")):
        print(alone(searched, n_labels, given.share), flush=True)


if __name__ == "__main__":
    main()
