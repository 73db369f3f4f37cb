"""What a classifier refuses, in one sentence: data, parameters and models that make no sense."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from longtail.base import ExtremeClassifier
from longtail.errors import InputError, LongtailError, ModelError, ParameterError
from longtail.store import read
from longtail.testing.problem import refused, require, small_problem


def check_a_fit_that_fails(estimator: ExtremeClassifier) -> None:
    """A `fit` that fails leaves what was there before, and an unfitted classifier says so."""
    X, Y = small_problem(estimator)
    model = clone(estimator)
    for _ in range(2):
        with refused(NotFittedError, "predict before fit"):
            model.predict(X)
        with refused(NotFittedError, "save before fit"):
            model.save("nowhere")
        with refused(InputError, "a missing value"):
            model.fit(np.full_like(X, np.nan, dtype=float), Y)
    model.fit(X, Y)
    learned = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with refused(InputError, "a missing value"):
        model.fit(np.full_like(X, np.nan, dtype=float), Y)
    require(
        all(vars(model)[name] is value for name, value in learned.items()),
        "a fit that fails changes the model.",
    )


def check_bad_input(estimator: ExtremeClassifier) -> None:
    """Data that cannot be used are refused in one sentence."""
    bad: list[tuple[Any, Any, str]] = [
        ([[1.0, np.nan]], [[1]], "NaN"),
        ([[1.0, np.inf]], [[1]], "infinity"),
        ([[1.0], [2.0]], [[1]], "inconsistent"),
        ([1.0, 2.0], [[1], [0]], "2D"),
        ([[1.0], [2.0]], np.array([[1, 2], [0, 1]]), "only 0 and 1"),
        ([[1.0], [2.0]], [0.5, 1.5], "continuous"),
        ([[1.0], [2.0]], [[], []], "no label"),
        ([[1.0], [2.0]], [["a"], "b"], "mixes"),
        ([[1.0], [2.0]], None, "None"),
    ]
    for X, Y, cause in bad:
        with refused(LongtailError, f"X={X}, Y={Y}", naming=cause):
            clone(estimator).fit(X, Y)


def check_nonsense_for_parameters(estimator: ExtremeClassifier) -> None:
    """Every parameter is checked by `fit`, and refused in a sentence that names it."""
    for name in estimator.get_params(deep=False):
        with refused(ParameterError, f"nonsense for {name}", naming=name):
            clone(estimator).set_params(**{name: _Nonsense()}).fit(*small_problem(estimator))


class _Nonsense:
    """A value that no parameter can have, though scikit-learn can copy it."""

    def __deepcopy__(self, memo: Any) -> _Nonsense:
        return self


def check_altered_models(estimator: ExtremeClassifier) -> None:
    """A model whose learned parts do not fit each other is refused on loading."""
    altered: list[tuple[str, Any]] = [
        ("n_features_in_", 10**7),
        ("classes_", np.array(["a"])),
        ("label_kind_", "bogus"),
        ("label_counts_", np.zeros(2)),
        ("calibration_", np.array([-1.0, 0.0])),
        ("calibration_", np.array([1.0, np.inf])),
        ("calibration_", np.array([1.0, 0.0, 0.0])),
        ("calibration_", np.array([1, 0])),
        ("calibration_", "bogus"),
    ]
    model = clone(estimator).fit(*small_problem(estimator))
    with tempfile.TemporaryDirectory() as place:
        for name, value in altered:
            kept = vars(model).get(name)
            setattr(model, name, value)
            model.save(f"{place}/model")
            with refused(ModelError, f"a model whose {name} was altered"):
                read(f"{place}/model")
            vars(model).pop(name) if kept is None else setattr(model, name, kept)
