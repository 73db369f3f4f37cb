"""A model folder that was altered, checksums and all, is refused or gives sound answers."""

from __future__ import annotations

import faulthandler
import random
import sys

import numpy as np
import pytest
from sklearn.base import clone

import longtail
from longtail import ConditionalBernoulliMixture, LabelPowerset, RowScaler, Tagger, TextFeatures
from longtail.errors import ModelError
from longtail.methods.registry import methods
from longtail.testing.problem import names_of, small_problem
from tests.forging import alterations, contents, outcome, write_forged
from tests.instances import SETTINGS

SAMPLE = 25  # alterations per model in `make test`
PATIENCE = 60  # seconds until an alteration counts as a hang, and where it hangs is printed

TEXTS = ["sea and sun", "sun and sand", "snow in the sky", "salt of the sea", "sky and sun"] * 4

OTHERS = {
    "powerset of trees": lambda: LabelPowerset(learner="boosting", n_trees=3),
    "mixture of trees": lambda: ConditionalBernoulliMixture(
        n_components=2, experts="boosting", n_starts=1, n_trees=2, max_rounds=2
    ),
    "sampled mixture": lambda: ConditionalBernoulliMixture(
        n_components=2, n_starts=1, decoding="sample", max_rounds=2
    ),
    "tagger of texts": lambda: Tagger(
        features=TextFeatures(token_pattern=r"\w+", stop_words=["in"])
    ),
    "tagger of rows": lambda: Tagger(features=RowScaler()),
}


def fitted(name):
    """A model, and what to ask it about."""
    model = (
        OTHERS[name]() if name in OTHERS else methods()[name].estimator(**SETTINGS.get(name, {}))
    )
    if name == "tagger of texts":
        return model.fit(TEXTS, [text.split()[::2] for text in TEXTS]), TEXTS[:4]
    X, Y = small_problem(model.classifier if hasattr(model, "classifier_") else _classifier(model))
    return clone(model).fit(X, names_of(Y)), X[:4]


def _classifier(model):
    return methods()["dismec"].estimator() if isinstance(model, Tagger) else model


@pytest.fixture
def seen_hanging():
    yield lambda: faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
    faulthandler.cancel_dump_traceback_later()


def tried(name, folder, choose, begin):
    model, inputs = fitted(name)
    model.save(folder / "model")
    content, arrays = contents(folder / "model")
    assert outcome(folder / "model", inputs) == "answered"
    counts, wrong = {"refused": 0, "answered": 0}, []
    for alteration in choose(list(alterations(content, arrays))):
        begin()
        write_forged(folder / "forged", content, arrays, alteration)
        try:
            counts[outcome(folder / "forged", inputs)] += 1
        except Exception as error:
            wrong.append(f"{alteration[0]}: {type(error).__name__}: {error}"[:300])
    print(name, counts)
    assert not wrong, f"{len(wrong)} of {sum(counts.values()) + len(wrong)}:\n" + "\n".join(wrong)
    assert counts["refused"]


NAMES = [*sorted(methods()), *OTHERS]


@pytest.mark.parametrize("name", NAMES)
def test_some_alterations_are_refused_or_harmless(name, fast_folder, seen_hanging):
    chosen = random.Random(f"1 {name}")
    tried(name, fast_folder, lambda all_of_them: chosen.sample(all_of_them, SAMPLE), seen_hanging)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_every_alteration_is_refused_or_harmless(name, fast_folder, seen_hanging):
    tried(name, fast_folder, list, seen_hanging)


def _set(*path, to):
    """An alteration of one value in the state."""

    def alter(state, arrays):
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = to

    return alter


def _entry(name, value):
    """An alteration of the last entry of an array."""

    def alter(state, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name].reshape(-1)[-1] = value

    return alter


def _halves(name):
    """An alteration of the type of an array."""

    def alter(state, arrays):
        arrays[name] = arrays[name].astype(np.float16)

    return alter


_FEATURES = ("state", "learned", "features_", "state", "parameters")
_LEAF_THAT_IS_NO_NODE = 10**6


@pytest.mark.parametrize(
    ("name", "alter", "says"),
    [
        ("tagger of texts", _set(*_FEATURES, "token_pattern", to=r"(?:\w+)+!"), "token_pattern"),
        ("tagger of texts", _set(*_FEATURES, "token_pattern", to="(" * 5000), "token_pattern"),
        ("tagger of texts", _set(*_FEATURES, "ngram_range", to=[1, 10**6]), "ngram_range"),
        ("cdn", _set("state", "parameters", "n_burn_in", to=2**31), "n_burn_in"),
        ("cdn", _set("state", "parameters", "n_samples", to=2**31), "n_samples"),
        ("pcc", _set("state", "parameters", "beam", to=2**40), "beam"),
        ("dismec", _set("state", "parameters", "n_jobs", to=2**40), "n_jobs"),
        ("dismec", _entry("learned.weights_.data", np.nan), "weights_ holds NaN"),
        ("dismec", _halves("learned.weights_.data"), "weights_"),
        ("dismec", _set("state", "learned", "n_points_", to="x"), "do not fit each other"),
        ("plst", _entry("learned.weights_", np.inf), "weights_ holds NaN, infinity"),
        ("ml-knn", _entry("learned.odds_", np.nan), "odds_ holds NaN"),
        ("powerset of trees", _entry("learned.trees_.left", 0), "no trees"),
        ("powerset of trees", _entry("learned.trees_.right", _LEAF_THAT_IS_NO_NODE), "no trees"),
        ("powerset of trees", _entry("learned.trees_.feature", 10**6), "no trees"),
        ("powerset of trees", _entry("learned.trees_.value", np.nan), "trees_ holds NaN"),
    ],
)
def test_what_would_hang_or_give_no_numbers_is_refused(
    name, alter, says, fast_folder, seen_hanging
):
    seen_hanging()
    model, _ = fitted(name)
    model.save(fast_folder / "model")
    write_forged(fast_folder / "forged", *contents(fast_folder / "model"), (says, alter))
    with pytest.raises(ModelError, match=says) as caught:
        longtail.load(fast_folder / "forged")
    assert "\n" not in str(caught.value)


def test_a_classifier_that_is_a_mapping_is_none(fast_folder):
    model, _ = fitted("tagger of rows")
    model.save(fast_folder / "model")
    content, arrays = contents(fast_folder / "model")
    content["state"]["state"]["learned"]["classifier_"] = {}
    arrays = {name: array for name, array in arrays.items() if "classifier_" not in name}
    write_forged(fast_folder / "forged", content, arrays, ("", lambda state, arrays: None))
    with pytest.raises(ModelError, match="parts of the tagger"):
        longtail.load(fast_folder / "forged")
