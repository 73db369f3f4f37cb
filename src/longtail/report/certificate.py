"""Plots of a certificate: objective against objective, and the difference by label frequency."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from longtail.errors import printable
from longtail.report.plots import (
    BLUE,
    GREY,
    ORANGE,
    check_plot_target,
    label_axes,
    panels,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from longtail.methods.linear import Certificate

_EQUAL = 1e-4
_COLOURS = {"better": BLUE, "equal": GREY, "worse": ORANGE}


def _plot_objectives(certificate: Certificate, ax: Axes) -> None:
    """The model's objective of every label against liblinear's, on logarithmic axes.

    This is the paper's Figure 2: below the diagonal the model is better.
    """
    ours = certificate.table["objective"].to_numpy()
    theirs = certificate.table["liblinear"].to_numpy()
    if len(ours):
        ends = min(ours.min(), theirs.min()), max(ours.max(), theirs.max())
        ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")
        ax.set_xscale("log")
        ax.set_yscale("log")
    for name, chosen in _groups(certificate).items():
        ax.scatter(
            theirs[chosen], ours[chosen], s=14, color=_COLOURS[name], label=_legend(name, chosen)
        )
    label_axes(ax, "objective of liblinear", "objective of the model")
    ax.set_title("Objectives")
    if len(ours):
        ax.legend(frameon=False)


def _plot_differences(certificate: Certificate, ax: Axes) -> None:
    """How far the model's objective lies from liblinear's, by the positives of the label.

    Differences below 1e-4, which count as none, are on a linear scale, others on a logarithmic one.
    """
    positives = certificate.table["positives"].to_numpy()
    difference = certificate.table["difference"].to_numpy()
    ax.axhspan(-_EQUAL, _EQUAL, color=GREY, alpha=0.15, linewidth=0)
    for name, chosen in _groups(certificate).items():
        ax.scatter(positives[chosen], difference[chosen], s=14, color=_COLOURS[name])
    if len(positives):
        ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=_EQUAL)
    reach = 2 * max(np.abs(difference).max(initial=0.0), _EQUAL)
    ax.set_ylim(-reach, reach)
    label_axes(ax, "points with the label", "model / liblinear - 1")
    ax.set_title("Difference by frequency")


def certificate_figure(certificate: Certificate, *, title: str | None = None) -> Figure:
    """Both plots side by side.

    Parameters
    ----------
    certificate : Certificate
        What `certify` gives.
    title : str, optional
        Above both.

    Examples
    --------
    >>> from longtail.methods.linear import CCDL1, certify
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [["sea"], ["sun"], ["sea", "sun"]]
    >>> figure = certificate_figure(certify(X, Y, CCDL1().fit(X, Y)))
    >>> [ax.get_title() for ax in figure.axes]
    ['Objectives', 'Difference by frequency']
    """
    figure, (left, right) = panels(2, 10, 4.2, title)
    _plot_objectives(certificate, left)
    _plot_differences(certificate, right)
    return figure


def plot_certificate(
    certificate: Certificate, target: str | os.PathLike[str] | Axes, *, title: str | None = None
) -> None:
    """Draw a certificate: both plots into a file, or the paper's Figure 2 into axes.

    Parameters
    ----------
    certificate : Certificate
        What `certify` gives.
    target : path or matplotlib Axes
        Where to; the end of a name says the format.
    title : str, optional
        Above the plots of a file, or of the axes.
    """
    if isinstance(target, str | os.PathLike):
        check_plot_target(target)
        save_figure(certificate_figure(certificate, title=title), target)
        return
    _plot_objectives(certificate, target)
    if title is not None:
        target.set_title(printable(title), parse_math=False)


def _groups(certificate: Certificate) -> dict[str, NDArray[np.bool_]]:
    difference = certificate.table["difference"].to_numpy()
    better, worse = difference < -_EQUAL, difference > _EQUAL
    return {"equal": ~(better | worse), "better": better, "worse": worse}


def _legend(name: str, chosen: NDArray[np.bool_]) -> str:
    return f"{name}: {int(chosen.sum())} ({100 * chosen.sum() / max(len(chosen), 1):.0f} %)"
