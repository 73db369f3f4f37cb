"""ProXML: one l1-regularised squared-hinge classifier per label, solved to optimality.

Babbar & Schölkopf, Data scarcity, robustness and extreme multi-label classification, Machine
Learning 108, 2019.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.methods._by_count import ByCount, l1_strength
from longtail.methods._independent import IndependentLabels, points_of_labels
from longtail.methods._linear import LinearClassifier
from longtail.methods._weights import ClassWeight, WeightedFit
from longtail.parameters import Count, Jobs, Positive, Prune
from longtail.runtime.run import Run
from longtail.solvers import LinearFit, fit_linear

Loss = Annotated[
    Literal["squared_hinge", "logistic"], "The paper's squared hinge, or the logistic loss."
]
PenalizeBias = Annotated[bool, "Whether the penalty holds for the bias too, as in the paper."]
Solver = Annotated[
    Literal["working_set", "proximal_gradient", "accelerated"],
    "The fast solver, or the paper's Algorithm 1 and its accelerated form, which are slow.",
]
StartFrom = Annotated[
    Literal["dismec"] | None,
    '"dismec" starts from the weights that DiSMEC learns at C = 1 / strength, as section 3.3 of '
    "the paper suggests; by default every label starts from no weights, which is faster here.",
]
Violation = Annotated[
    Positive,
    "Violation of the optimality conditions, relative to the strength, at which a label counts as "
    "solved.",
]
MaxSteps = Annotated[
    Count,
    "Limit on Newton steps per label; on gradient steps times ten for the slow solvers. Labels "
    "that reach it are named in a warning.",
]
MaxSeconds = Annotated[
    Positive | None,
    "Limit on the seconds per label, with a warning likewise. What a label that reaches it gets "
    "depends on the machine.",
]


BY_COUNT = (0.38, 0.18)
"""The default strength, set on real sets; docs/choosing-strength.md has the figures."""


class ProXML(WeightedFit, IndependentLabels, LinearClassifier):
    """One-vs-rest with an l1 penalty: sparse, robust on rare labels, small and fast.

    For each label, strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)² is minimised until no partial
    derivative misses the optimality conditions by more than `tol` times the strength, with a
    constant feature for the bias. Each label keeps only the few features that speak for or against
    it. Use features of unit length.

    The paper has one strength for all labels: `ProXML(strength=0.5)`. By default the strength
    grows with the number of a label's points, which is ours.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last.
    objective_, gap_, violation_, n_iter_ : arrays of shape (L,)
        Objective before pruning, proven relative gap, violation of the optimality conditions
        relative to the strength, and Newton steps of each label.

    Notes
    -----
    Training touches only the points that share a feature with the label's weights; it costs a few
    passes over these per label. Prediction costs O(weights of the features of x). A score is a
    margin: labels with at least 0 are predicted.

    Examples
    --------
    >>> from longtail import ProXML
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tagger = ProXML().fit(X, [["sea", "sun"], ["snow"], ["sea"], ["snow", "sun"]])
    >>> tagger.predict([[1, 0, 1]])
    [('sea', 'sun')]
    """

    method: ClassVar[str] = "proxml"
    paper: ClassVar[str] = "Babbar & Schölkopf 2019"

    def __init__(
        self,
        *,
        strength: Annotated[
            Positive | ByCount,
            "Weight of the penalty; larger means fewer features per label. A number is the paper's "
            "λ, alike for all labels; 0.5 suits rows of unit length. A pair (a, b), ours, gives a "
            "label with n points the strength a·n**b, times the usual length of a row (root mean "
            "square).",
        ] = BY_COUNT,
        loss: Loss = "squared_hinge",
        penalize_bias: PenalizeBias = True,
        solver: Solver = "working_set",
        start_from: StartFrom = None,
        prune: Prune = 0.0,
        tol: Violation = 0.01,
        max_iter: MaxSteps = 200,
        max_seconds: MaxSeconds = None,
        class_weight: ClassWeight = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.strength = strength
        self.loss = loss
        self.penalize_bias = penalize_bias
        self.solver = solver
        self.start_from = start_from
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _usual_scale(self) -> tuple[float, float]:
        return (1.0, 0.0) if self.loss == "logistic" else super()._usual_scale()

    def _problem(self, X: sp.csr_array, counts: NDArray[Any]) -> dict[str, Any]:
        return {
            "loss": self.loss, "penalty": "l1", "tol": self.tol, "prune": self.prune,
            "strength": l1_strength(X, counts, self.strength), "solver": self.solver,
            "penalize_bias": self.penalize_bias, "max_iter": self.max_iter,
            "max_seconds": self.max_seconds,
        }  # fmt: skip

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any) -> LinearFit:
        weights = self._weights_of(Y, run, sample_weight)
        problem = self._problem(X, points_of_labels(Y, sample_weight))
        start = None
        if self.start_from == "dismec":
            start = fit_linear(
                X, Y, strength=problem["strength"], prune=0.01, **weights, n_jobs=self.n_jobs,
                run=run.part("dismec"),
            ).weights  # fmt: skip
            run = run.part("proxml")
        fit = fit_linear(X, Y, **problem, **weights, warm_start=start, n_jobs=self.n_jobs, run=run)
        self.violation_ = fit.violation
        return fit
