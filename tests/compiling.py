"""The kernels are compiled once: each worker of a long run takes its share before the first test.

In a fresh clone nothing is compiled yet, which takes a minute or two. Left to the tests, workers
compile the same at the same time, since what is on its way in one is not yet in the cache for the
other.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from longtail.data import Dataset, make_longtail, read_dataset, save
from longtail.labels import algebraic_connectivity
from longtail.metrics import evaluate
from tests.instances import instances

SHARES = (
    ("linear", "codes", "joint"),
    ("pairs", "mixtures", "prototypes", "neighbors", "trees"),
)
"""Families of methods that take about as long, with few kernels in common."""


def compile_share(worker: int) -> None:
    """Train and ask what one worker has to; what was compiled before is read from the cache."""
    data = make_longtail(60, 40, 12, labels_per_sample=2, random_state=0)
    families = SHARES[worker] if worker < len(SHARES) else ()
    steps: list[Callable[[], Any]] = [
        partial(_train_and_ask, classifier, X, data.Y)
        for X in (data.X, data.X.astype(np.float64))
        for classifier in instances()
        if type(classifier).__module__.split(".")[2] in families
    ]
    if worker == 1:
        steps += [partial(_write_and_read, data), partial(algebraic_connectivity, data.Y)]
    for step in steps:
        with contextlib.suppress(Exception), warnings.catch_warnings():  # for the tests to tell
            warnings.simplefilter("ignore")
            step()


def _train_and_ask(classifier: Any, X: Any, Y: Any) -> None:
    classifier.fit(X, Y).predict(X)
    classifier.predict_topk(X, 3, tail=0.5)
    evaluate(Y, Y_score=classifier.predict_topk(X, 3))
    classifier.predict_proba(X)


def _write_and_read(data: Dataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save(data, Path(folder, "data.txt"))
        read_dataset(Path(folder, "data.txt"))
