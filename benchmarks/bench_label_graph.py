"""Does the label graph tell when one-vs-rest beats label embeddings? Our own table.

    make bench-label-graph
    python benchmarks/bench_label_graph.py --only bibtex,yeast --plot advantage.png

Section 4 of the ProXML paper explains by the algebraic connectivity of the label graph why
embeddings win on small sets and one-vs-rest on large ones. Here both kinds are trained on the same
features. One-vs-rest: DiSMEC, ProXML, and ridge regression of every label. Embeddings: the label
vectors in the coordinates of a truncated SVD, onto which ridge regression leads, decoded by the
transpose (PLST) or by the labels of the nearest training points there (the idea of SLEEC, without
its clusters and ensembles). Two controls: PLST is ridge regression of every label but for the
embedding, so the two show what the embedding alone does; and neighbours can be found in the
features without any embedding. Settings are chosen by nDCG@5 on a quarter of the training
part.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import spearmanr, t
from sklearn.decomposition import TruncatedSVD

from data_folder import missing
from longtail.errors import ConvergenceWarning
from longtail.labels import algebraic_connectivity, connected_components, propensities
from longtail.methods.linear import DiSMEC, ProXML
from longtail.metrics import evaluate
from measuring import timed
from peers.embeddings import (
    by_neighbours,
    by_transpose,
    embedded_top,
    plain_neighbours_top,
    ridge_top,
)
from peers.label_sets import SETS, WITHOUT_DATA, Problem

THREADS = 2
COLUMNS = ("P@1", "P@5", "PSP@5", "C@1", "C@3", "C@5")
SEARCH_BELOW = 500_000
"""One-vs-rest has strength 1 where points times labels are more than this, for time."""
STRENGTHS = (0.1, 1.0, 10.0)
DIMENSIONS = (0.05, 0.1, 0.25, 0.5)
"""Of an embedding, as shares of the number of labels."""
MOST_DIMENSIONS = 500


# ---- methods -------------------------------------------------------------------------------------


class Method(NamedTuple):
    """A way to predict: its settings to choose from, and top five scores for settings and data."""

    settings: Callable[[Problem], list[Any]]
    top: Callable[[Problem, list[Any]], Iterable[sp.csr_array]]


def one_vs_rest(make: Callable[[float], Any]) -> Method:
    def settings(problem: Problem) -> list[float]:
        return list(STRENGTHS) if np.prod(problem.Y.shape) < SEARCH_BELOW else [1.0]

    def top(problem: Problem, chosen: list[float]) -> Iterable[sp.csr_array]:
        for strength in chosen:
            yield make(strength).fit(problem.X, problem.Y).predict_topk(problem.X_test, 5)

    return Method(settings, top)


def ridge_settings(problem: Problem) -> list[float]:
    return list(STRENGTHS)


def embedding_settings(problem: Problem) -> list[tuple[float, int]]:
    n_labels = problem.Y.shape[1]
    dimensions = {min(max(round(share * n_labels), 1), MOST_DIMENSIONS) for share in DIMENSIONS}
    return [(alpha, d) for alpha in STRENGTHS for d in sorted(dimensions)]


METHODS = {
    "DiSMEC": one_vs_rest(lambda strength: DiSMEC(C=1 / strength, n_jobs=THREADS)),
    "ProXML": one_vs_rest(lambda strength: ProXML(strength=strength / 2, n_jobs=THREADS)),
    "ridge": Method(ridge_settings, ridge_top),
    "PLST": Method(embedding_settings, partial(embedded_top, decode=by_transpose)),
    "neighbours": Method(embedding_settings, partial(embedded_top, decode=by_neighbours)),
    "plain kNN": Method(lambda problem: [None], plain_neighbours_top),
}
"""The strength is that of ½‖w‖², of ½‖w‖₁ for ProXML, and of ‖w‖² for ridge regression."""
COMPARISONS = {
    "DiSMEC over the better embedding": ("DiSMEC", ("PLST", "neighbours")),
    "ProXML over the better embedding": ("ProXML", ("PLST", "neighbours")),
    "ridge over PLST, which is the same but for the embedding": ("ridge", ("PLST",)),
}
GAINS = ("P@1", "P@5", "PSP@5", "C@5")
FACTS = ("lambda2", "labels a point", "points a label", "labels", "low rank")


def measured(method: Method, problem: Problem) -> dict[str, Any]:
    """Metrics in percent on the test part, at the settings that are best on the inner split."""
    settings = method.settings(problem)
    chosen = settings[0]
    if len(settings) > 1:
        inner = problem.inner
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = [
                evaluate(inner.Y_test, Y_score=scores)["nDCG@5"]
                for scores in method.top(inner, settings)
            ]
        chosen = settings[int(np.argmax(found))]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ConvergenceWarning)
        (scores,) = method.top(problem, [chosen])
    result = evaluate(problem.Y_test, Y_score=scores, propensities=propensities(problem.Y))
    return {name: 100 * result[name] for name in COLUMNS} | {
        "setting": chosen,
        "converged": not any(issubclass(w.category, ConvergenceWarning) for w in heard),
    }


# ---- tables --------------------------------------------------------------------------------------


def facts(problem: Problem) -> dict[str, float]:
    Y = problem.Y
    part_of = connected_components(Y).of_label
    return {
        "points": Y.shape[0],
        "labels": Y.shape[1],
        "labels a point": Y.nnz / Y.shape[0],
        "points a label": Y.nnz / Y.shape[1],
        "lambda2": algebraic_connectivity(Y),
        "in largest part": float((part_of == 0).sum() / max((part_of >= 0).sum(), 1)),
        "low rank": low_rank_share(Y),
    }


def low_rank_share(Y: sp.csr_array) -> float:
    """Share of ‖Y‖² in the best approximation of rank L / 10, from 0 to 1."""
    rank = min(max(round(Y.shape[1] / 10), 1), min(Y.shape) - 1)
    svd = TruncatedSVD(rank, random_state=0).fit(sp.csr_matrix(Y, dtype=np.float64))
    return float((svd.singular_values_**2).sum() / Y.nnz)


def setting_text(setting: Any) -> str:
    if setting is None:
        return ""
    if isinstance(setting, list | tuple):
        return f"{setting[0]:g}, {setting[1]} dimensions"
    return f"{setting:g}"


def print_set(name: str, about: dict[str, float], rows: dict[str, dict[str, Any]]) -> None:
    print(
        f"\n{name}: {about['points']:,} points, {about['labels']:,} labels, "
        f"{about['labels a point']:.2f} labels a point, "
        f"{about['points a label']:.1f} points a label"
    )
    print(
        f"  λ₂ {about['lambda2']:.4f} of the {100 * about['in largest part']:.1f} % of the labels "
        f"that hang together; {100 * about['low rank']:.1f} % of ‖Y‖² at rank L/10"
    )
    print(f"  {'':<12}" + "".join(f"{column:>8}" for column in COLUMNS) + "   strength")
    for method, row in rows.items():
        values = "".join(f"{row[column]:>8.2f}" for column in COLUMNS)
        note = "" if row["converged"] else "; some labels ended at the limit of iterations"
        print(f"  {method:<12}{values}   {setting_text(row['setting'])}{note}", flush=True)


def advantage(rows: dict[str, dict[str, Any]], comparison: str, metric: str) -> float:
    """Of the one-vs-rest method over the best of the others, in percentage points."""
    method, others = COMPARISONS[comparison]
    return rows[method][metric] - max(rows[name][metric] for name in others)


def by_chance(n: int) -> float:
    """The rank correlation of n unrelated pairs that one in twenty exceeds, either way."""
    limit = float(t.ppf(0.975, n - 2))
    return limit / (n - 2 + limit**2) ** 0.5


def is_made_up(name: str) -> bool:
    return name.startswith("made up")


def print_comparison(found: dict[str, Any], comparison: str) -> dict[str, Any]:
    """The advantage on every set, by falling connectivity, and what it goes along with."""
    print(f"\n{comparison}, percentage points")
    head = f"  {'set':<22}{'λ₂':>8}{'labels/point':>14}{'points/label':>14}{'rank L/10':>11}"
    print(head + "".join(f"{metric:>9}" for metric in GAINS))
    order = sorted(found, key=lambda name: -found[name]["facts"]["lambda2"])
    gains = {
        name: {m: advantage(found[name]["methods"], comparison, m) for m in GAINS} for name in order
    }
    for name in order:
        about = found[name]["facts"]
        print(
            f"  {name:<22}{about['lambda2']:>8.4f}{about['labels a point']:>14.2f}"
            f"{about['points a label']:>14.1f}{about['low rank']:>11.2f}"
            + "".join(f"{value:>+9.2f}" for value in gains[name].values())
        )
    ranks: dict[str, Any] = {}
    for kind, names in (("real sets", [n for n in order if not is_made_up(n)]), ("all", order)):
        if len(names) < 4:
            continue
        print(
            f"  rank correlation with, {kind} ({len(names)}; one in twenty exceeds "
            f"±{by_chance(len(names)):.2f} by chance)"
        )
        for fact in FACTS:
            known = [found[name]["facts"][fact] for name in names]
            row = {
                m: float(spearmanr(known, [gains[name][m] for name in names]).statistic)
                for m in GAINS
            }
            print(f"    {fact:<67}" + "".join(f"{value:>+9.2f}" for value in row.values()))
            ranks[f"{kind}: {fact}"] = row
    return {"gains": gains, "rank correlations": ranks}


def plot(found: dict[str, Any], comparison: str, file: Path) -> None:
    from matplotlib.figure import Figure

    from longtail.report import save_figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    for ax, metric in zip(figure.subplots(1, 2), ("P@5", "PSP@5"), strict=True):
        for kind, colour in ((False, "#2f6db5"), (True, "#d9822b")):
            names = [name for name in found if is_made_up(name) == kind]
            names.sort(key=lambda name: found[name]["facts"]["lambda2"])
            x = [found[name]["facts"]["lambda2"] for name in names]
            y = [advantage(found[name]["methods"], comparison, metric) for name in names]
            ax.scatter(x, y, color=colour, label="made up" if kind else "real", s=36)
            for place, (name, *at) in enumerate(zip(names, x, y, strict=True)):
                ax.annotate(
                    name.removeprefix("made up: "), at, xytext=(-7 if place % 2 else 7, -3),
                    textcoords="offset points", size=8, ha="right" if place % 2 else "left",
                )  # fmt: skip
        ax.axhline(0, color="#666666", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlabel("algebraic connectivity λ₂ of the label graph")
        ax.set_ylabel(f"{metric}, percentage points")
        ax.grid(True, alpha=0.25)
        ax.margins(0.16)
    figure.axes[0].legend(frameon=False)
    figure.suptitle(f"Advantage of {comparison}")
    save_figure(figure, file)


def run_set(name: str, methods: list[str]) -> dict[str, Any] | None:
    """Train and test all methods on one set, and print what came out."""
    sentence = None if name in WITHOUT_DATA else missing()
    if sentence is not None:
        print(f"{name} is skipped. {sentence}")
        return None
    problem = SETS[name]()
    about, rows = facts(problem), {}
    for method in methods:
        seconds, rows[method] = timed(lambda way=METHODS[method]: measured(way, problem))
        print(f"{name} {method} {seconds:.1f} s", file=sys.stderr)
    print_set(name, about, rows)
    return {"facts": about, "methods": rows}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default=",".join(SETS), help="sets, by commas")
    options.add_argument("--methods", default=",".join(METHODS), help="methods, by commas")
    options.add_argument("--plot", type=Path, help="where to draw λ₂ against the advantage")
    options.add_argument("--json", type=Path, help="where to write all figures")
    options.add_argument(
        "--again", type=Path, nargs="+", help="show figures that --json wrote, train nothing"
    )
    given = options.parse_args()
    if given.again:
        found = {}
        for file in given.again:
            found |= json.loads(file.read_text())["sets"]
        for name, figures in found.items():
            print_set(name, figures["facts"], figures["methods"])
    else:
        sets, methods = given.only.split(","), given.methods.split(",")
        if set(sets) - set(SETS) or set(methods) - set(METHODS):
            options.error(f"sets are {', '.join(SETS)}; methods are {', '.join(METHODS)}")
        found = {name: figures for name in sets if (figures := run_set(name, methods))}
    results = {}
    for comparison, (method, others) in COMPARISONS.items():
        if found and all({method, *others} <= set(one["methods"]) for one in found.values()):
            results[comparison] = print_comparison(found, comparison)
    if given.plot and results:
        drawn = [name for name in results if "better" in name] or list(results)
        plot(found, drawn[-1], given.plot)
    if given.json:
        given.json.write_text(json.dumps({"sets": found, "comparisons": results}, indent=1))


if __name__ == "__main__":
    main()
