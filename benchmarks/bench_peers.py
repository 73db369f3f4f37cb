"""Our methods against Omikuji, PECOS, napkinXC and scikit-learn: accuracy, time, size, memory.

    make bench-peers
    make bench-peers ARGS="--markdown peers.md"
    python benchmarks/bench_peers.py --sets bibtex --methods proxml,omikuji --repeats 1
    python benchmarks/bench_peers.py --resume FILE

The sets, and what is claimed on each, are in peers/cases.py. Bibtex, EURLex-4K, debian-depends and
wordnet-hypernyms are read from the folder that LONGTAIL_DATA names, by default `shared/data` beside
the project's own folder; a set that is not there is left out. The generated sets have the shape of
Amazon-670K, at three sizes, over which the exponent of each method's training time is fitted.

Every method, ours too, runs in a process of its own, the peers in environments of their own
(benchmarks/peers), on the same features with rows of unit length, with two threads and the settings
that its authors recommend. It leaves the five best labels of every test point, which are evaluated
here. The methods take turns, three of them; a training that takes more than three minutes is done
once. The best time counts. Figures are kept in a JSON file as they come, and --resume goes on with
it: turns that are in the file are not done again, and what failed is tried again.

Slow methods are left out of sets with many features and labels, unless --all is given. What is left
out, cannot be installed, fails, or takes longer than --time-limit is a row that says why. The bars
at the end are what we claim.
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
from peers.cases import MOST_EXPONENT, cases
from peers.problems import SEED, Problem
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
SMALLEST = 20
LONG = 180.0
"""Seconds of training from which on it is done once."""


def too_slow(problem: Problem, name: str) -> str:
    """Why a method is left out of a set; empty if it is not."""
    most = METHODS[name].most_cells
    if problem.cells <= most:
        return ""
    return (
        f"left out: {problem.cells / 1e6:,.1f} million features × labels; by default it is "
        f"measured up to {most / 1e6:,g} million"
    )


def measure(
    problem: Problem, results: Results, given: argparse.Namespace
) -> tuple[list[Row], list[Row]]:
    """All turns of all methods on one set that are not in the results yet; and what is left out."""
    p = propensities(problem.Y)
    rows, left_out = {}, []
    for name in given.methods:
        reason = "" if given.all else too_slow(problem, name)
        if reason:
            left_out.append(Row(problem.name, name, {}, reason=reason))
        else:
            rows[name] = results.row(problem.name, name, origin(problem, name))
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
    return list(rows.values()), left_out


def origin(problem: Problem, method: str) -> dict[str, object]:
    """What a row's figures depend on, to know whether a kept one is of the same."""
    (n, d), m, labels = problem.X.shape, problem.X_test.shape[0], problem.Y.shape[1]
    return {
        "shape": [n, m, d, labels], "stored": [int(problem.X.nnz), int(problem.Y.nnz)],
        "seed": SEED, "threads": THREADS, "settings": METHODS[method].settings,
    }  # fmt: skip


def growth_tables(measured: dict[int, list[Row]], bars: Bars) -> tuple[str, str]:
    """Training time by number of points and its exponent, as a text and as a Markdown table."""
    sizes = sorted(measured)
    head = ["method", *(f"{n:,}" for n in sizes), "exponent"]
    lines = [head]
    for name, method in METHODS.items():
        seconds = [row.train for n in sizes for row in measured[n] if row.method == name]
        if not seconds:
            continue
        found = exponent(sizes, seconds)
        if name in MOST_EXPONENT:
            what = f"Generated: exponent of {method.title}'s training"
            bars.at_most(what, found, MOST_EXPONENT[name])
        if np.isfinite(found):
            shown = (f"{value:,.1f}" for value in seconds)
            lines.append([method.title, *shown, f"{found:.2f}"])
    text = [f"  {line[0]:<18}" + "".join(f"{cell:>12}" for cell in line[1:]) for line in lines]
    rule = ["---", *["---:"] * (len(head) - 1)]
    page = ["| " + " | ".join(line) + " |" for line in (head, rule, *lines[1:])]
    return "\n".join(text), "\n".join(page)


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Of the power law through the times, by least squares of the logarithms; NaN if one lacks."""
    if len(seconds) < len(sizes) or not np.all(np.isfinite(seconds)):
        return np.nan
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


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
    sets = cases(SMALLEST)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=some_of(sets), default=list(sets), help="by commas")
    parser.add_argument("--methods", type=some_of(METHODS), default=list(METHODS), help="by commas")
    parser.add_argument("--all", action="store_true", help="also what is too slow for a set")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each method")
    parser.add_argument(
        "--part",
        type=int,
        default=SMALLEST,
        help="the smallest generated set is one part in so many of Amazon-670K",
    )
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
    known = cases(given.part)
    measured: dict[str, list[Row]] = {}
    titles, sizes = {}, {}
    for name in given.sets:
        problem = known[name].read()
        if problem is None:
            continue
        try:
            rows, left_out = measure(problem, results, given)
        except KeyboardInterrupt:
            raise SystemExit(f"Interrupted; --resume {results.file} goes on.") from None
        measured[name], titles[name], sizes[name] = rows, problem.name, problem.X.shape[0]
        heading = f"{problem}, {problem.means}, two threads, best of {given.repeats}"
        notes, table = remarks(rows), [*rows, *left_out]
        print("\n".join([heading, text_table(table), *(f"  {note}" for note in notes)]) + "\n")
        page += ["", f"{heading}:", "", markdown_table(table)]
        page += ["", *(f"- {note}" for note in notes)] if notes else []
    versions = version_lines(row for rows in measured.values() for row in rows)
    print("\n".join(versions) + "\n")
    bars = Bars()
    for name, rows in measured.items():
        known[name].check(bars, titles[name], rows)
        print(flush=True)
    growing = {sizes[name]: rows for name, rows in measured.items() if known[name].grows}
    if len(growing) > 1:
        text, table = growth_tables(growing, bars)
        heading = "Seconds of training by the number of points, all in proportion"
        print(f"\n{heading}\n{text}", flush=True)
        page += ["", f"{heading}:", "", table]
    bars.sum_up()
    results.save(bars=bars.rows)
    if given.markdown:
        page += ["", *(f"- {line}" for line in versions), "", bars_table(bars), ""]
        given.markdown.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
