"""`MODEL.partial`: what an unfinished training leaves, so that the same command goes on from there.

The folder holds `train.json`, which says what was being trained, and the checkpoints of the engine.
At every moment it is either a state to go on from or as good as empty, whenever the process is
killed, also while the folder is removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longtail import store
from longtail.cli._failures import Interrupted
from longtail.errors import CheckpointError

_NOTE = "train.json"
_KIND = "longtail training"
_RUN = "run.json"
_WORKPLACE = ".longtail-"


def refuse_partial(path: Path) -> None:
    """Refuse the folder of an unfinished training where data or a model is wanted."""
    found = _note_in(path)
    if found is not None:
        what = f"{found.get('method')} on {found.get('data')}"
        raise CheckpointError(
            f"{path} holds an unfinished training ({what}); run its command again to finish it."
        )


def _note_in(folder: Path) -> dict[str, Any] | None:
    """The note of a folder, if it is one of ours."""
    try:
        found = json.loads((folder / _NOTE).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("kind") == _KIND else None


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
        self._notes = {"kind": _KIND, **notes}

    def check(self) -> bool:
        """Whether there is something to go on from; refuse a folder that is something else."""
        if not os.path.lexists(self.folder):
            return False
        if not self.folder.is_dir():
            raise CheckpointError(
                f"{self.folder} is in the way of the checkpoints; move it elsewhere."
            )
        own = [entry for entry in self.folder.iterdir() if not entry.name.startswith(_WORKPLACE)]
        if not own:
            return False
        found = self._found()
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
        found = self._found() or {}
        what = f"{found.get('method')} on {found.get('data')}"
        return CheckpointError(
            f"{self.folder} holds an unfinished training ({what}) with other data, options or "
            "version: repeat its command to finish it, or delete that folder to start anew."
        )

    def begin(self) -> None:
        """Make the folder, with its note first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._found() is None:
            with store.atomic_file(self.folder / _NOTE) as place:
                place.write_text(json.dumps(self._notes), encoding="utf-8")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Leave the folder if it helps to go on, and say so to whoever interrupts."""
        try:
            yield
        except KeyboardInterrupt:
            if self.is_worth_keeping():
                raise Interrupted(
                    f"Interrupted: what is finished is kept in {self.folder}; run the same command "
                    "again to go on."
                ) from None
            self.remove()
            raise Interrupted(
                "Interrupted before anything was finished; nothing is left."
            ) from None
        except BaseException:
            if not self.is_worth_keeping():
                self.remove()
            raise

    def is_worth_keeping(self) -> bool:
        """Whether any piece of work is finished."""
        return any(
            name != _RUN and not name.startswith(_WORKPLACE)
            for _, _, names in os.walk(self.checkpoint)
            for name in names
        )

    def remove(self) -> None:
        """Delete the folder; the notes that make sense of the rest go last."""
        if not self.folder.is_dir():
            return
        for place, folders, names in os.walk(self.checkpoint, topdown=False):
            for name in folders:
                if name.startswith(_WORKPLACE):
                    shutil.rmtree(Path(place, name), ignore_errors=True)
            for name in sorted(names, key=lambda name: name == _RUN):
                Path(place, name).unlink(missing_ok=True)
            Path(place).rmdir()
        (self.folder / _NOTE).unlink(missing_ok=True)
        for left in self.folder.glob(f"{_WORKPLACE}*"):
            shutil.rmtree(left, ignore_errors=True)
        self.folder.rmdir()

    def _found(self) -> dict[str, Any] | None:
        """The note of the folder, if it is one of ours."""
        return _note_in(self.folder)
