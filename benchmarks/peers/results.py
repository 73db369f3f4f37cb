"""Figures of a comparison as they come: kept in a file after every call, and resumed from it."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longtail.store.atomic import atomic_file


@dataclass
class Row:
    """One method on one set. A turn is one training, with three predictions."""

    problem: str
    method: str
    of: dict[str, Any]
    """What the figures depend on: shape of the data, settings, threads."""
    turns: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    """Why there are no figures, or no more of them."""

    @property
    def train(self) -> float:
        return self._best("train")

    @property
    def predict(self) -> float:
        return self._best("predict")

    @property
    def predict_fastest(self) -> float:
        """With settings that are not the method's defaults but faster, where it has such."""
        return self._best("predict_fastest")

    @property
    def bytes(self) -> float:
        return float(self.turns[0]["bytes"]) if self.turns else np.nan

    @property
    def peak(self) -> float:
        return float(max(turn["peak"] for turn in self.turns)) if self.turns else np.nan

    @property
    def ms_a_row(self) -> float:
        return 1e3 * self.predict / self.of["shape"][1]

    def metric(self, name: str) -> float:
        """In percent, of the first turn; the others may differ by chance."""
        return 100 * self.turns[0]["metrics"][name] if self.turns else np.nan

    @property
    def version(self) -> str:
        return str(next(iter(self.turns[0]["versions"].values()))) if self.turns else ""

    def wants(self, turn: int, long: float) -> bool:
        """Whether turn number `turn` is to be done; long trainings are done once."""
        if self.reason or len(self.turns) > turn:
            return False
        return not self.turns or self.train <= long

    def _best(self, name: str) -> float:
        return min((float(turn[name]) for turn in self.turns if name in turn), default=np.nan)


class Results:
    """All rows of a run, the machine, and the file that they are kept in."""

    def __init__(self, file: Path, *, resume: bool = False) -> None:
        self.file = file
        self.machine = machine()
        self.rows: list[Row] = []
        if resume:
            self._take_up()

    def _take_up(self) -> None:
        try:
            kept = json.loads(self.file.read_text())
            self.rows = [Row(**row) for row in kept["rows"]]
            same = all(kept["machine"][key] == self.machine[key] for key in ("processor", "cores"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(
                f"{self.file}: cannot be taken up ({error}); name a file that this benchmark wrote."
            ) from None
        if not same:
            raise SystemExit(f"{self.file}: is of another machine; start a run of its own here.")
        for row in self.rows:
            row.reason = ""  # it may work now

    def row(self, problem: str, method: str, of: dict[str, Any]) -> Row:
        """The row of a method on a set; a new one if the kept one is of something else."""
        of = json.loads(json.dumps(of))
        for row in self.rows:
            if (row.problem, row.method, row.of) == (problem, method, of):
                return row
        self.rows = [row for row in self.rows if (row.problem, row.method) != (problem, method)]
        self.rows.append(Row(problem, method, of))
        return self.rows[-1]

    def save(self, **more: Any) -> None:
        rows = [asdict(row) for row in self.rows]
        with atomic_file(self.file) as part:
            part.write_text(json.dumps({"machine": self.machine, **more, "rows": rows}, indent=1))


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and how busy it is: never its name."""
    processor = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 1),
    }
