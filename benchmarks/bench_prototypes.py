"""Deep binary prototypes: seconds of prediction, memory, and F1 against the number of prototypes.

    make bench-prototypes
    python benchmarks/bench_prototypes.py --only time --data delicious

The paper's Table 2 is done by `longtail reproduce dbpc`. Here, on the first of its folds:

- time (Table 3): seconds for the whole test set, two threads, best of three, for scikit-learn's
  brute-force kNN, faiss's flat index on dense rows, our kNN, ML-kNN and LM-kNN, and DBPC with the
  encoder's share and the search's; the search for neighbours alone, and whole predictions.
- memory (Table 4): bytes of codes, labels and networks, beside kNN's and embeddings'.
- best: F1 if each test point got the one prototype that suits it best, which is known afterwards
  only: a bound on what a single vote can reach.
- train: seconds of training at the default size, with what it finds.
- ratio (Figure 1): F1 for prototypes of 0.01 to 0.5 of the points; --plot draws it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from data_folder import DATA, data_folder
from longtail.errors import LongtailWarning
from longtail.features import RowScaler
from longtail.methods.neighbors import KNN, LMKNN, MLKNN
from longtail.methods.prototypes import DeepBinaryPrototypes, group_label_sets
from longtail.metrics import f1
from longtail.papers import find_paper, read_trial
from longtail.search import nearest_codes
from measuring import best_of, timed
from peers.bars import Bars

THREADS = 2
NEIGHBOURS = 5
RATIOS = (0.01, 0.05, 0.1, 0.3, 0.5)
WIDE = {"hidden": 4096, "learning_rate": 2e-3}  # the paper's encoder, and steps that suit it


class Problem:
    """The first fold of a data set of the paper's."""

    def __init__(self, name: str) -> None:
        self.trial = find_paper("dbpc").trial(name)
        train, test = read_trial(self.trial, DATA)
        scaler = RowScaler(**self.trial.features)
        self.X = scaler.fit_transform(train.X).astype(np.float32)
        self.Z = scaler.transform(test.X).astype(np.float32)
        self.Y, self.truth = train.Y, test.Y


def table_3(problem: Problem, bars: Bars) -> DeepBinaryPrototypes:
    """Seconds; returns the model with the default settings."""
    import faiss
    from sklearn.neighbors import NearestNeighbors

    X, Z, name = problem.X, problem.Z, problem.trial.dataset
    print(f"\n  {name}: {X.shape[0]:,} training and {Z.shape[0]:,} test points")
    print(f"  {'':<44}{'search s':>10}{'whole s':>10}")
    rows: dict[str, tuple[float, float]] = {}

    def show(what: str, search: float, whole: float) -> None:
        rows[what] = search, whole
        parts = "".join(f"{s:>10.3f}" if np.isfinite(s) else f"{'':>10}" for s in (search, whole))
        print(f"  {what:<44}{parts}", flush=True)

    brute = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute", n_jobs=THREADS).fit(X)
    show("kNN, scikit-learn, brute force", best_of(lambda: brute.kneighbors(Z)), np.nan)
    faiss.omp_set_num_threads(THREADS)
    flat = faiss.IndexFlatL2(X.shape[1])
    flat.add(X.toarray())
    dense = Z.toarray()
    show("kNN, faiss, flat index", best_of(lambda: flat.search(dense, NEIGHBOURS)), np.nan)
    for model in (
        KNN(n_neighbors=NEIGHBOURS, n_jobs=THREADS),
        MLKNN(n_neighbors=NEIGHBOURS, n_jobs=THREADS),
        LMKNN(n_neighbors=NEIGHBOURS, max_iter=10, n_jobs=THREADS),
    ):
        model.fit(X, problem.Y)
        show(type(model).__name__, np.nan, best_of(lambda model=model: model.predict(Z)))
    others = np.nanmin([seconds for pair in rows.values() for seconds in pair])
    settings = {"n_neighbors": NEIGHBOURS, "max_rounds": 2, "n_jobs": THREADS}
    small = DeepBinaryPrototypes(**settings).fit(X, problem.Y)
    search, whole = shown_seconds(small, Z, show)
    bars.at_least(f"{name}: next fastest over DBPC", others / whole, 1.0)
    shown_seconds(DeepBinaryPrototypes(**WIDE, **settings).fit(X, problem.Y), Z, show)
    if name == "EURLex-4K":
        taken = rows["kNN, faiss, flat index"][0]
        bars.at_least(f"{name}: faiss's flat kNN over DBPC", taken / whole, 5.0)
        bars.at_least(f"{name}: faiss's flat kNN over its search", taken / search, 100.0)
    own = dict(problem.trial.parameters["DBPC"])
    if own:
        shown_seconds(DeepBinaryPrototypes(**own | settings).fit(X, problem.Y), Z, show)
    return small


def best_possible(problem: Problem) -> None:
    """F1 of the prototype that has the highest F1 with each test point's labels."""
    truth = problem.truth
    sizes = np.asarray(truth.sum(axis=1))
    print(f"\n  {problem.trial.dataset}, the best prototype for each point")
    print(f"  {'ratio':>8}{'example':>10}{'micro':>10}{'macro':>10}")
    for ratio in (0.1, 0.3, 0.5, 0.9):
        sets = group_label_sets(problem.Y, int(ratio * problem.Y.shape[0]), n_jobs=THREADS).means
        sets.data = (sets.data >= 0.5).astype(np.float32)
        sets.eliminate_zeros()
        lengths = np.asarray(sets.sum(axis=1))
        best = np.empty(truth.shape[0], dtype=np.int64)
        for i in range(0, truth.shape[0], 1024):
            shared = (truth[i : i + 1024] @ sets.T).toarray()
            both = np.maximum(lengths + sizes[i : i + 1024, None], 1)
            best[i : i + 1024] = (2 * shared / both).argmax(axis=1)
        scores = [f1(truth, sets[best], average=kind) for kind in ("example", "micro", "macro")]
        print(f"  {ratio:>8}" + "".join(f"{score:>10.3f}" for score in scores), flush=True)


def shown_seconds(model: DeepBinaryPrototypes, Z: Any, show: Any) -> tuple[float, float]:
    """Seconds of the search and of the whole prediction."""
    queries = model.encoder_.codes(Z)
    encode = best_of(lambda: model.codes(Z))
    search = best_of(lambda: nearest_codes(queries, model.codes_, NEIGHBOURS))
    whole = best_of(lambda: model.predict(Z))
    units, bits = model.encoder_.second.shape
    show(f"DBPC, {units:,} units, {bits} bits, {len(model.codes_):,} prototypes", search, whole)
    print(f"    the encoder {encode:.3f} s; the search {search:.4f} s, on one thread")
    return search, whole


def trained(problem: Problem, bars: Bars) -> None:
    """Seconds of training with nothing changed from the defaults."""
    model = DeepBinaryPrototypes(n_jobs=THREADS)
    seconds, _ = timed(lambda: model.fit(problem.X, problem.Y))
    print(
        f"\n  {problem.trial.dataset}: {len(model.objective_)} rounds of the default size in "
        f"{seconds:.0f} s, {len(model.codes_):,} prototypes, {len(model.dead_bits_)} dead bits; "
        f"{f1s(problem.truth, model.predict(problem.Z))}",
        flush=True,
    )
    bars.at_most(f"{problem.trial.dataset}: minutes of training", seconds / 60, 15.0)


def f1s(truth: Any, found: Any) -> str:
    kinds = ("example", "micro", "macro")
    return ", ".join(f"{kind}-F1 {f1(truth, found, average=kind):.4f}" for kind in kinds)


def figure_1(problem: Problem) -> list[dict[str, Any]]:
    """F1 against the share of prototypes, at a threshold of one half."""
    own = {**problem.trial.parameters["DBPC"], "n_jobs": THREADS}
    print(f"\n  {problem.trial.dataset:<12}{'ratio':>8}{'example':>10}{'micro':>10}{'macro':>10}")
    rows = []
    for ratio in RATIOS:
        model = DeepBinaryPrototypes(**own | {"ratio": ratio}).fit(problem.X, problem.Y)
        found = model.predict(problem.Z)
        scores = {kind: f1(problem.truth, found, average=kind) for kind in ("example", "micro")}
        scores["macro"] = f1(problem.truth, found, average="macro")
        rows.append({"dataset": problem.trial.dataset, "ratio": ratio, **scores})
        print(f"  {'':<12}{ratio:>8}" + "".join(f"{s:>10.4f}" for s in scores.values()), flush=True)
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="time,memory,train,best,ratio")
    options.add_argument("--data", default="delicious,eurlex-4k")
    options.add_argument("--plot", type=Path, help="where to draw F1 against the ratio")
    chosen = options.parse_args()
    data_folder()
    warnings.simplefilter("ignore", LongtailWarning)
    parts, bars, curve = chosen.only.split(","), Bars(), []
    for name in chosen.data.split(","):
        problem = Problem(name)
        if "time" in parts or "memory" in parts:
            model = table_3(problem, bars)
            if "memory" in parts:
                print(f"\n{model.size_report()}")
        if "train" in parts:
            trained(problem, bars)
        if "best" in parts:
            best_possible(problem)
        if "ratio" in parts:
            curve += figure_1(problem)
    if chosen.plot is not None and curve:
        from longtail.report import ratio_figure, save_figure

        save_figure(ratio_figure(pl.DataFrame(curve)), chosen.plot)
    bars.sum_up()


if __name__ == "__main__":
    main()
