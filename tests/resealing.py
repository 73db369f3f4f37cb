"""Model folders changed as a careful forger would: with all checksums right."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from longtail.store.folder import ARRAYS, NAME, sealed
from longtail.store.tensors import open_tensors, write_tensors


def content_of(folder: Path) -> dict[str, Any]:
    """What `model.json` says, without its checksum."""
    content = json.loads((folder / NAME).read_text("utf-8"))
    del content["checksum"]
    return content


def reseal(folder: Path, **changes: Any) -> None:
    """Change entries of `model.json`; one that becomes `...` is left out."""
    content = content_of(folder) | changes
    (folder / NAME).write_bytes(sealed({k: v for k, v in content.items() if v is not ...}))


def forge_parameter(folder: Path, name: str, value: Any) -> None:
    """Give a saved estimator another parameter."""
    state = content_of(folder)["state"]
    state["state"]["parameters"][name] = value
    reseal(folder, state=state)


def forge_arrays(folder: Path, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    """Replace the arrays of a model by what `change` makes of them."""
    arrays, meta, _ = open_tensors(folder / ARRAYS)
    copies = {name: array.copy() for name, array in arrays.items()}
    del arrays
    changed = change(copies)
    (folder / ARRAYS).unlink()
    reseal(folder, arrays=write_tensors(folder / ARRAYS, changed, meta))
