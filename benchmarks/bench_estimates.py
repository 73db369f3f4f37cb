"""Memory and time of training, measured beside what `estimate` said before.

    make bench-estimates
    python benchmarks/bench_estimates.py --sets scene,bibtex --methods proxml,cbm --time-limit 10

Every method is trained with its defaults and one thread on the training part of the real sets that
suit it, each time in a fresh process, after a fit on a few points that compiles kernels and loads
libraries. Memory is the peak of `fit` above what the process held before it; seconds are those of
the processor, so that a busy machine does not count. What takes longer than `--time-limit`
minutes is stopped, and what it took until then is a lower bound, marked >.

The bar: memory within a factor of 2, give or take 32 MB, since small peaks are mostly what the
allocator and the libraries keep. Seconds have no bar; they are meant to the order of magnitude.
`--keep FILE` writes what was measured, and reads it instead of training anew where it is there.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from data_folder import DATA, data_folder
from longtail.choosing.peak_memory import PeakMemory
from longtail.data import make_longtail, read_dataset
from longtail.errors import LongtailError
from longtail.features.made import usual_features
from longtail.methods.registry import find_method, methods
from longtail.papers import find_paper, read_trial

ALLOWANCE = 32e6
FACTOR = 2.0
SETS = (
    "scene", "bibtex", "rcv1-subset1", "delicious", "eurlex-4k", "wordnet-7500", "debian-depends",
)  # fmt: skip
ONLY = {  # methods that are meant for so many labels, and end within minutes
    "eurlex-4k": (
        "br", "dismec", "dbpc", "knn", "logtree", "ml-knn", "mrb", "ova", "plst", "proxml", "rbf",
        "sbf",
    ),
    "wordnet-7500": ("dismec", "mrb", "ova", "proxml", "logtree"),
    "debian-depends": ("dismec", "knn", "proxml"),
}  # fmt: skip
SETTINGS = {"mrb": {"C": 1.0}}


def _training_part(name: str, method: str) -> tuple[Any, Any]:
    kind = find_method(method).estimator.feature_kind
    if name == "wordnet-7500":
        train, _ = read_trial(find_paper("mrb").trial("WordNet-7500"), DATA)
        return usual_features(kind, texts=True).fit_transform(train.texts), train.Y
    train = read_dataset(DATA / name, part="train")
    if train.texts is not None:
        return usual_features(kind, texts=True).fit_transform(train.texts), train.Y
    return usual_features(kind, texts=False).fit_transform(train.X), train.Y


def _classifier(method: str) -> Any:
    return find_method(method).estimator(**SETTINGS.get(method, {}))


def _estimated(name: str, method: str) -> dict[str, Any]:
    X, Y = _training_part(name, method)
    began = time.process_time()
    try:
        found = _classifier(method).estimate(X, Y)
    except LongtailError as error:
        return {"refused": str(error)}
    return {
        "peak": found.peak_bytes,
        "model": found.model_bytes,
        "seconds": found.seconds,
        "reason": found.reason,
        "own seconds": time.process_time() - began,
    }


class _TooLongError(Exception):
    pass


def _stop(*_: Any) -> None:
    raise _TooLongError


def _measured(name: str, method: str, limit: float) -> dict[str, Any]:
    small = make_longtail(60, 40, 16, random_state=0)
    counts = find_method(method).estimator.feature_kind == "counts"
    _classifier(method).fit(small.X.ceil() if counts else small.X, small.Y)
    X, Y = _training_part(name, method)
    classifier, stopped = _classifier(method), False
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    began = time.process_time()
    with PeakMemory() as memory:
        try:
            classifier.fit(X, Y, progress=False)
        except _TooLongError:
            stopped = True
        except LongtailError as error:
            return {"refused": str(error)}
    seconds = time.process_time() - began
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"peak": memory.peak_bytes, "seconds": seconds, "stopped": stopped}


def _in_a_process(task: str, name: str, method: str, limit: float) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", __file__, task, name, method, str(limit)]
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=4 * limit + 120,
            env={**os.environ, **one},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": "did not stop in time"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def _row(method: str, before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str]:
    """The line of a method, and what came of it."""
    refused = [found["refused"] for found in (before, after) if "refused" in found]
    if refused:
        return f"  {method:<10} refused: {refused[0][:96]}", "refused"
    failed = [found["failed"] for found in (before, after) if "failed" in found]
    if failed:
        return f"  {method:<10} failed: {failed[0][:96]}", "failed"
    said, took, sign = before["peak"], after["peak"], ">" if after["stopped"] else ""
    below = said >= took / FACTOR - ALLOWANCE
    above = said <= FACTOR * took + ALLOWANCE
    kind = "within" if below and above else "beyond"
    if after["stopped"] and below:
        kind = "stopped"
    taken, seconds = f"{sign}{took / 1e6:,.1f}", f"{sign}{after['seconds']:.3g}"
    return (
        f"  {method:<10}{said / 1e6:>10,.1f}{taken:>12}{said / max(took, 1):>8.2f}"
        f"{before['seconds']:>11.3g}{seconds:>12}{before['seconds'] / after['seconds']:>8.2f}"
        f"{'   beyond the bar' if kind == 'beyond' else ''}"
    ), kind


def _compare(sets: Iterable[str], chosen: Iterable[str], limit: float, keep: Path | None) -> None:
    kept = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    came: dict[str, list[str]] = {}
    for name in sets:
        print(f"\n{name}")
        print(
            f"  {'method':<10}{'MB said':>10}{'MB taken':>12}{'ratio':>8}{'s said':>11}"
            f"{'s taken':>12}{'ratio':>8}"
        )
        for method in chosen:
            if method not in ONLY.get(name, (method,)):
                continue
            key = f"{name} {method}"
            if key not in kept:
                kept[key] = _in_a_process("measure", name, method, limit)
                if keep is not None and "failed" not in kept[key]:
                    keep.write_text(json.dumps(kept, indent=1))
            text, kind = _row(method, _in_a_process("estimate", name, method, limit), kept[key])
            print(text, flush=True)
            came.setdefault(kind, []).append(key)
    number = {kind: len(keys) for kind, keys in came.items()}
    ended = number.get("within", 0) + number.get("beyond", 0)
    print(
        f"\nMemory within a factor of 2, give or take 32 MB: {number.get('within', 0)} of {ended} "
        f"trainings that ended; {number.get('stopped', 0)} were stopped, and show only that it is "
        f"not too low; {number.get('refused', 0)} were refused, {number.get('failed', 0)} failed."
    )
    if "beyond" in came:
        print(f"Beyond the bar: {', '.join(came['beyond'])}")


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] in ("measure", "estimate"):
        name, method = sys.argv[2:4]
        if sys.argv[1] == "measure":
            print(json.dumps(_measured(name, method, float(sys.argv[4]))))
        else:
            print(json.dumps(_estimated(name, method)))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(methods()))
    parser.add_argument("--time-limit", type=float, default=5, help="minutes of one training")
    parser.add_argument("--keep", type=Path, help="JSON file of what was measured")
    given = parser.parse_args()
    data_folder()
    limit = 60 * given.time_limit
    _compare(given.sets.split(","), given.methods.split(","), limit, given.keep)


if __name__ == "__main__":
    main()
