"""What a solver hands back for one problem."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Solution:
    """One solved problem: its weights where they are not zero, and what it took.

    Attributes
    ----------
    features, values : arrays
        The weights that are not zero; feature D is the bias.
    objective : float
        Value of the objective over all points, before any pruning.
    gap : float
        Proven upper bound on the distance of that value to the optimum, relative to it.
    iterations : int
        Sweeps over the working set, or Newton steps.
    converged : bool
        Whether it ended within the tolerance.
    seconds : float
        Time spent; work shared by a block is spread evenly.
    violation : float
        For the l1 penalty, the largest distance of a partial derivative to where the optimality
        conditions want it, relative to `strength`; NaN for others.
    """

    features: NDArray[np.int64]
    values: NDArray[np.float64]
    objective: float
    gap: float
    iterations: int
    converged: bool
    seconds: float = 0.0
    violation: float = math.nan
