"""A paper's figures beside ours, as text for the terminal and for documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longtail.published import Candidate, Cell, Noted, Reproduced, Trial
from longtail.report.safe import printable

_LEFT = 15


def reproduced_text(reproduced: Reproduced) -> str:
    """One method on one data set: paper, ours and the difference by table, metric and rank.

    A star marks figures of the paper that contradict each other; what is wrong stands below.

    Examples
    --------
    >>> from longtail.comparison import Result
    >>> result = Result("DiSMEC", "dismec", {"C": 1.0}, None, 2.0, 0.5, 100, 2_500_000)
    >>> cells = (Cell("5", "P@1", 82.2, 84.22), Cell("5", "P@3", 68.3, 72.42))
    >>> print(reproduced_text(Reproduced("EURLex-4K", "DiSMEC", "", result, None, cells)))
    DiSMEC: trained in 2.0 s, 100 points predicted in 0.50 s, 2.5 MB
                            @1                  @3
                     paper   ours   diff  paper   ours   diff
    Table 5 P         82.2  84.22  +2.02   68.3  72.42  +4.12
    """
    title = _title(reproduced)
    if reproduced.result is None:
        return title
    grid: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in reproduced.cells:
        metric, _, k = cell.metric.partition("@")
        grid.setdefault((cell.table, metric), {})[k] = cell
    ranks = list(dict.fromkeys(k for row in grid.values() for k in row))
    names = [f"Table {table} {metric}" if table else metric for table, metric in grid]
    width = max([_LEFT, *(len(name) + 1 for name in names)])
    lines = [title]
    if ranks != [""]:
        lines.append(" " * width + "".join(f"{f'@{k}' if k else '':>13}{'':<7}" for k in ranks))
    lines.append(" " * width + "".join(f"{'paper':>6}{'ours':>7}{'diff':>7}" for _ in ranks))
    for name, row in zip(names, grid.values(), strict=True):
        lines.append(f"{name:<{width}}" + "".join(_three(row.get(k)) for k in ranks))
    lines += [f"* {about}" for about in _slips(reproduced.cells)]
    return "\n".join(line.rstrip() for line in lines)


def trial_heading(
    trial: Trial, *, train_points: int, test_points: int, labels: int, features: int
) -> str:
    """A data set of a paper and its size, underlined, then how its features are scaled.

    Examples
    --------
    >>> print(trial_heading(Trial("Bibtex", "bibtex"), train_points=4880, test_points=2515,
    ...                     labels=159, features=1836))
    Bibtex: 4,880 + 2,515 points, 159 labels, 1,836 features
    ────────────────────────────────────────────────────────
    Features: rows of unit length.
    """
    sizes = f"{train_points:,} + {test_points:,} points, {labels:,} labels, {features:,} features"
    line = f"{trial.dataset}: {sizes}"
    scaling = f"Features: {scaling_in_words(trial.features)}. {trial.about}".rstrip()
    return f"{line}\n{'─' * len(line)}\n{scaling}"


def scaling_in_words(features: Mapping[str, Any]) -> str:
    """What a `RowScaler` with these parameters does.

    Examples
    --------
    >>> scaling_in_words({"damping": "sqrt"})
    'square roots of the values, rows of unit length'
    >>> scaling_in_words({"norm": None})
    'values as they are'
    """
    parts = []
    if features.get("idf"):
        parts.append("columns times idf")
    damping = {"sqrt": "square roots of the values", "log": "logarithms of the values"}
    if features.get("damping"):
        parts.append(damping[features["damping"]])
    norm = features.get("norm", "l2")
    if norm is not None:
        parts.append("rows of unit length" if norm == "l2" else f"rows of {norm} norm 1")
    return ", ".join(parts) or "values as they are"


def choice_heading(trial: Trial) -> str:
    """What is chosen, by what, on what."""
    assert trial.choice is not None
    choice = trial.choice
    return (
        f"{trial.dataset}: {choice.method}'s {choice.parameter} by {choice.metric} on a fifth of "
        "the training points, held out"
    )


def candidate_line(trial: Trial, candidate: Candidate) -> str:
    """A setting that was tried, and what came of it.

    Examples
    --------
    >>> from longtail.published import find_paper
    >>> trial = find_paper("proxml").trial("bibtex")
    >>> candidate_line(trial, Candidate({}, 0.5, 0.61, 3.25))
    '  strength 0.5     61.00       3.2 s   rows of unit length'
    """
    assert trial.choice is not None
    return (
        f"  {trial.choice.parameter} {candidate.value:<6g}{100 * candidate.score:>7.2f}"
        f"{candidate.seconds:>10.1f} s   {scaling_in_words(candidate.features)}"
    )


def notes_text(notes: Iterable[Noted]) -> str:
    """What else is odd about the figures, one line each."""
    return "\n".join(f"Note on {_where(note)}: {printable(note.about)}." for note in notes)


def _where(note: Noted) -> str:
    parts = [f"Table {note.table}" if note.table else "", note.dataset, note.method]
    return ", ".join(filter(None, parts)) or "the figures"


def _title(reproduced: Reproduced) -> str:
    name, result = reproduced.method, reproduced.result
    if result is None:
        return f"{name}: {printable(reproduced.left_out)}"
    if reproduced.variant:
        return f"{name} with {reproduced.variant}"
    size = "" if result.megabytes is None else f", {result.megabytes:.1f} MB"
    return (
        f"{name}: trained in {result.train_seconds:.1f} s, {result.test_points:,} points predicted "
        f"in {result.predict_seconds:.2f} s{size}"
    )


def _three(cell: Cell | None) -> str:
    if cell is None:
        return " " * 20
    paper = "–" if cell.paper is None else f"{cell.paper:.1f}{'*' if cell.slip else ''}"
    ours = "–" if cell.ours is None else f"{cell.ours:.2f}"
    difference = "" if cell.difference is None else f"{cell.difference:+.2f}"
    return f"{paper:>6}{ours:>7}{difference:>7}"


def _slips(cells: Iterable[Cell]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for cell in cells:
        if cell.slip:
            by_reason.setdefault(cell.slip, []).append(cell.metric)
    return [f"{', '.join(metrics)} of the paper {about}" for about, metrics in by_reason.items()]
