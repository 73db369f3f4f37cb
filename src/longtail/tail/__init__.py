"""Weighting of rare labels: calibrated scores, the trade it offers, and the choice of a weight."""

from longtail.tail.calibration import Calibration, calibrate, fit_calibration
from longtail.tail.choice import TailChoice, choose_tail
from longtail.tail.curve import tail_curve
from longtail.tail.held_out import HeldOutScores, held_out_scores, validation_scores

__all__ = [
    "Calibration",
    "HeldOutScores",
    "TailChoice",
    "calibrate",
    "choose_tail",
    "fit_calibration",
    "held_out_scores",
    "tail_curve",
    "validation_scores",
]
