"""Training that was stopped goes on from its checkpoint to the same model, bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.errors import CheckpointError, ModelError
from longtail.methods.mixtures import ConditionalBernoulliMixture, ConditionalBernoulliMixtureCV
from longtail.methods.mixtures._saved import packed, settings_of, unpacked
from longtail.methods.mixtures.em import maximise
from longtail.methods.mixtures.logistic import LogisticExperts, LogisticGate
from longtail.runtime.checkpoint import Checkpoint
from longtail.runtime.run import Run


class StopError(Exception):
    pass


def stopping_at(what, done):
    def stop(*report):
        if report[:2] == (what, done):
            raise StopError

    return stop


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6)) * (rng.random((90, 6)) < 0.7)
    groups = (rng.random((3, 5)) < 0.5)[rng.integers(0, 3, 90)]
    Y = groups ^ (rng.random((90, 5)) < 0.1)
    Y[:, 0] = X[:, 0] > 0
    return X, Y.astype(int)


def learned(model):
    """Everything learned, as bytes."""
    found = {}
    for name, value in model.to_state()["learned"].items():
        for key, part in (value if isinstance(value, dict) else {"": value}).items():
            arrays = (part.data, part.indices, part.indptr) if sp.issparse(part) else (part,)
            found[name, key] = [np.asarray(array).tobytes() for array in arrays]
    return found


SETTINGS = {
    "logistic": {},
    "boosting": {"experts": "boosting", "n_trees": 2},
    "trees behind a logistic gate": {"gate": "logistic", "experts": "boosting", "n_trees": 2},
    "held-out rows": {"validation": 0.3, "C": 100.0},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_mixture_goes_on_after_any_round(settings, data, tmp_path):
    if "experts" in settings:
        pytest.importorskip("lightgbm")
    X, Y = data
    model = ConditionalBernoulliMixture(
        n_components=3, n_starts=1, max_rounds=5, tol=0.0, **settings
    )
    whole = []
    expected = learned(model.fit(X, Y, progress=lambda *report: whole.append(report)))
    assert model.n_iter_ > 2
    for done in range(1, model.n_iter_ + 1):
        folder, rest = tmp_path / str(done), []
        with pytest.raises(StopError):
            model.fit(X, Y, checkpoint=folder, progress=stopping_at("rounds", done))
        model.fit(X, Y, checkpoint=folder, progress=lambda *report, to=rest: to.append(report))
        assert rest == whole[whole.index(("rounds", done, 5)) :]
        assert learned(model) == expected


def random_problem(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40, 30)), rng.random((40, 5)) < 0.4
    return sp.csr_array(X), sp.csr_array(Y.astype(float))


@pytest.mark.parametrize("done", [1, 2, 3, 4])
def test_the_best_round_is_kept_beside_the_last(done, tmp_path):
    """With held-out points of another kind every round is worse than the first."""
    (X, Y), unseen = random_problem(8), random_problem(9)
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=40)

    def work(run):
        parts = LogisticGate(4, C=1e4), LogisticExperts(4, 5, C=1e4)
        return maximise(
            *parts, X, Y, shares, max_rounds=5, tol=-1.0, held_out=unseen, patience=4, run=run
        )

    gate, experts, found, history = work(Run())
    assert int(np.argmin(history.held_out)) < 3
    assert len(history.bound) > 3
    if done < len(history.bound):
        with pytest.raises(StopError):
            work(Run(stopping_at("rounds", done), tmp_path))
    else:
        work(Run(None, tmp_path))
    again_gate, again_experts, again, again_history = work(Run(None, tmp_path))
    assert gate.weights.tobytes() == again_gate.weights.tobytes()
    assert experts.weights.data.tobytes() == again_experts.weights.data.tobytes()
    assert found.tobytes() == again.tobytes()
    assert vars(history) == vars(again_history)


def test_other_work_is_refused_and_damage_is_done_again(data, tmp_path):
    X, Y = data
    model = ConditionalBernoulliMixture(n_components=3, n_starts=1, max_rounds=3, tol=0.0)
    expected = learned(model.fit(X, Y))
    with pytest.raises(StopError):
        model.fit(X, Y, checkpoint=tmp_path, progress=stopping_at("rounds", 2))
    for other in ({"C": 2.0}, {"max_rounds": 4}, {"random_state": 7}, {"n_components": 2}):
        with pytest.raises(CheckpointError, match="other work"):
            ConditionalBernoulliMixture(**(model.get_params() | other)).fit(
                X, Y, checkpoint=tmp_path
            )
    with pytest.raises(CheckpointError, match="other work"):
        model.fit(X[::-1], Y, checkpoint=tmp_path)
    (kept,) = tmp_path.glob("*.safetensors")
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    kept.write_bytes(content)
    seen = []
    model.fit(X, Y, checkpoint=tmp_path, progress=lambda *report: seen.append(report))
    assert seen[0] == ("rounds", 0, 3)
    assert learned(model) == expected


CHANGES = {
    "progress": np.array([9, 0]),
    "bound": np.array([1.0]),
    "last.responsibilities": np.zeros((3, 3)),
    "last.gate.weights": np.zeros((7, 2)),
    "last.experts.weights.indices": np.array([99]),
    "last.experts.weights.shape": np.array([1.5]),
    "last.experts.sign": np.zeros((3, 5), dtype=np.int8),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_state_that_makes_no_sense_is_not_gone_on_from(name, data, tmp_path):
    X, Y = data
    model = ConditionalBernoulliMixture(n_components=3, n_starts=1, max_rounds=2, tol=0.0)
    expected = learned(model.fit(X, Y, checkpoint=tmp_path))
    store = Checkpoint.__new__(Checkpoint)
    store.folder = tmp_path
    store.identity = (tmp_path / "run.json").read_text().split('"')[-2]
    arrays = store.load(0)
    assert name in arrays
    store.save(0, arrays | {name: CHANGES[name]})
    seen = []
    model.fit(X, Y, checkpoint=tmp_path, progress=lambda *report: seen.append(report))
    assert seen[0] == ("rounds", 0, 2)
    assert learned(model) == expected


CHOICE = {
    "numbers_of_components": (2, 3),
    "Cs": (1.0, 10.0),
    "folds": 2,
    "n_starts": 1,
    "max_rounds": 3,
    "tol": 0.0,
}


@pytest.fixture(scope="module")
def choice(data):
    """What is learned without a stop, and what is told meanwhile."""
    whole = []
    model = ConditionalBernoulliMixtureCV(**CHOICE)
    return learned(model.fit(*data, progress=lambda *report: whole.append(report))), whole


@pytest.mark.parametrize(
    ("what", "done"),
    [("settings", 1), ("settings", 2), ("settings", 4), ("settings", 7), ("rounds", 2)],
)
def test_the_choice_goes_on_after_any_setting(what, done, data, choice, tmp_path):
    (X, Y), (expected, whole) = data, choice
    model, rest = ConditionalBernoulliMixtureCV(**CHOICE), []
    with pytest.raises(StopError):
        model.fit(X, Y, checkpoint=tmp_path, progress=stopping_at(what, done))
    assert (tmp_path / "choice" / "block-000000.safetensors").exists()
    model.fit(X, Y, checkpoint=tmp_path, progress=lambda *report: rest.append(report))
    if what == "rounds":
        assert rest.pop(0) == ("settings", 8, 8)
    assert rest == whole[[report[:2] for report in whole].index((what, done)) :]
    assert learned(model) == expected


def test_the_choice_refuses_other_work_and_does_damage_again(data, tmp_path):
    X, Y = data
    model = ConditionalBernoulliMixtureCV(
        numbers_of_components=(2,), Cs=(1.0, 10.0), folds=2, n_starts=1, max_rounds=2
    )
    expected = learned(model.fit(X, Y))
    with pytest.raises(StopError):
        model.fit(X, Y, checkpoint=tmp_path, progress=stopping_at("settings", 3))
    with pytest.raises(CheckpointError, match="other work"):
        ConditionalBernoulliMixtureCV(**(model.get_params() | {"target": "f1"})).fit(
            X, Y, checkpoint=tmp_path
        )
    kept = tmp_path / "choice" / "block-000000.safetensors"
    kept.write_bytes(kept.read_bytes()[:-3])
    assert learned(model.fit(X, Y, checkpoint=tmp_path)) == expected


def test_parts_come_back_with_their_settings_and_without_old_memories(data):
    X, Y = (sp.csr_array(part.astype(float)) for part in data)
    shares = np.random.default_rng(0).dirichlet(np.ones(2), size=90)
    experts = LogisticExperts(2, 5, C=3.0, tol=1e-2)
    assert packed("e", experts) == {}
    experts.update(X, Y, shares, Run())
    arrays = packed("e", experts)
    odds = experts.log_odds(X)
    other = LogisticExperts(2, 5, C=3.0, tol=1e-2)
    other.update(X, Y, 1 - shares, Run())
    assert not np.array_equal(other.log_odds(X), odds)
    again = unpacked("e", arrays, other)
    assert again.log_odds(X).tobytes() == odds.tobytes()
    assert settings_of(again) == settings_of(experts) != settings_of(LogisticExperts(2, 5))
    with pytest.raises(ModelError, match="another size"):
        unpacked("e", arrays, LogisticExperts(3, 5))
