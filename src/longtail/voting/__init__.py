"""Classifiers that let neighbours vote: what nearest-neighbour and prototype methods share.

Such a classifier says which voters are nearest to a block of points and which labels each voter
has; counting the votes, ranking, thresholds, choosing the number of neighbours, explanations and
threads are done here.
"""

from longtail.voting.choosing import (
    FOLDS,
    NUMBERS_OF_NEIGHBORS,
    THRESHOLD,
    THRESHOLDS,
    VotingChoice,
    choose_voting,
    example_f1_at,
    random_folds,
)
from longtail.voting.classifier import BLOCK_ROWS, VotingClassifier
from longtail.voting.explanation import VoteExplanation
from longtail.voting.votes import (
    TIE,
    Neighbours,
    closeness,
    kept_from,
    scored_votes,
    vote,
    vote_in_parts,
    voted_labels,
)

__all__ = [
    "BLOCK_ROWS",
    "FOLDS",
    "NUMBERS_OF_NEIGHBORS",
    "THRESHOLD",
    "THRESHOLDS",
    "TIE",
    "Neighbours",
    "VoteExplanation",
    "VotingChoice",
    "VotingClassifier",
    "choose_voting",
    "closeness",
    "example_f1_at",
    "kept_from",
    "random_folds",
    "scored_votes",
    "vote",
    "vote_in_parts",
    "voted_labels",
]
