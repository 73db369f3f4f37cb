"""Conditional Bernoulli mixtures: the decoder's speed, training on Mediamill, and the curve over K.

    make bench-cbm
    python benchmarks/bench_cbm.py --only decoder,curve --plot curve.png

The paper's tables are done by `longtail reproduce cbm`. Here:

- decoder: points a second at 100 labels and 30 components, two threads, best of three; the sets
  looked at for each point. Weights of the components are drawn from a Dirichlet distribution with
  parameter 0.2, log-odds from a normal one with mean -6 and deviation 3.
- mediamill: seconds and peak memory of training on 31,000 points with 101 labels, for the mixture
  with 30 components and for the label power-set, each in a process of its own.
- seeds: subset accuracy on Scene with 20 components from five random starts.
- stops: what depends on where training stops: the power-set by scikit-learn's L-BFGS after so many
  steps on RCV1 and Mediamill, binary relevance likewise on RCV1, and boosted with so many trees a
  label. Only if asked for; it takes some twenty minutes.
- networks: the dependency network on RCV1 by the strength of its penalty. Only if asked for.
- tree-stops: the boosted power-set on Mediamill with so many trees a set. Only if asked for.
- field-stops: likewise the pairwise random field on RCV1, by SciPy's L-BFGS.
- curve: the paper's Figure 3 on RCV1 (subset 1), K from 1 to 30; with one component and empty sets
  allowed, the predictions are those of binary relevance.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from longtail.errors import LongtailWarning
from longtail.mixtures import ConditionalBernoulliMixture, most_probable_sets
from longtail.one_vs_rest import BinaryRelevance
from longtail.published import find_paper, read_trial
from peers.bars import Bars

DATA = Path(os.environ.get("LONGTAIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
REPEATS = 3
FIELD_STEPS = (20, 60, 100, 200)
NETWORK_STRENGTHS = (1.0, 10.0, 1e6)
SET_TREES = (3, 10, 20)
SIZES = (1, 2, 3, 5, 8, 12, 16, 20, 25, 30)


def decoder(bars: Bars) -> None:
    rng = np.random.default_rng(0)
    n, n_components, n_labels = 20_000, 30, 100
    weights = np.log(rng.dirichlet(np.full(n_components, 0.2), size=n))
    odds = rng.normal(-6, 3, size=(n, n_components, n_labels)).astype(np.float32)
    most_probable_sets(weights[:10], odds[:10])
    print(f"\n  {'threads':>8}{'points/s':>12}{'sets visited':>14}{'most':>8}")
    for threads in (1, 2):
        times = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            found = most_probable_sets(weights, odds, n_jobs=threads)
            times.append(time.perf_counter() - began)
        speed = n / min(times)
        visits = found.visits
        print(f"  {threads:>8}{speed:>12,.0f}{visits.mean():>14.1f}{visits.max():>8,}", flush=True)
    bars.at_least("decoder, points a second on two threads", speed, 10_000, ".0f")


def _trained(kind: str) -> tuple[float, float, float, str]:
    """Seconds, peak GB, subset accuracy, and what came of it."""
    warnings.simplefilter("ignore", LongtailWarning)
    from longtail.joint import LabelPowerset
    from longtail.metrics import subset_accuracy

    train, test = read_trial(find_paper("cbm").trial("mediamill"), DATA)
    if kind == "cbm":
        model: Any = ConditionalBernoulliMixture(n_components=30, C=1e3, n_jobs=2)
    else:
        model = LabelPowerset(C=1e3, n_jobs=2)
    began = time.perf_counter()
    model.fit(train.X, train.Y)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    right = subset_accuracy(test.Y, model.predict(test.X))
    about = (
        f"{model.n_iter_} rounds, {model.n_components_} components"
        if kind == "cbm"
        else f"{model.sets_.shape[0]:,} sets"
    )
    return seconds, peak, 100 * right, about


def mediamill(bars: Bars) -> None:
    print(f"\n  {'Mediamill':<12}{'train s':>9}{'peak GB':>9}{'subset acc.':>13}")
    for kind, name in (("cbm", "CBM, K=30"), ("powerset", "PowSet")):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            seconds, peak, right, about = alone.submit(_trained, kind).result()
        print(f"  {name:<12}{seconds:>9.0f}{peak:>9.2f}{right:>13.2f}  {about}", flush=True)
        if kind == "cbm":
            bars.at_most("CBM on Mediamill, minutes of training", seconds / 60, 15.0, ".1f")
            bars.at_most("CBM on Mediamill, peak GB", peak, 4.0)


def seeds(bars: Bars) -> None:
    from longtail.metrics import subset_accuracy

    train, test = read_trial(find_paper("cbm").trial("scene"), DATA)
    found = []
    for seed in range(5):
        model = ConditionalBernoulliMixture(n_components=20, random_state=seed, n_jobs=2)
        model.fit(train.X, train.Y)
        found.append(100 * subset_accuracy(test.Y, model.predict(test.X)))
        print(
            f"  Scene, seed {seed}: {found[-1]:.2f}, {model.n_components_} components", flush=True
        )
    bars.at_least("Scene, mean subset accuracy over five seeds", float(np.mean(found)), 69.0, ".2f")


def stops() -> None:
    import scipy.sparse as sp
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    from longtail.labels.sets import distinct_sets
    from longtail.metrics import subset_accuracy

    train, test = read_trial(find_paper("cbm").trial("rcv1"), DATA)
    for rounds in (1, 2, 3, 5, 10):
        model = ConditionalBernoulliMixture(
            n_components=1, experts="boosting", allow_empty=True, max_rounds=rounds, n_jobs=2
        ).fit(train.X, train.Y)
        right = 100 * subset_accuracy(test.Y, model.predict(test.X))
        print(f"  RCV1, boosted BinRel, {10 * rounds} trees a label: {right:.1f}", flush=True)
    for name, C, steps in (("rcv1", 1e6, (10, 15, 20)), ("mediamill", 1e3, (10, 20, 40))):
        train, test = read_trial(find_paper("cbm").trial(name), DATA)
        sets, which = distinct_sets(train.Y)
        X, Z = train.X, test.X
        if name == "mediamill":  # which has no zeros
            X, Z = X.toarray().astype(np.float32), Z.toarray().astype(np.float32)
        for limit in steps:
            regression = LogisticRegression(C=C, max_iter=limit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it has not converged
                regression.fit(X, which)
            found = sp.csr_array(sets[regression.predict(Z)])
            right = 100 * subset_accuracy(test.Y, found)
            print(f"  {name}, power-set, {limit} steps of L-BFGS: {right:.1f}", flush=True)
            if name == "rcv1":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    alone = OneVsRestClassifier(regression).fit(X, train.Y)
                right = 100 * subset_accuracy(test.Y, sp.csr_array(alone.predict(Z)))
                print(f"  {name}, BinRel, {limit} steps of L-BFGS: {right:.1f}", flush=True)


def networks() -> None:
    from longtail.joint import DependencyNetwork

    train, test = read_trial(find_paper("cbm").trial("rcv1"), DATA)
    for C in NETWORK_STRENGTHS:
        model = DependencyNetwork(C=C, target="hamming", n_jobs=2).fit(train.X, train.Y)
        found = model.predict(test.X)
        size = found.sum() / found.shape[0]
        figures = set_figures(test.Y, found)
        print(f"  rcv1, CDN, C = {C:g}: {figures}; {size:.2f} labels a point", flush=True)


def tree_stops() -> None:
    from longtail.joint import LabelPowerset

    train, test = read_trial(find_paper("cbm").trial("mediamill"), DATA)
    for trees in SET_TREES:
        began = time.perf_counter()
        model = LabelPowerset(learner="boosting", n_trees=trees, n_jobs=2).fit(train.X, train.Y)
        seconds = time.perf_counter() - began
        figures = set_figures(test.Y, model.predict(test.X))
        print(
            f"  mediamill, boosted power-set, {trees} trees a set: {figures}, {seconds:.0f} s",
            flush=True,
        )


def set_figures(truth: Any, found: Any) -> str:
    from longtail.metrics import hamming_loss, jaccard, subset_accuracy

    right, alike, wrong = (
        100 * metric(truth, found) for metric in (subset_accuracy, jaccard, hamming_loss)
    )
    return f"subset accuracy {right:.1f}, Jaccard {alike:.1f}, Hamming {wrong:.1f}"


def field_stops() -> None:
    import scipy.sparse as sp
    from scipy.optimize import minimize

    from longtail.engine.score_maps import score_map
    from longtail.engine.softmax_loss import SoftmaxLoss
    from longtail.joint._pair_scores import PairFeatures, PairScores, set_scores
    from longtail.labels import distinct_sets
    from longtail.metrics import subset_accuracy

    train, test = read_trial(find_paper("cbm").trial("rcv1"), DATA)
    sets, which = distinct_sets(train.Y)
    n, n_sets = len(which), sets.shape[0]
    features, n_rows = PairFeatures(sets), train.X.shape[1] + 1
    scores = PairScores(
        score_map(train.X, 1.0, sets.shape[1], np.float64), features, n_rows, np.float64
    )
    targets = sp.csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, n_sets))
    loss = SoftmaxLoss(
        scores, targets, np.ones(n), strength=1.0, dtype=np.float64,
        n_parameters=scores.n_parameters, precondition=lambda residual, _: residual, n_jobs=2,
    )  # fmt: skip
    taken = 0

    def after_step(point: Any) -> None:
        nonlocal taken
        taken += 1
        if taken in FIELD_STEPS:
            weights, theta = scores.split(point)
            by_label = test.X @ weights[:-1] + weights[-1]
            best = set_scores(by_label, sets, features.times(theta)).argmax(axis=1)
            right = 100 * subset_accuracy(test.Y, sp.csr_array(sets[best]))
            print(f"  rcv1, pairCRF, {taken} steps of L-BFGS: {right:.1f}", flush=True)

    options = {"maxiter": max(FIELD_STEPS), "maxfun": 10 * max(FIELD_STEPS)}
    start = np.zeros(scores.n_parameters)
    with loss.running():
        minimize(
            loss.evaluate, start, jac=True, method="L-BFGS-B", callback=after_step, options=options
        )


def curve(bars: Bars, plot: Path | None) -> None:
    from longtail.metrics import subset_accuracy

    train, test = read_trial(find_paper("cbm").trial("rcv1"), DATA)
    rows = []
    print(f"\n  {'K':>4}{'left':>6}{'subset acc.':>13}{'train s':>9}")
    for size in SIZES:
        model = ConditionalBernoulliMixture(
            n_components=size, C=1e3, allow_empty=True if size == 1 else None, n_jobs=2
        )
        began = time.perf_counter()
        model.fit(train.X, train.Y)
        seconds = time.perf_counter() - began
        predicted = model.predict(test.X)
        share = subset_accuracy(test.Y, predicted)
        rows.append({"n_components": size, "subset_accuracy": share})
        left = model.n_components_
        print(f"  {size:>4}{left:>6}{100 * share:>13.2f}{seconds:>9.1f}", flush=True)
        if size == 1:
            relevance = BinaryRelevance(C=1e3, prune=0.0, n_jobs=2).fit(train.X, train.Y)
            alone = relevance.predict(test.X)
            same = ((alone != predicted).sum(axis=1) == 0).mean()
            bars.at_least("K = 1: test points with the set of binary relevance", same, 0.99, ".3f")
    shares = [row["subset_accuracy"] for row in rows]
    bars.at_least("K = 30 above K = 1, points", 100 * (shares[-1] - shares[0]), 1.0)
    bars.at_most(
        "K from 20 to 30 changes it by, points",
        100 * abs(shares[-1] - shares[SIZES.index(20)]),
        2.0,
    )
    if plot is not None:
        from longtail.report import component_curve_figure, save_figure

        others = {"BinRel": subset_accuracy(test.Y, alone)}
        title = "RCV1, subset 1"
        figure = component_curve_figure(pl.DataFrame(rows), others=others, title=title)
        save_figure(figure, plot)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="decoder,mediamill,seeds,curve")
    options.add_argument("--plot", type=Path, help="where to draw the curve")
    chosen = options.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"There is no folder {DATA}; name the data's in LONGTAIL_DATA.")
    warnings.simplefilter("ignore", LongtailWarning)
    bars = Bars()
    for part in chosen.only.split(","):
        if part == "decoder":
            decoder(bars)
        elif part == "mediamill":
            mediamill(bars)
        elif part == "seeds":
            seeds(bars)
        elif part == "stops":
            stops()
        elif part == "networks":
            networks()
        elif part == "tree-stops":
            tree_stops()
        elif part == "field-stops":
            field_stops()
        elif part == "curve":
            curve(bars, chosen.plot)
        else:
            raise SystemExit(
                f"There is no part {part!r}; they are decoder, mediamill, seeds, stops, "
                "networks, tree-stops, field-stops, curve."
            )
    print(f"\n{len(bars.rows)} bars, {len(bars.missed())} not met")


if __name__ == "__main__":
    main()
