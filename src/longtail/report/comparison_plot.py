"""The plot of a comparison: accuracy against training time, model size and the tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from longtail.choosing import Comparison, Result
from longtail.errors import ParameterError, printable
from longtail.report.plots import GREY, label_axes, method_colours, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

Points = dict[str, tuple[float, float | None, float]]

_P, _PSP = "o", "s"
_MANY = 10
"""Methods above which only one point of each is drawn."""
_FAR = (7, 12, 18, 25, 33, 42, 52, 63, 75, 90, 108, 130, 160, 200, 250)
_AROUND = [
    (1, 0), (-1, 0), (0.8, 0.8), (0.8, -0.8), (-0.8, 0.8), (-0.8, -0.8), (0, 1), (0, -1),
    (1, 0.4), (-1, 0.4), (1, -0.4), (-1, -0.4), (0.4, 1), (-0.4, 1), (0.4, -1), (-0.4, -1),
]  # fmt: skip


PANELS = {
    "time": ("train_seconds", "training time, s"),
    "size": ("megabytes", "model size, MB"),
    "tail": ("PSP", "PSP@{k}, %"),
}
"""What accuracy may be drawn against: a measure of the results, and what the axis says."""


def comparison_figure(
    comparison: Comparison, *, title: str | None = None, against: Sequence[str] = tuple(PANELS)
) -> Figure:
    """Accuracy against training time, against model size and on the tail, side by side.

    Every method has a colour. Against time and size, on logarithmic axes, it has two points joined
    by a line: P and PSP at the first rank; with more than ten methods only P. The last panel has P
    against PSP.

    Parameters
    ----------
    comparison : Comparison
        Methods that failed are left out.
    title : str, optional
        Above the panels.
    against : sequence of {"time", "size", "tail"}
        The panels.

    Examples
    --------
    >>> from longtail.choosing import Setup
    >>> from longtail.metrics import Evaluation
    >>> good = Result("good", "br", {}, Evaluation({"P@1": 0.8, "PSP@1": 0.4}), 2.0, 1.0, 9, 10_000)
    >>> figure = comparison_figure(Comparison(Setup("tiny", 60, 20, 8, 30, 0, 0.1, (1,)), [good]))
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['training time, s', 'model size, MB', 'PSP@1, %']
    """
    unknown = [name for name in against if name not in PANELS]
    if unknown or not against:
        raise ParameterError(
            f"Accuracy can be drawn against {', '.join(PANELS)}, not {', '.join(unknown) or '()'}."
        )
    figure, axes = panels(len(against), 0.4 + 5.2 * len(against), 4.8, title)
    k = comparison.common.k[0]
    colours = method_colours(result.name for result in comparison.finished)
    measures = (f"P@{k}", f"PSP@{k}")[: 1 if len(colours) > _MANY else 2]
    named = list(zip(axes, against, strict=True))
    for ax, name in named:
        measure, label = PANELS[name]
        points = _points(comparison.finished, measure, k, len(measures) == 2)
        (_plot_tail if name == "tail" else _plot_against)(points, colours, ax)
        shown = measures[0] if name == "tail" else " and ".join(measures)
        label_axes(ax, label.format(k=k), f"{shown}, %")
    if len(measures) == 2 and set(against) != {"tail"}:
        shapes = [figure.axes[0].plot([], [], mark, color=GREY)[0] for mark in (_P, _PSP)]
        figure.legend(shapes, measures, loc="outside lower center", ncols=2, frameon=False)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax, name in named:
        points = _points(comparison.finished, PANELS[name][0], k, len(measures) == 2)
        _name_points(points, colours, ax)
    return figure


def _points(results: Sequence[Result], measure: str, k: int, both: bool) -> Points:
    """Cost, PSP and P in percent by name, where the cost is known; of PSP itself, PSP and P."""
    found: Points = {}
    for result in results:
        values = result.values()
        cost, precision, tail = (values.get(name) for name in (measure, f"P@{k}", f"PSP@{k}"))
        low = None if tail is None or math.isnan(tail) else 100 * tail
        if precision is not None and measure == "PSP":
            if low is not None:
                found[result.name] = (low, None, 100 * precision)
        elif cost and precision is not None:
            found[result.name] = (cost, low if both else None, 100 * precision)
    return found


def _plot_tail(points: Points, colours: dict[str, str], ax: Axes) -> None:
    ax.margins(x=0.15, y=0.12)
    for name, (tail, _, precision) in points.items():
        ax.plot([tail], [precision], _P, color=colours[name])


def _plot_against(points: Points, colours: dict[str, str], ax: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=9))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if not points:
        return
    costs = [cost for cost, _, _ in points.values()]
    ax.set_xlim(min(costs) / 1.8, max(costs) * 1.8)
    ax.margins(y=0.12)
    for name, (cost, low, high) in points.items():
        if low is not None:
            ax.plot([cost, cost], [low, high], color=colours[name], linewidth=0.8, alpha=0.5)
            ax.plot([cost], [low], _PSP, color=colours[name])
        ax.plot([cost], [high], _P, color=colours[name])


def _name_points(points: Points, colours: dict[str, str], ax: Axes) -> None:
    """Write each name beside its upper point, as near as the others allow."""
    taken: list[Bbox] = []
    for cost, low, high in points.values():
        ends = ax.transData.transform([(cost, high), (cost, high if low is None else low)])
        taken += [_box(x - 5, y - 5, x + 5, y + 5) for x, y in ends]
        taken.append(_box(*(ends.min(axis=0) - 1), *(ends.max(axis=0) + 1)))
    written: list[Bbox] = []
    for name, (cost, _, high) in sorted(points.items(), key=lambda item: -item[1][2]):
        label = ax.annotate(
            printable(name, 40),
            (cost, high),
            (0, 0),
            textcoords="offset points",
            size=9,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colours[name],
                "linewidth": 0.7,
                "shrinkA": 0,
                "shrinkB": 3,
            },
        )
        label.set_in_layout(False)
        box, leader = _place(label, taken, written, ax)
        written.append(box)
        taken += [box, *leader]


def _place(
    label: Annotation, taken: Sequence[Bbox], written: Sequence[Bbox], ax: Axes
) -> tuple[Bbox, list[Bbox]]:
    """Move a label to the nearest free place; its box, and small boxes along its leader.

    Free: inside the axes, on nothing that is taken, and no written name under the leader. Where
    there is no such place, the nearest that is on no written name.
    """
    from matplotlib.text import Text

    extent = Text.get_window_extent(label)
    size = np.array([extent.width, extent.height])
    point = ax.transData.transform(label.xy)
    pixels = ax.figure.dpi / 72
    second_best = None
    for far in _FAR:
        for right, up in _AROUND:
            offset = far * np.array([right, up])
            low = point + pixels * offset + size * (np.sign(offset) - 1) / 2
            box = _box(*(low - 2), *(low + size + 2))
            if not _within(box, ax.bbox) or _overlaps(box, written):
                continue
            leader = [] if far == _FAR[0] else _along(point, box)
            if not _overlaps(box, taken) and not any(_overlaps(spot, written) for spot in leader):
                if not leader and label.arrow_patch is not None:
                    label.arrow_patch.set_visible(False)
                _move(label, *offset)
                return box, leader
            second_best = second_best or (offset, box)
    offset, box = second_best or (np.zeros(2), extent)
    _move(label, *offset)
    return box, []


def _move(label: Annotation, right: float, up: float) -> None:
    """Put a label so many points off its point, on the side that is further away from it."""
    label.set_position((right, up))
    label.set_horizontalalignment("left" if right > 0 else "right" if right else "center")
    label.set_verticalalignment("bottom" if up > 0 else "top" if up else "center")


def _within(box: Bbox, outer: Bbox) -> bool:
    return bool(
        outer.x0 <= box.x0 and box.x1 <= outer.x1 and outer.y0 <= box.y0 and box.y1 <= outer.y1
    )


def _overlaps(box: Bbox, others: Sequence[Bbox]) -> bool:
    return any(box.overlaps(other) for other in others)


def _along(start: NDArray[np.float64], box: Bbox) -> list[Bbox]:
    """Small boxes on the way from a point to a label."""
    end = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    spots = start + np.linspace(0.1, 0.9, 15)[:, None] * (end - start)
    return [_box(x - 1, y - 1, x + 1, y + 1) for x, y in spots if not box.contains(x, y)]


def _box(x0: float, y0: float, x1: float, y1: float) -> Bbox:
    from matplotlib.transforms import Bbox

    return Bbox.from_extents(x0, y0, x1, y1)
