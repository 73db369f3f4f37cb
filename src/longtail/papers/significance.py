"""Whether a paper's own method differs from the others by more than chance between seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from scipy.stats import ranksums

from longtail.papers.paper import Paper
from longtail.papers.rows import Reproduced

FEWEST = 3
"""Seeds that a test needs; with fewer no p is small."""


@dataclass(frozen=True)
class Difference:
    """The paper's own method against another, by one metric.

    Attributes
    ----------
    dataset, metric : str
        Where, and by what.
    own, other : str
        The two methods.
    own_mean, other_mean : float
        Means over the seeds, in the units of the table.
    p : float
        Of the rank sum test.
    n_seeds : int
        Values per method.
    digits : int
        Digits after the point in the paper.
    """

    dataset: str
    metric: str
    own: str
    other: str
    own_mean: float
    other_mean: float
    p: float
    n_seeds: int
    digits: int = 1


def differences(paper: Paper, rows: Iterable[Reproduced]) -> list[Difference]:
    """Test the paper's own method against each other one, metric by metric, over the seeds.

    Parameters
    ----------
    paper : Paper
        Its first method is its own.
    rows : iterable of Reproduced
        Of one data set or of several. Rows with fewer than 3 seeds and variants are left out.

    Returns
    -------
    list of Difference
        In the order of the rows; empty where the paper's own method has no row.

    Notes
    -----
    The test is Wilcoxon's rank sum test, two-sided, in its normal approximation
    (`scipy.stats.ranksums`). With n seeds per method, p cannot be below `least_p(n)`, whatever the
    figures: 0.0495 with 3 seeds, below 0.01 from 5 on.

    Examples
    --------
    >>> from longtail.papers import Cell, find_paper
    >>> paper = find_paper("cbm")
    >>> values = {"CBM+LR": (70.0, 71.0, 72.0), "BinRel+LR": (50.0, 51.0, 52.0)}
    >>> rows = [
    ...     Reproduced("sample", name, "", None, None,
    ...                (Cell("1", "subset_accuracy", None, 0.0, values=given),), seeds=(0, 1, 2))
    ...     for name, given in values.items()]
    >>> (found,) = differences(paper, rows)
    >>> found.other, found.own_mean - found.other_mean, round(found.p, 4)
    ('BinRel+LR', 20.0, 0.0495)
    """
    usable = [row for row in rows if not row.variant and len(row.seeds) >= FEWEST]
    own = {row.dataset: row for row in usable if row.method == paper.own_method}
    found = []
    for row in usable:
        ours = own.get(row.dataset)
        if ours is None or row.method == ours.method or row.seeds != ours.seeds:
            continue
        theirs = {cell.metric: cell.values for cell in row.cells if cell.values}
        for cell in ours.cells:
            other = theirs.pop(cell.metric, ())
            if len(cell.values) >= FEWEST and other:
                found.append(
                    Difference(
                        row.dataset,
                        cell.metric,
                        ours.method,
                        row.method,
                        fmean(cell.values),
                        fmean(other),
                        float(ranksums(cell.values, other).pvalue),
                        len(row.seeds),
                        cell.digits,
                    )
                )
    return found


def least_p(n_seeds: int) -> float:
    """The smallest p that the test can give with so many values per method.

    Examples
    --------
    >>> [round(least_p(n), 4) for n in (3, 4, 5, 10)]
    [0.0495, 0.0209, 0.009, 0.0002]
    """
    return float(ranksums(range(n_seeds), range(n_seeds, 2 * n_seeds)).pvalue)
