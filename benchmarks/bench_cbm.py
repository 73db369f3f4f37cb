"""Conditional Bernoulli mixtures: the decoder's speed, training on Mediamill, and the curve over K.

    make bench-cbm
    python benchmarks/bench_cbm.py --only decoder,curve --plot curve.png

The paper's tables are done by `longtail reproduce cbm`. Here:

- decoder: points per second at 100 labels and 30 components, two threads, best of three; the sets
  looked at for each point. Weights of the components are drawn from a Dirichlet distribution with
  parameter 0.2, log-odds from a normal one with mean -6 and deviation 3.
- mediamill: seconds and peak memory of training on 31,000 points with 101 labels, for the mixture
  with 30 components and for the label power-set, each in a process of its own; and the sets that
  the decoder looks at with the trained mixture.
- seeds: subset accuracy on Scene with 20 components from five random starts.
- curve: the paper's Figure 3 on RCV1 (subset 1), K from 1 to 45; with one component and empty sets
  allowed, the predictions are those of binary relevance.

Only if asked for:

- case: one picture of Scene explained, as in the paper's case study; `--plot` draws its Figure 2.
- choice: K and C chosen by cross-validation on Scene's training part.
- stops, field-stops: logistic regressions and the pairwise random field by L-BFGS after so many
  steps, on RCV1 and Mediamill. Some twenty minutes.
- trees, tree-stops: boosted methods by their number of trees; on Scene and RCV1, and the power-set
  on Mediamill.
- networks: the dependency network by its penalty and by where its probabilities are cut.
- halves: RCV1 with its two parts exchanged, and in random halves.
- softening: how the start is softened where K exceeds the number of label sets, by
  cross-validation on Scene's training part.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cbm_reasons as reasons
from cbm_reasons import opened, set_figures
from data_folder import data_folder
from longtail.errors import LongtailWarning
from longtail.methods.linear import BinaryRelevance
from longtail.methods.mixtures import (
    ConditionalBernoulliMixture,
    ConditionalBernoulliMixtureCV,
    most_probable_sets,
)
from longtail.metrics import subset_accuracy
from measuring import alone, peak_gigabytes, timed
from peers.bars import Bars

REPEATS = 3
SIZES = (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 45)
CHOICE = {"numbers_of_components": (5, 10, 20, 30), "Cs": (0.1, 1.0, 10.0)}


def decoder(bars: Bars) -> None:
    rng = np.random.default_rng(0)
    n, n_components, n_labels = 20_000, 30, 100
    weights = np.log(rng.dirichlet(np.full(n_components, 0.2), size=n))
    odds = rng.normal(-6, 3, size=(n, n_components, n_labels)).astype(np.float32)
    most_probable_sets(weights[:10], odds[:10])
    print(f"\n  {'threads':>8}{'points/s':>12}{'sets visited':>14}{'a component':>13}{'most':>8}")
    for threads in (1, 2):
        turns = [
            timed(lambda threads=threads: most_probable_sets(weights, odds, n_jobs=threads))
            for _ in range(REPEATS)
        ]
        speed = n / min(seconds for seconds, _ in turns)
        visits = turns[0][1].visits
        each = visits.mean() / n_components
        print(
            f"  {threads:>8}{speed:>12,.0f}{visits.mean():>14.1f}{each:>13.2f}{visits.max():>8,}",
            flush=True,
        )
    bars.at_least("decoder, points a second on two threads", speed, 10_000, ".0f")


def _trained(kind: str) -> tuple[float, float, float, str]:
    """Seconds, peak GB, subset accuracy, and what came of it."""
    warnings.simplefilter("ignore", LongtailWarning)
    from longtail.methods.joint import LabelPowerset

    train, test = opened("mediamill")
    if kind == "cbm":
        model: Any = ConditionalBernoulliMixture(n_components=30, C=1e3, n_jobs=2)
    else:
        model = LabelPowerset(C=1e3, n_jobs=2)
    seconds, _ = timed(lambda: model.fit(train.X, train.Y))
    peak = peak_gigabytes()
    right = subset_accuracy(test.Y, model.predict(test.X))
    if kind == "cbm":
        about = (
            f"{model.n_iter_} rounds, {model.n_components_} components; {_visits(model, test.X)}"
        )
    else:
        about = f"{model.sets_.shape[0]:,} sets"
    return seconds, peak, 100 * right, about


def _visits(model: ConditionalBernoulliMixture, X: Any) -> str:
    """How far the decoder goes for these points."""
    rows = model._block_rows()
    parts = []
    for at in range(0, X.shape[0], rows):
        weights, odds = model._point_mixtures(X[at : at + rows])
        parts.append(most_probable_sets(weights, odds, allow_empty=model.empty_sets_).visits)
    visits = np.concatenate(parts)
    each = visits.mean() / model.n_components_
    return (
        f"{visits.mean():.1f} sets looked at for a point, {each:.2f} a component, "
        f"{visits.max():,} at most"
    )


def mediamill(bars: Bars) -> None:
    print(f"\n  {'Mediamill':<12}{'train s':>9}{'peak GB':>9}{'subset acc.':>13}")
    for kind, name in (("cbm", "CBM, K=30"), ("powerset", "PowSet")):
        seconds, peak, right, about = alone(_trained, kind)
        print(f"  {name:<12}{seconds:>9.0f}{peak:>9.2f}{right:>13.2f}  {about}", flush=True)
        if kind == "cbm":
            bars.at_most("CBM on Mediamill, minutes of training", seconds / 60, 15.0, ".1f")
            bars.at_most("CBM on Mediamill, peak GB", peak, 4.0)


def seeds(bars: Bars) -> None:
    train, test = opened("scene")
    found = []
    for seed in range(5):
        model = ConditionalBernoulliMixture(n_components=20, random_state=seed, n_jobs=2)
        model.fit(train.X, train.Y)
        found.append(100 * subset_accuracy(test.Y, model.predict(test.X)))
        print(
            f"  Scene, seed {seed}: {found[-1]:.2f}, {model.n_components_} components", flush=True
        )
    bars.at_least("Scene, mean subset accuracy over five seeds", float(np.mean(found)), 69.0, ".2f")


def curve(bars: Bars, plot: Path | None) -> None:
    train, test = opened("rcv1")
    rows = []
    print(f"\n  {'K':>4}{'left':>6}{'subset acc.':>13}{'train s':>9}")
    for size in SIZES:
        model = ConditionalBernoulliMixture(
            n_components=size, C=1e3, allow_empty=True if size == 1 else None, n_jobs=2
        )
        seconds, _ = timed(lambda model=model: model.fit(train.X, train.Y))
        predicted = model.predict(test.X)
        share = subset_accuracy(test.Y, predicted)
        rows.append({"n_components": size, "subset_accuracy": share})
        left = model.n_components_
        print(f"  {size:>4}{left:>6}{100 * share:>13.2f}{seconds:>9.1f}", flush=True)
        if size == 1:
            relevance = BinaryRelevance(C=1e3, prune=0.0, n_jobs=2).fit(train.X, train.Y)
            single = relevance.predict(test.X)
            same = ((single != predicted).sum(axis=1) == 0).mean()
            bars.at_least("K = 1: test points with the set of binary relevance", same, 0.99, ".3f")
    shares = [row["subset_accuracy"] for row in rows]
    one, twenty, thirty = (100 * shares[SIZES.index(size)] for size in (1, 20, 30))
    bars.at_least("K = 30 above K = 1, points", thirty - one, 1.0)
    bars.at_most("K from 20 to 30 changes it by, points", abs(thirty - twenty), 2.0)
    if plot is not None:
        from longtail.report import component_curve_figure, save_figure

        others = {"BinRel": subset_accuracy(test.Y, single)}
        title = "RCV1, subset 1"
        figure = component_curve_figure(pl.DataFrame(rows), others=others, title=title)
        save_figure(figure, plot)


def case(plot: Path | None) -> None:
    """A test picture whose set is right and has a label that is less likely than not.

    Of these the first of those with most labels.
    """
    train, test = opened("scene")
    model = ConditionalBernoulliMixture(n_components=20, n_jobs=2)
    model.fit(train.X, train.Y, label_names=test.label_names)
    chances, truth = model.predict_proba(test.X).toarray(), test.Y.toarray() > 0
    found = model.predict(test.X).toarray() > 0
    odd = (found & (chances < 0.5)).any(axis=1)
    right = (found == truth).all(axis=1)
    alone = (truth == (chances >= 0.5)).all(axis=1)
    print(
        f"  scene: for {odd.sum()} of {len(odd)} test points the most probable set has a label "
        f"that is less likely than not; {(odd & right).sum()} of these sets are right, and "
        f"{(odd & alone).sum()} sets of the labels more likely than not"
    )
    at = int(np.argmax(np.where(odd & right, truth.sum(axis=1), -1)))
    why = model.explain(test.X[[at]])
    print(f"\n  test point {at}\n{why}\n")
    if plot is not None:
        from longtail.report import components_figure, save_figure

        labels = why.table("labels")["label"].to_list()
        shares = why.table("components").pivot(on="label", index=["component", "weight"])
        correlations = np.eye(len(labels))
        for one, other, value in why.table("correlations").iter_rows():
            i, j = labels.index(one), labels.index(other)
            correlations[i, j] = correlations[j, i] = value
        figure = components_figure(
            shares["weight"], shares.select(map(str, labels)).to_numpy(), labels,
            correlations=correlations, title=f"Scene, test point {at}",
        )  # fmt: skip
        save_figure(figure, plot)


def choice() -> None:
    train, test = opened("scene")
    model = ConditionalBernoulliMixtureCV(**CHOICE, n_jobs=2).fit(train.X, train.Y)
    with pl.Config(tbl_rows=-1):
        print(model.choice_table())
    figures = set_figures(test.Y, model.predict(test.X))
    chosen = f"K = {model.chosen_n_components_}, C = {model.C_:g}"
    print(f"  scene: {chosen}: {figures} on the test part")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="decoder,mediamill,seeds,curve")
    options.add_argument("--plot", type=Path, help="where to draw the curve, or the case")
    chosen = options.parse_args()
    data_folder()
    warnings.simplefilter("ignore", LongtailWarning)
    bars = Bars()
    parts: dict[str, Callable[[], None]] = {
        "decoder": lambda: decoder(bars),
        "mediamill": lambda: mediamill(bars),
        "seeds": lambda: seeds(bars),
        "curve": lambda: curve(bars, chosen.plot),
        "case": lambda: case(chosen.plot),
        "choice": choice,
        "stops": reasons.stops,
        "field-stops": reasons.field_stops,
        "trees": reasons.trees,
        "tree-stops": reasons.tree_stops,
        "networks": reasons.networks,
        "halves": reasons.halves,
        "softening": reasons.softening,
    }
    for part in chosen.only.split(","):
        if part not in parts:
            raise SystemExit(f"There is no part {part!r}; they are {', '.join(parts)}.")
        parts[part]()
    bars.sum_up()


if __name__ == "__main__":
    main()
