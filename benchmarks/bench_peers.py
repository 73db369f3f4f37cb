"""Our methods against Omikuji, PECOS, napkinXC and scikit-learn: accuracy, time, size, memory.

    make bench-peers
    make bench-peers ARGS="--markdown peers.md"
    python benchmarks/bench_peers.py --sets bibtex --methods proxml,omikuji --repeats 1
    python benchmarks/bench_peers.py --resume FILE

Every method, ours too, runs in a process of its own, the peers in environments of their own
(benchmarks/peers), on the same features with rows of unit length, with two threads and the settings
that its authors recommend. It leaves the five best labels of every test point, which are evaluated
here. The methods take turns, three of them; a training that takes more than three minutes is done
once. The best time counts. Figures are kept in a JSON file as they come, and --resume goes on with
it: turns that are in the file are not done again, and what failed is tried again.

EURLex-4K and Bibtex are read from the folder that LONGTAIL_DATA names, by default `shared/data`
beside the project's own folder; a set that is not there is left out. What cannot be installed,
fails, or takes longer than --time-limit is a row that says why. The bars at the end are what we
claim.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from longtail.labels import propensities
from longtail.metrics import evaluate
from peers.bars import Bars
from peers.calling import ENVIRONMENTS, HERE, METHODS, PeerMissing, as_scores, call, lay_out
from peers.problems import SEED, Problem, generated, real
from peers.results import Results, Row
from peers.tables import (
    METRICS,
    machine_line,
    markdown_table,
    remarks,
    text_table,
    version_lines,
)

THREADS = 2
LONG = 180.0
"""Seconds of training from which on it is done once."""
POINTS_A_LABEL, FEATURES_A_LABEL = 0.9, 0.5
SPEED_PREDICT, SIZE_SHARE, SPEED_SVC, SPEED_LOGISTIC = 5.0, 0.1, 10.0, 1.0
SAME = 0.3
"""How far P@1 of two solvers of one objective may be apart, in percent."""
TREES = ("omikuji", "pecos", "napkinxc")


def problems(labels: int) -> dict[str, Callable[[], Problem | None]]:
    return {
        "bibtex": lambda: real("bibtex", "Bibtex", None),
        "eurlex": lambda: real("eurlex-4k", "EURLex-4K", "sqrt"),
        "generated": lambda: generated(
            round(POINTS_A_LABEL * labels), round(FEATURES_A_LABEL * labels), labels
        ),
    }


def measure(problem: Problem, results: Results, given: argparse.Namespace) -> list[Row]:
    """All turns of all methods on one set that are not in the results yet."""
    p = propensities(problem.Y)
    rows = {name: results.row(problem.name, name, origin(problem, name)) for name in given.methods}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if any(row.wants(given.repeats - 1, LONG) for row in rows.values()):
            lay_out(place / "data", problem)
        for turn in range(given.repeats):
            for name, row in rows.items():
                if not row.wants(turn, LONG):
                    continue
                said = f"{problem.name}, turn {turn + 1} of {given.repeats}: {METHODS[name].title}"
                print(said, file=sys.stderr, flush=True)
                try:
                    figures, labels = call(
                        METHODS[name], place / "data", place / "out", threads=THREADS,
                        environments=given.environments, limit=60 * given.time_limit,
                    )  # fmt: skip
                except PeerMissing as reason:
                    row.reason = str(reason)
                    print(f"  {row.reason}", file=sys.stderr, flush=True)
                else:
                    top = as_scores(labels, problem.Y.shape[1])
                    found = evaluate(problem.Y_test, Y_score=top, propensities=p)
                    metrics = {metric: float(found[metric]) for metric in METRICS}
                    row.turns.append({**figures, "metrics": metrics})
                results.save()
    return list(rows.values())


def origin(problem: Problem, method: str) -> dict[str, object]:
    """What a row's figures depend on, to know whether a kept one is of the same."""
    (n, d), m, labels = problem.X.shape, problem.X_test.shape[0], problem.Y.shape[1]
    return {
        "shape": [n, m, d, labels], "stored": [int(problem.X.nnz), int(problem.Y.nnz)],
        "seed": SEED, "threads": THREADS, "settings": METHODS[method].settings,
    }  # fmt: skip


def claims(bars: Bars, where: str, rows: list[Row]) -> None:
    """What we say of ourselves, one bar each; a row without figures leaves a bar unmeasured."""
    of = {row.method: row for row in rows}

    def ratio(one: str, other: str, figure: str) -> float:
        if one not in of or other not in of:
            return np.nan
        return float(getattr(of[one], figure) / getattr(of[other], figure))

    def precision(method: str) -> float:
        return of[method].metric("P@1") if method in of else np.nan

    bars.at_most(f"{where}: ProXML's training / Omikuji's", ratio("proxml", "omikuji", "train"), 1)
    bars.at_most(
        f"{where}: ProXML's training / PECOS's", ratio("proxml", "pecos", "train"), 1, stretch=True
    )
    bars.at_least(
        f"{where}: napkinXC's prediction / ProXML's",
        ratio("napkinxc", "proxml", "predict"),
        SPEED_PREDICT,
    )
    for tree in TREES:
        title = METHODS[tree].title.split(",")[0].split()[0]
        size = ratio("proxml", tree, "bytes")
        bars.at_most(
            f"{where}: ProXML's model / {title}'s", size, SIZE_SHARE, stretch=tree == "pecos"
        )
    found = [precision(tree) for tree in TREES]
    best = max((value for value in found if np.isfinite(value)), default=np.nan)
    bars.at_least(
        f"{where}: ProXML's P@1 less the best tree's", precision("proxml") - best, 0, ".2f"
    )
    bars.at_least(
        f"{where}: LinearSVC's training / DiSMEC's", ratio("svc", "dismec", "train"), SPEED_SVC
    )
    bars.at_least(
        f"{where}: LogisticRegression's training / ours",
        ratio("logistic", "br", "train"),
        SPEED_LOGISTIC,
    )
    for ours, theirs in (("dismec", "svc"), ("br", "logistic")):
        apart = abs(precision(ours) - precision(theirs))
        bars.at_most(
            f"{where}: {METHODS[ours].title}, {METHODS[theirs].title}: P@1 apart", apart, SAME
        )


def bars_table(bars: Bars) -> str:
    lines = ["| claim | wanted | measured | |", "|---|---:|---:|---|"]
    for row in bars.rows:
        shown = f"{row['measured']:.2f}" if np.isfinite(row["measured"]) else "–"
        lines.append(f"| {row['bar']} | {row['wanted']} | {shown} | {row['verdict']} |")
    return "\n".join(lines)


def some_of(known: dict[str, object]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"there is no {unknown[0]!r}; choose among {','.join(known)}"
            )
        return chosen

    return read


def options() -> argparse.ArgumentParser:
    sets = problems(0)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=some_of(sets), default=list(sets), help="by commas")
    parser.add_argument("--methods", type=some_of(METHODS), default=list(METHODS), help="by commas")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each method")
    parser.add_argument("--labels", type=int, default=20_000, help="of the generated set")
    parser.add_argument("--time-limit", type=float, default=60, help="minutes a call may take")
    parser.add_argument("--markdown", type=Path, help="where to write the tables for a page")
    kept = parser.add_mutually_exclusive_group()
    new = HERE / ".results" / time.strftime("%Y-%m-%d-%H%M%S.json")
    kept.add_argument("--json", type=Path, default=new, help="file to keep the figures in")
    kept.add_argument("--resume", type=Path, help="such a file, to go on with")
    parser.add_argument(
        "--environments", type=Path, default=ENVIRONMENTS, help="folder of the peers' environments"
    )
    return parser


def main() -> None:
    given = options().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that drivers end with us
    results = Results(given.resume or given.json, resume=given.resume is not None)
    print(f"{machine_line(results.machine)}\nfigures are kept in {results.file}\n", flush=True)
    page = [f"{machine_line(results.machine)}."]
    measured: dict[str, list[Row]] = {}
    known = problems(given.labels)
    for name in given.sets:
        problem = known[name]()
        if problem is None:
            continue
        try:
            rows = measured[problem.name] = measure(problem, results, given)
        except KeyboardInterrupt:
            raise SystemExit(f"Interrupted; --resume {results.file} goes on.") from None
        heading = f"{problem}, {problem.means}, two threads, best of {given.repeats}"
        notes = remarks(rows)
        print("\n".join([heading, text_table(rows), *(f"  {note}" for note in notes)]) + "\n")
        page += ["", f"{heading}:", "", markdown_table(rows)]
        page += ["", *(f"- {note}" for note in notes)] if notes else []
    versions = version_lines(row for rows in measured.values() for row in rows)
    print("\n".join(versions) + "\n")
    bars = Bars()
    for where, rows in measured.items():
        claims(bars, where, rows)
        print(flush=True)
    bars.sum_up()
    results.save(bars=bars.rows)
    if given.markdown:
        page += ["", *(f"- {line}" for line in versions), "", bars_table(bars), ""]
        given.markdown.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
