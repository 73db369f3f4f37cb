"""What was learned, and training in a process that kills itself, for the tests of all methods.

`tests.preloaded` has it, so that a run costs a fork and not an import.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from sklearn.base import clone

import longtail.methods
from longtail.base import ExtremeClassifier
from longtail.data import make_longtail

for _method in longtail.methods.registry.methods().values():
    _method.estimator  # noqa: B018 - imported before the fork


def problem() -> Any:
    """Data on which training takes some pieces, and no time."""
    return make_longtail(150, 100, 36, random_state=1)


def learned(classifier: ExtremeClassifier, X: Any, Y: Any) -> list[list[float]]:
    """The scores of all labels, which say what was learned."""
    return clone(classifier).fit(X, Y).predict_topk(X, Y.shape[1]).toarray().tolist()


def has_pieces(folder: Path) -> bool:
    """Whether a finished piece of work lies in a checkpoint folder; what is still being written has
    a dot in front."""
    return any(
        not any(word.startswith(".") for word in path.relative_to(folder).parts)
        for path in folder.rglob("*.safetensors")
    )


def train_and_die(classifier: ExtremeClassifier, folder: Path) -> None:
    """Train until a piece is finished, and be killed at what then happens first: a report of
    progress, or a change of a file."""

    def die() -> None:
        if has_pieces(folder):
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.rename", "os.remove") and str(arguments[0]).startswith(str(folder)):
            die()

    sys.addaudithook(watch)
    data = problem()
    classifier.fit(data.X, data.Y, checkpoint=folder, progress=lambda *report: die())
