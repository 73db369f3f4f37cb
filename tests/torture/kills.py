"""Trainings that get signals at random moments, and end with the same model all the same."""

from __future__ import annotations

import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import longtail
from longtail.errors import LongtailError
from tests.cli.files import write_docs
from tests.cli.killable import Moment, Training, content
from tests.torture.findings import Findings

METHODS: dict[str, tuple[str, ...]] = {
    "dismec": (),
    "br": (),
    "proxml": (),
    "proxml-cv": ("strengths=1.0,0.25", "folds=2"),
    "rbf": (),
    "plst": (),
    "cc": (),
    "cdn": (),
    "cbm": ("n_components=3", "n_starts=2", "max_rounds=4"),
    "powerset": (),
    "logtree": (),
    "lm-knn": ("max_iter=5",),
    "ova": (),
}
"""Methods that keep what is finished in files, each in its own way, and settings that make them
fast."""

COMPILED = 5.0
"""Seconds of a training that must have compiled something."""

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
BY_SIGNAL = {signal.SIGKILL: {-9}, signal.SIGTERM: {-15}, signal.SIGINT: {130}}
"""The exit codes that a signal may lead to, if the command has not ended before."""


@dataclass
class Undisturbed:
    """What the command gives if nobody interferes."""

    wanted: dict[str, bytes]
    operations: int
    seconds: float


def undisturbed(data: Path, folder: Path, method: str) -> Undisturbed:
    """Train once, and once more if that took long, since kernels may have been compiled."""
    training = _training(data, folder / f"{method}-undisturbed", method)
    seconds = _seconds(training)
    if seconds > COMPILED:
        shutil.rmtree(training.model)
        seconds = _seconds(training)
    return Undisturbed(content(training.model), training.moments(), seconds)


def _seconds(training: Training) -> float:
    started = time.monotonic()
    if training.run() != 0:
        raise RuntimeError(f"{training.words}: {training.log.read_text()}")
    return time.monotonic() - started


def _training(data: Path, folder: Path, method: str) -> Training:
    settings = [word for setting in METHODS[method] for word in ("--set", setting)]
    return Training(data, folder, *settings, method=method)


def torture(
    rng: np.random.Generator, kills: int, folder: Path, chosen: list[str] | None = None
) -> Findings:
    """Send so many signals, in turn to trainings of all methods; each then goes on to its end."""
    findings = Findings("signals to a training")
    data = folder / "train.jsonl"
    write_docs(data, folder / "test" / "test.jsonl")
    methods = chosen or list(METHODS)
    alone = {method: undisturbed(data, folder, method) for method in methods}
    sent = turn = 0
    while sent < kills:
        method = methods[turn % len(methods)]
        turn += 1
        training = _training(data, folder / f"{method}-{turn}", method)
        for _ in range(min(int(rng.integers(1, 4)), kills - sent)):
            moment = _moment(rng, alone[method])
            code = training.run(moment)
            sent += 1
            name = signal.Signals(moment.signal).name
            findings.count("ended before" if code == 0 else name)
            what = f"{method}, {moment}"
            if code not in {0, *BY_SIGNAL[signal.Signals(moment.signal)]}:
                findings.fail(f"{what}: exit code {code}: {training.log.read_text()[-500:]}")
            _check_left(training, alone[method].wanted, findings, what)
        if training.run() != 0:
            findings.fail(f"{method}: does not go on: {training.log.read_text()[-500:]}")
        elif content(training.model) != alone[method].wanted:
            findings.fail(f"{method}: another model")
        elif training.left() != ["model"]:
            findings.fail(f"{method}: {training.left()} is left")
        else:
            findings.count("ended with the same bytes")
        shutil.rmtree(training.folder)
    findings.note(f"{len(methods)} methods")
    return findings


def _moment(rng: np.random.Generator, alone: Undisturbed) -> Moment:
    """A file operation, or a time between the start and the end."""
    chosen = SIGNALS[int(rng.integers(len(SIGNALS)))]
    if rng.random() < 0.5:
        return Moment(operation=int(rng.integers(alone.operations)), signal=chosen)
    return Moment(seconds=float(rng.random() * alone.seconds), signal=chosen)


def _check_left(
    training: Training, wanted: dict[str, bytes], findings: Findings, what: str
) -> None:
    """A model at the target must be whole; beside it may be what the next run goes on from."""
    strange = [name for name in training.left() if name not in ("model", "model.partial")]
    if [name for name in strange if not name.startswith(".longtail-")]:
        findings.fail(f"{what}: {strange} is left")
    if training.model.exists():
        try:
            longtail.load(training.model)
        except LongtailError as error:
            findings.fail(f"{what}: half a model: {error}")
        if content(training.model) != wanted:
            findings.fail(f"{what}: another model stands there")
