"""The classifiers that the shared tests run, small and fast, and what scikit-learn may not expect.

A new method is picked up by itself with its defaults; settings that make it fast on tiny data, and
checks it cannot pass, are listed here, once, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from longtail.base import ExtremeClassifier
from longtail.methods.registry import methods

SETTINGS: dict[str, dict[str, Any]] = {
    "cbm": {"n_components": 3, "n_starts": 2, "max_rounds": 5},
    "cbm-cv": {
        "numbers_of_components": (2, 3),
        "Cs": (1.0,),
        "folds": 2,
        "n_starts": 1,
        "max_rounds": 2,
    },
    "dbpc": {
        "n_bits": 32,
        "ratio": 0.5,
        "hidden": 64,
        "learning_rate": 0.01,
        "max_rounds": 2,
        "validation": 0.0,
        "n_neighbors": 1,
    },
    "ecc": {"n_chains": 3},
    "lm-knn": {"max_iter": 5},
    "msvm": {"C": 0.1, "tol": 0.1},
    "mrb": {"term_weights": True, "C": 1.0},  # scikit-learn's checks have fractions in X
    "proxml-cv": {"strengths": (1.0, 0.25), "folds": 2},
}

ONLY_TO_TOLERANCE = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "it wants seven equal digits of scores; problems are solved to `tol`, on other paths",
)

EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "cdn": {
        "check_decision_proba_consistency": (
            "both classes have a sampled probability of their own, which need not add up to one"
        ),
    },
    "ccd-l1": ONLY_TO_TOLERANCE,
    "dismec": ONLY_TO_TOLERANCE,
    "ova": ONLY_TO_TOLERANCE,
    "proxml": ONLY_TO_TOLERANCE,
    "proxml-cv": ONLY_TO_TOLERANCE,
    "dbpc": {
        "check_classifiers_multilabel_output_format_predict_proba": (
            "it wants chances strictly between 0 and 1; a share of one vote is 0 or 1"
        ),
    },
}
"""method -> scikit-learn check -> reason."""


AT_THE_DOOR = {
    "check_classifier_data_not_an_array",
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_f_contiguous_array_estimator",
    "check_readonly_memmap_input",
}
"""scikit-learn's checks of what a base class decides: which forms of X are taken, and become CSR.

`check_estimator_sparse_array` looks at the same forms as `check_estimator_sparse_matrix`, for all.
"""


REPRESENTATIVES = {
    "br": "one linear problem per label, and probabilities",
    "cc": "one problem per label given the others, and marginals",
    "knn": "votes of neighbours, with nothing learned before",
    "logtree": "the base class of all alone",
    "mrb": "classes described by texts of their own",
    "ova": "liblinear's weights",
    "plst": "codes of numbers",
    "powerset": "whole label sets",
    "rbf": "codes of bits",
}
"""method -> what is its base class for; one method per base class.

`make test` runs what a base class decides on these, and `make test-all` on every method.
"""


def instances() -> list[ExtremeClassifier]:
    return [method.estimator(**SETTINGS.get(name, {})) for name, method in methods().items()]


def mostly_exhaustive(names: Iterable[str], always: Collection[str]) -> list[Any]:
    """Names of methods as parameters of a test that is exhaustive for all but some of them."""
    return [
        pytest.param(name, marks=() if name in always else pytest.mark.exhaustive)
        for name in sorted(names)
    ]


def expected_failures(estimator: ExtremeClassifier) -> dict[str, str]:
    return EXPECTED_FAILURES.get(estimator.method, {})
