"""What a trial counted, and what went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Findings:
    """Counts of one trial by name, and one line per failure."""

    trial: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, what: str, times: int = 1) -> None:
        self.counts[what] += times

    def fail(self, what: str) -> None:
        self.failures.append(" ".join(what.split()))

    def note(self, what: str) -> None:
        self.notes.append(what)

    def row(self) -> str:
        """A line of the table."""
        told = [*self.notes, *(f"{number:,} {what}" for what, number in self.counts.items())]
        return f"| {self.trial} | {', '.join(told)} | {len(self.failures)} | {self.seconds:.0f} |"
