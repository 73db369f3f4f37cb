"""Looking things up: the inverted index of weights, nearest neighbours, Hamming search, votes."""

from longtail.search.hamming import nearest_codes
from longtail.search.index import LinearIndex, index_for, linear_scores_above, linear_topk
from longtail.search.vote_settings import (
    FOLDS,
    NUMBERS_OF_NEIGHBORS,
    THRESHOLD,
    THRESHOLDS,
    VotingChoice,
    choose_voting,
    example_f1_at,
    random_folds,
)
from longtail.search.votes import (
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
    "FOLDS",
    "NUMBERS_OF_NEIGHBORS",
    "THRESHOLD",
    "THRESHOLDS",
    "TIE",
    "LinearIndex",
    "Neighbours",
    "VotingChoice",
    "choose_voting",
    "closeness",
    "example_f1_at",
    "index_for",
    "kept_from",
    "linear_scores_above",
    "linear_topk",
    "nearest_codes",
    "random_folds",
    "scored_votes",
    "vote",
    "vote_in_parts",
    "voted_labels",
]
