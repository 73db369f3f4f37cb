"""`MODEL.partial`: what an unfinished training leaves, so that the same command goes on from there.

The folder holds a note, which says what was being trained, and below it the checkpoints of the
training, in the form of `longtail.runtime.checkpoint`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longtail.cli._failures import Interrupted
from longtail.errors import CheckpointError
from longtail.runtime.checkpoint import holds_work, is_bare, note_in, remove_work, write_note

_TRAINING = "training"  # what the note is about, beside the solvers' own


def refuse_partial(path: Path) -> None:
    """Refuse the folder of an unfinished training where data or a model is wanted."""
    found = _training_in(path)
    if found is not None:
        what = f"{found.get('method')} on {found.get('data')}"
        raise CheckpointError(
            f"{path} holds an unfinished training ({what}); run its command again to finish it."
        )


def _training_in(folder: Path) -> dict[str, Any] | None:
    """What was being trained in a folder, if that was the command line's."""
    found = (note_in(folder) or {}).get(_TRAINING)
    return found if isinstance(found, dict) else None


class Partial:
    """The folder beside a model that is being trained.

    Parameters
    ----------
    model : Path
        Where the model will be.
    notes : dict
        What is trained, and how: the same command gives the same notes.
    """

    def __init__(self, model: Path, notes: dict[str, Any]) -> None:
        target = Path(os.path.realpath(model))
        self.folder = target.with_name(f"{target.name}.partial")
        self.checkpoint = self.folder / "checkpoint"
        self._notes = json.loads(json.dumps(notes))  # as they come back: tuples become lists

    def check(self) -> bool:
        """Whether there is something to go on from; refuse a folder that is something else."""
        if not os.path.lexists(self.folder):
            return False
        if not self.folder.is_dir():
            raise CheckpointError(
                f"{self.folder} is in the way of the checkpoints; move it elsewhere."
            )
        if is_bare(self.folder):
            return False
        found = _training_in(self.folder)
        if found is None:
            raise CheckpointError(
                f"{self.folder} is in the way of the checkpoints and holds something else; move it "
                "elsewhere."
            )
        if found != self._notes:
            raise self.belongs_to_other_work()
        return True

    def belongs_to_other_work(self) -> CheckpointError:
        """The refusal to go on from another training."""
        found = _training_in(self.folder) or {}
        what = f"{found.get('method')} on {found.get('data')}"
        return CheckpointError(
            f"{self.folder} holds an unfinished training ({what}) with other data, options or "
            "version: repeat its command to finish it, or delete that folder to start anew."
        )

    def begin(self) -> None:
        """Make the folder, with its note first."""
        write_note(self.folder, {_TRAINING: self._notes})

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the folder if it helps to go on, and tell the user so."""
        try:
            yield
        except KeyboardInterrupt:
            if holds_work(self.checkpoint):
                raise Interrupted(
                    f"Interrupted: what is finished is kept in {self.folder}; run the same command "
                    "again to go on."
                ) from None
            remove_work(self.folder)
            raise Interrupted(
                "Interrupted before anything was finished; nothing is left."
            ) from None
        except BaseException:
            if not holds_work(self.checkpoint):
                remove_work(self.folder)
            raise

    def remove(self) -> None:
        """Delete the folder."""
        remove_work(self.folder)
