"""Algorithm 2: merged losses, what is recorded, seeds, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import DeepBinaryPrototypes
from longtail.data import make_longtail
from longtail.errors import InputError, ParameterError
from longtail.methods.prototypes._rows import held_out, mini_batches, prototype_count
from longtail.methods.prototypes._trainable import RIDGE, make_decoder, make_encoder
from longtail.methods.prototypes.codes import sign
from longtail.methods.prototypes.label_groups import group_label_sets
from longtail.methods.prototypes.training import decoding_of, train_prototypes
from longtail.runtime.run import Run

torch = pytest.importorskip("torch")

SMALL = {"n_bits": 16, "hidden": 32, "max_rounds": 3, "warmup": 0, "tol": 0, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def data():
    return make_longtail(300, 100, 30, random_state=0)


@pytest.mark.parametrize("kind", ["linear", "layers"])
def test_the_merged_loss_is_the_one_over_all_points(data, kind):
    """Σ over points = Σ over prototypes, weighted, plus a constant; and so its gradient."""
    groups = group_label_sets(data.Y, 20)
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    decoder = make_decoder(16, kind, 32, 30, "cpu")
    dense = torch.from_numpy(data.Y.toarray().astype(np.float32))
    constant = groups.distances.sum()
    squares = (groups.means.toarray() ** 2).sum(axis=1) @ groups.sizes
    for _ in range(3):
        codes = sign(rng.standard_normal((20, 16)))
        parts, gradient = decoding_of(decoder, groups, codes)
        merged = parts.sum()
        inputs = torch.from_numpy(codes.astype(np.float32)).requires_grad_()
        out = decoder(inputs[torch.from_numpy(groups.members)])
        plain = (0.5 * out.square() - dense * out).sum()
        (slope,) = torch.autograd.grad(plain, inputs)
        assert merged == pytest.approx(float(plain.detach()), rel=1e-4, abs=1e-3)
        assert np.allclose(gradient, slope.numpy(), atol=1e-3)
        whole = float((dense - out).square().sum().detach())
        assert 2 * merged + squares + constant == pytest.approx(whole, rel=1e-4)


def test_the_objective_is_that_of_8(data):
    found = train_prototypes(
        data.X, data.Y, DeepBinaryPrototypes(**SMALL, validation=0.0, n_neighbors=1)
    )
    X = data.X
    away = found.encoder.values(X) - found.codes[found.groups.members]
    assert found.best_round == 2
    assert found.history[2, 1] == pytest.approx(0.05 * (away.astype(float) ** 2).sum(), rel=1e-4)
    values = np.linalg.svd(found.codes.astype(float))[1]
    distance = ((values - np.sqrt(len(found.codes))) ** 2).sum()
    assert found.history[2, 2] == pytest.approx(0.01 * distance, rel=1e-6)
    assert (np.diff(found.history[:, :3].sum(axis=1)) < 0).any()


def test_the_last_layer_is_solved_by_least_squares(data):
    torch.manual_seed(0)
    encoder = make_encoder(data.X, None, 16, 4, "cpu", "points")
    first, shift, *_ = (w.detach().numpy() for w in encoder.parameters())
    wanted = sign(np.random.default_rng(0).standard_normal((300, 4)))
    encoder.solve(data.X, wanted)
    units = np.hstack([np.maximum(data.X @ first + shift, 0), np.ones((300, 1))])
    ridge = np.eye(17) * RIDGE * np.square(units[:, :-1]).sum(axis=0).mean()
    ridge[-1, -1] = 0
    solution = np.linalg.solve(units.T @ units + ridge, units.T @ wanted)
    assert np.allclose(encoder.frozen().values(data.X), units @ solution, atol=1e-3)


def test_units_that_are_points_begin_near_the_codes(data):
    """Steps too small to matter: what the first round finds is where it began."""
    given = SMALL | {"hidden": 256, "max_rounds": 1, "learning_rate": 1e-12}
    settings = [
        DeepBinaryPrototypes(
            **given, units=units, learning="fixed-codes", validation=0.0, n_neighbors=1
        )
        for units in ("random", "points")
    ]
    random, points = (train_prototypes(data.X, data.Y, each).history[0, 1] for each in settings)
    assert points < 0.5 * random


def test_units_are_rows_less_what_the_mean_row_gives():
    X = sp.csr_array(np.random.default_rng(0).random((20, 6)).astype(np.float32))
    torch.manual_seed(0)
    encoder = make_encoder(X, None, 50, 4, "cpu", "points")  # 30 units are noise
    first, shift, *_ = (w.detach().numpy() for w in encoder.parameters())
    square = float((X.data**2).sum()) / 20
    rows = X.toarray() / square
    nearest = np.abs(first.T[:20, None] - rows[None]).max(axis=2).argmin(axis=1)
    assert sorted(nearest) == list(range(20))
    assert np.abs(first.T[:20] - rows[nearest]).max() < 0.3 / np.sqrt(square)
    assert np.abs(first[:, 20:]).max() < 0.3 / np.sqrt(square)
    assert np.allclose(shift, -(X.mean(axis=0) @ first), atol=1e-5)


def test_rare_labels_may_count_for_more_in_the_first_codes(data):
    plain, tilted = (
        train_prototypes(
            data.X, data.Y, DeepBinaryPrototypes(**SMALL, learning="fixed-codes", rarity=power)
        )
        for power in (0.0, 0.5)
    )
    assert not np.array_equal(plain.codes, tilted.codes)
    assert np.array_equal(plain.groups.members, tilted.groups.members)


def test_the_best_round_is_the_one_with_the_highest_f1(data):
    found = train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL))
    assert found.best_round == found.history[:, 3].argmax()
    assert len(found.rows) == 270


@pytest.mark.parametrize("learning", ["joint", "no-decoder", "fixed-codes"])
def test_what_is_learned_can_be_chosen(data, learning):
    settings = DeepBinaryPrototypes(**SMALL | {"tau": 0.01}, learning=learning)
    found = train_prototypes(data.X, data.Y, settings)
    assert (found.history[:, 6].sum() > 0) == (learning != "fixed-codes")


def test_seeded_twice_the_same_bits(data):
    one, two = (train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL)) for _ in range(2))
    assert np.array_equal(one.codes, two.codes)
    assert np.array_equal(one.encoder.tiles, two.encoder.tiles)
    assert np.array_equal(one.history, two.history)
    other = train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL, random_state=1))
    assert not np.array_equal(one.encoder.second, other.encoder.second)


def test_the_generator_of_torch_is_left_alone(data):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL))
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize("stop_after", [1, 2])
def test_an_interrupted_run_goes_on_with_the_same_bits(data, tmp_path, stop_after):
    class StopError(Exception):
        pass

    def stop(what, done, total):
        assert ("objective" in what and "F1" in what) == (done > 0)
        if done == stop_after:
            raise StopError

    wanted = train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL))
    with pytest.raises(StopError):
        train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL), Run(stop, tmp_path / "c"))
    seen = []
    run = Run(lambda what, done, total: seen.append(done), tmp_path / "c")
    found = train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL), run)
    assert seen[0] == stop_after
    assert np.array_equal(found.encoder.tiles, wanted.encoder.tiles)
    assert np.array_equal(found.codes, wanted.codes)
    assert np.array_equal(found.history, wanted.history)


def test_it_ends_when_the_objective_settles(data):
    found = train_prototypes(
        data.X, data.Y, DeepBinaryPrototypes(**SMALL | {"tol": 0.9, "max_rounds": 9})
    )
    assert len(found.history) == 2


def test_mini_batches_take_every_row_once_a_pass():
    rng = np.random.default_rng(0)
    batches = list(mini_batches(10, 4, 6, rng))
    for one_pass in (batches[:3], batches[3:]):
        assert sorted(np.concatenate(one_pass)) == list(range(10))


def test_held_out_rows():
    kept, aside = held_out(10, 0.3, 0)
    assert sorted([*kept, *aside]) == list(range(10))
    assert len(aside) == 3
    assert len(held_out(10, 0.0, 0)[1]) == 0
    assert [len(part) for part in held_out(2, 0.01, 0)] == [1, 1]


def test_too_few_points_are_refused():
    assert prototype_count(10, 0.1) == 1
    with pytest.raises(InputError, match="no prototype of n_samples = 9 training points"):
        prototype_count(9, 0.1)


def test_a_device_that_is_not_there(data):
    with pytest.raises(ParameterError, match="no device 'abacus'"):
        train_prototypes(data.X, data.Y, DeepBinaryPrototypes(**SMALL, device="abacus"))


def test_networks_of_ones_own_train(data):
    encoder = torch.nn.Sequential(
        torch.nn.Linear(100, 24), torch.nn.BatchNorm1d(24), torch.nn.ReLU(), torch.nn.Dropout(0.1),
        torch.nn.Linear(24, 16),
    )  # fmt: skip
    settings = DeepBinaryPrototypes(**SMALL, encoder=encoder, decoder=torch.nn.Linear(16, 30))
    one, two = (train_prototypes(data.X, data.Y, settings) for _ in range(2))
    assert one.history[-1, 1] < one.history[0, 1]
    X = sp.csr_array(data.X)
    assert np.array_equal(one.encoder.codes(X), two.encoder.codes(X))
