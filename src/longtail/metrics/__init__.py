"""How good predictions are: rankings at k, label sets, classes; tables and scorers of them."""

from longtail.metrics.evaluate import Evaluation, evaluate
from longtail.metrics.frequency import FREQUENCY_BINS, by_frequency
from longtail.metrics.model_evaluation import ModelEvaluation, evaluate_model
from longtail.metrics.multiclass import accuracy, covered_classes, maf1
from longtail.metrics.ranking import (
    coverage_at_k,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from longtail.metrics.scorers import Scorer, scorer
from longtail.metrics.sets import f1, hamming_loss, jaccard, subset_accuracy

__all__ = [
    "FREQUENCY_BINS",
    "Evaluation",
    "ModelEvaluation",
    "Scorer",
    "accuracy",
    "by_frequency",
    "coverage_at_k",
    "covered_classes",
    "evaluate",
    "evaluate_model",
    "f1",
    "hamming_loss",
    "jaccard",
    "maf1",
    "ndcg_at_k",
    "precision_at_k",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
    "scorer",
    "subset_accuracy",
]
