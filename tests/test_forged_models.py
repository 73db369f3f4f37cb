"""A model folder that was altered, checksums and all, is refused or gives sound answers."""

from __future__ import annotations

import faulthandler
import random
import sys

import pytest
from sklearn.base import clone

from longtail import ConditionalBernoulliMixture, LabelPowerset, RowScaler, Tagger, TextFeatures
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
