"""Bars that a benchmark must clear: what was wanted, what was measured, met or not."""

from __future__ import annotations

from typing import Any

import numpy as np


class Bars:
    """What was wanted and what was measured, printed as it comes and kept for the end."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def check(
        self, what: str, measured: float, wanted: str, *, met: bool, form: str, stretch: bool
    ) -> None:
        shown = format(measured, form) if np.isfinite(measured) else "unknown"
        verdict = "met" if met else ("not met (stretch)" if stretch else "NOT MET")
        if not np.isfinite(measured):
            verdict = "not measured"
        self.rows.append({"bar": what, "wanted": wanted, "measured": measured, "verdict": verdict})
        print(f"  {what:<58}{wanted:>12}{shown:>12}  {verdict}")

    def at_least(
        self, what: str, measured: float, bound: float, form: str = ".1f", *, stretch: bool = False
    ) -> None:
        self.check(
            what, measured, f">= {bound:{form}}", met=measured >= bound, form=form, stretch=stretch
        )

    def at_most(
        self, what: str, measured: float, bound: float, form: str = ".2f", *, stretch: bool = False
    ) -> None:
        self.check(
            what, measured, f"<= {bound:{form}}", met=measured <= bound, form=form, stretch=stretch
        )

    def missed(self) -> list[str]:
        return [row["bar"] for row in self.rows if row["verdict"] == "NOT MET"]

    def sum_up(self, more: str = "") -> None:
        """How many bars there were, and which were missed."""
        missed = self.missed()
        print(f"\n{len(self.rows)} bars, {len(missed)} not met{more}")
        print("".join(f"  {bar}\n" for bar in missed), end="")
