"""From scores to answers: calibration, and the weight by which rare labels are favoured."""

from longtail.decisions.calibration import Calibration, calibrate, fit_calibration
from longtail.decisions.held_out import HeldOutScores, held_out_scores, validation_scores
from longtail.decisions.tail_choice import TailChoice, choose_tail
from longtail.decisions.tail_weight import tail_curve

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
