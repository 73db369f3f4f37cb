"""A paper's figures beside ours, as text for the terminal and for documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longtail.errors import printable

if TYPE_CHECKING:
    from longtail.choosing import Setup
    from longtail.papers import Candidate, Cell, Difference, FigureNote, Reproduced, Trial

_LEFT, _NARROW = 15, 7


def reproduced_text(reproduced: Reproduced, *, parameters: bool = False) -> str:
    """One method on one data set: paper, ours and the difference by table, metric and rank.

    Ours is the mean ± standard deviation where there are several seeds. A star marks figures of the
    paper that contradict each other; what is wrong stands below.

    Parameters
    ----------
    reproduced : Reproduced
        What came of it.
    parameters : bool
        Whether to say how many numbers the model holds.

    Examples
    --------
    >>> from longtail.choosing import Result
    >>> from longtail.papers import Cell, Reproduced
    >>> result = Result("DiSMEC", "dismec", {"C": 1.0}, None, 2.0, 0.5, 100, 2_500_000,
    ...                 peak_bytes=7_100_000)
    >>> cells = (Cell("5", "P@1", 82.2, 84.22), Cell("5", "P@3", 68.3, 72.42))
    >>> print(reproduced_text(Reproduced("EURLex-4K", "DiSMEC", "", result, None, cells)))
    DiSMEC: trained in 2.0 s (peak 7.1 MB), 100 points predicted in 0.50 s, 2.5 MB
                            @1                  @3
                     paper   ours   diff  paper   ours   diff
    Table 5 P         82.2  84.22  +2.02   68.3  72.42  +4.12
    """
    title = _title(reproduced, parameters)
    if reproduced.result is None:
        return title
    grid: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in reproduced.cells:
        metric, _, k = cell.metric.partition("@")
        grid.setdefault((cell.table, metric), {})[k] = cell
    ranks = list(dict.fromkeys(k for row in grid.values() for k in row))
    names = [f"Table {table} {metric}" if table else metric for table, metric in grid]
    width = max([_LEFT, *(len(name) + 1 for name in names)])
    ours, diff = (
        max([_NARROW, *(len(text(cell)) + 1 for cell in reproduced.cells)])
        for text in (_ours, _difference)
    )
    lines = [title]
    if ranks != [""]:
        heads = (f"{f'@{k}' if k else '':>{6 + ours}}{'':<{diff}}" for k in ranks)
        lines.append(" " * width + "".join(heads))
    heads = (f"{'paper':>6}{'ours':>{ours}}{'diff':>{diff}}" for _ in ranks)
    lines.append(" " * width + "".join(heads))
    for name, row in zip(names, grid.values(), strict=True):
        cells = (_three(row.get(k), ours, diff) for k in ranks)
        lines.append(f"{name:<{width}}" + "".join(cells))
    lines += [f"* {about}" for about in _contradictions(reproduced.cells)]
    return "\n".join(line.rstrip() for line in lines)


def trial_heading(
    trial: Trial, sizes: Setup, *, seeds: Sequence[int] = (0,), texts: bool = False
) -> str:
    """A data set of a paper and its size, underlined, then how its features are scaled.

    Where there are several seeds, the sizes are those of the first.

    Examples
    --------
    >>> from longtail.choosing import Setup
    >>> from longtail.papers import Trial
    >>> print(trial_heading(Trial("Bibtex", "bibtex"), Setup("", 4880, 2515, 159, 1836, 0, 0, ())))
    Bibtex: 4,880 + 2,515 points, 159 labels, 1,836 features
    ────────────────────────────────────────────────────────
    Features: rows of unit length.
    """
    line = (
        f"{trial.dataset}: {sizes.train_points:,} + {sizes.test_points:,} points, "
        f"{sizes.labels:,} labels, {sizes.features:,} features"
    )
    scaling = "of texts" if texts else scaling_in_words(trial.features)
    lines = [line, "─" * len(line), f"Features: {scaling}. {trial.about}".rstrip()]
    if len(seeds) > 1:
        lines.append(
            f"Mean ± standard deviation over {len(seeds)} seeds; the sizes are those of the first."
        )
    return "\n".join(lines)


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
    >>> from longtail.papers import Candidate, find_paper
    >>> trial = find_paper("proxml").trial("bibtex")
    >>> candidate_line(trial, Candidate({}, 0.5, 0.61, 3.25))
    '  strength 0.5     61.00       3.2 s   rows of unit length'
    """
    assert trial.choice is not None
    return (
        f"  {trial.choice.parameter} {candidate.value:<6g}{100 * candidate.score:>7.2f}"
        f"{candidate.seconds:>10.1f} s   {scaling_in_words(candidate.features)}"
    )


def differences_text(found: Sequence[Difference]) -> str:
    """The paper's own method against the others on one data set, one line per method and metric.

    Examples
    --------
    >>> from longtail.papers import Difference
    >>> found = Difference("WordNet-100", "maf1", "mRb", "OVA", 0.6, 0.5, 0.0495, 3, 3)
    >>> print(differences_text([found]))
    mRb against the others, Wilcoxon rank sum over 3 seeds (p is 0.05 at least)
      OVA  maf1   0.5000, mRb +0.1000   p = 0.05
    """
    if not found:
        return ""
    from longtail.papers import least_p

    first = found[0]
    least = f"{least_p(first.n_seeds):.2g}"
    lines = [
        f"{first.own} against the others, Wilcoxon rank sum over {first.n_seeds} seeds (p is "
        f"{least} at least)"
    ]
    wide, wider = (max(len(getattr(each, name)) for each in found) for name in ("other", "metric"))
    for each in found:
        digits = each.digits + 1
        lines.append(
            f"  {each.other:<{wide}}  {each.metric:<{wider}}{each.other_mean:>9.{digits}f}, "
            f"{each.own} {each.own_mean - each.other_mean:+.{digits}f}   p = {each.p:.2g}"
        )
    return "\n".join(lines)


def notes_text(notes: Iterable[FigureNote]) -> str:
    """What else looks wrong about the figures, one line each."""
    return "\n".join(f"Note on {_where(note)}: {printable(note.about)}." for note in notes)


def _where(note: FigureNote) -> str:
    parts = [f"Table {note.table}" if note.table else "", note.dataset, note.method]
    return ", ".join(filter(None, parts)) or "the figures"


def _title(reproduced: Reproduced, parameters: bool) -> str:
    name, result = reproduced.method, reproduced.result
    if result is None:
        return f"{name}: {printable(reproduced.left_out)}"
    if reproduced.variant:
        return f"{name} with {reproduced.variant}"
    peak = "" if result.peak_megabytes is None else f" (peak {result.peak_megabytes:,.1f} MB)"
    size = "" if result.megabytes is None else f", {result.megabytes:,.1f} MB"
    numbers = ""
    if parameters and result.n_parameters is not None:
        numbers = f", {result.n_parameters:,} parameters"
    return (
        f"{name}: trained in {result.train_seconds:.1f} s{peak}, {result.test_points:,} points "
        f"predicted in {result.predict_seconds:.2f} s{size}{numbers}"
    )


def _three(cell: Cell | None, ours: int, diff: int) -> str:
    if cell is None:
        return " " * (6 + ours + diff)
    paper = (
        "–"
        if cell.paper is None
        else f"{cell.paper:.{cell.digits}f}{'*' if cell.contradiction else ''}"
    )
    return f"{paper:>6}{_ours(cell):>{ours}}{_difference(cell):>{diff}}"


def _difference(cell: Cell) -> str:
    return "" if cell.difference is None else f"{cell.difference:+.{cell.digits + 1}f}"


def _ours(cell: Cell) -> str:
    if cell.ours is None:
        return "–"
    mean = f"{cell.ours:.{cell.digits + 1}f}"
    return mean if cell.deviation is None else f"{mean} ± {cell.deviation:.{cell.digits + 1}f}"


def _contradictions(cells: Iterable[Cell]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for cell in cells:
        if cell.contradiction:
            by_reason.setdefault(cell.contradiction, []).append(cell.metric)
    return [f"{', '.join(metrics)} of the paper {about}" for about, metrics in by_reason.items()]
