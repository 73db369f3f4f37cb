"""The parameters of a mixture, whether its size is given or chosen."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from longtail.errors import ParameterError
from longtail.parameters import Count, CountFromTwo, NotNegative, Positive, Seed, ShareOrZero

Learner = Literal["logistic", "boosting"]
Target = Literal["subset", "hamming", "f1", "jaccard"]
Decoding = Literal["joint", "threshold", "sample"]

ExpertKind = Annotated[
    Learner,
    "What predicts a label within a component: logistic regression, or gradient-boosted trees "
    "(needs LightGBM to train).",
]
GateKind = Annotated[Learner | None, "What weighs the components; by default as `experts`."]
Leaves = Annotated[CountFromTwo, "Of the boosted trees: leaves of each."]
Shrinkage = Annotated[Positive, "Of the boosted trees: factor on what each says."]
TreesPerRound = Annotated[Count, "Of the boosted trees: how many are added per round."]
BestFor = Annotated[Target, "The measure for which `predict` gives the best set; see Notes."]
FoundBy = Annotated[
    Decoding,
    "How that set is found: from the joint distribution; as the labels above a threshold "
    '("f1", "jaccard"); or from sets drawn at random, for the same row always the same.',
]
AllowEmpty = Annotated[
    bool | None,
    "Whether the set without labels may be predicted; by default if the training set has it.",
]
MaxRounds = Annotated[Count, "Limit on rounds of expectation maximisation."]
BoundTol = Annotated[
    NotNegative, "Training ends when a round lowers the bound by less than this share."
]
Validation = Annotated[
    ShareOrZero,
    "Share of the rows held out, 0 for none: training ends when their likelihood no longer rises, "
    'the best round is kept, and the threshold of `decoding="threshold"` is chosen on them, which '
    "without any is chosen on the training rows.",
]
Starts = Annotated[
    Count, "Random starts of the Bernoulli mixture of the label sets that training starts from."
]
Fits = Annotated[
    Count,
    "Whole trainings: the first from these starts, the others from clusters of the features and "
    "from single Bernoulli mixtures in turn. The one with the lowest bound, or held-out loss, is "
    "kept. Expectation maximisation finds a local optimum; a few more starts help small mixtures.",
]
StartSeed = Annotated[Seed, "Seed of these starts, the held-out rows and the samples."]


def check_options(*, target: Any = "subset", decoding: Any = "joint") -> None:
    """Raise an error for an unknown measure or decoding."""
    for name, value, kind in (("target", target, Target), ("decoding", decoding, Decoding)):
        if value not in get_args(kind):
            raise ParameterError(
                f"{name} must be one of {', '.join(get_args(kind))}, not {value!r}."
            )
