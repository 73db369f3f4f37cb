"""The encoder without torch equals the one that torch trained; sizes and stored states."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.errors import ModelError, ParameterError
from longtail.methods.prototypes._trainable import Module, SparseEncoder, make_decoder, make_encoder
from longtail.methods.prototypes.network import Encoder, OwnEncoder, default_hidden

torch = pytest.importorskip("torch")


def rows(seed=0, n=50, d=30, share=0.15):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.standard_normal((n, d)) * (rng.random((n, d)) < share))


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("hidden", [5, 64, 100])
def test_the_kernel_equals_torch(hidden, share):
    X = rows(share=share)
    torch.manual_seed(0)
    trained = SparseEncoder(X, hidden, 20, "cpu")
    with torch.no_grad():
        for weight in trained.parameters():
            weight += 0.1 * torch.randn_like(weight)
    assert trained._dense == (share > 0.5)
    frozen = trained.frozen()
    assert (frozen.n_features, frozen.n_bits) == (30, 20)
    wanted = trained(X).detach().numpy()
    assert np.allclose(frozen.values(X), wanted, atol=1e-5)
    assert np.allclose(frozen.values(X.astype(np.float32)), wanted, atol=1e-5)


def by_torch_alone(encoder, X):
    first, shift, second, bias = encoder.parameters()
    hidden = torch.nn.functional.embedding_bag(
        torch.from_numpy(X.indices.astype(np.int64)), first,
        torch.from_numpy(X.indptr[:-1].astype(np.int64)), mode="sum",
        per_sample_weights=torch.from_numpy(X.data.astype(np.float32)),
    )  # fmt: skip
    return torch.relu(hidden + shift) @ second + bias


def gradients(encoder, *outputs):
    for out in outputs:
        out.square().mean().backward()
    found = [weight.grad.numpy().copy() for weight in encoder.parameters()]
    for weight in encoder.parameters():
        weight.grad = None
    return found


def test_the_gradient_is_that_of_torch_however_many_batches_came_before():
    X = rows(n=300, d=400, share=0.02)
    torch.manual_seed(0)
    encoder = SparseEncoder(X, 24, 8, "cpu")
    for start in (0, 60, 120, 120):
        batch = X[start : start + 60]
        assert np.diff(np.sort(batch.indices)).min() == 0  # some feature has several points
        found = gradients(encoder, encoder(batch))
        for ours, theirs in zip(
            found, gradients(encoder, by_torch_alone(encoder, batch)), strict=True
        ):
            assert np.array_equal(ours, theirs)
        unmet = np.setdiff1d(np.arange(400), batch.indices)
        assert len(unmet)
        assert not found[0][unmet].any()
    both = X[:50], X[50:90]
    found = gradients(encoder, *map(encoder, both))
    wanted = gradients(encoder, *(by_torch_alone(encoder, batch) for batch in both))
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.allclose(ours, theirs, atol=1e-7)
    empty = sp.csr_array((3, 400))
    assert not gradients(encoder, encoder(empty))[0].any()


def test_a_point_has_one_code_in_any_company():
    X = rows(n=70)
    torch.manual_seed(1)
    encoder = SparseEncoder(X, 64, 20, "cpu").frozen()
    alone = np.vstack([encoder.values(X[[i]]) for i in range(70)])
    assert np.array_equal(encoder.values(X), alone)
    assert np.array_equal(encoder.codes(X)[3:9], encoder.codes(X[3:9]))


def test_hidden_units_begin_alike_however_features_are_scaled():
    for scale in (1e-3, 1.0, 1e4):
        X = scale * rows(n=200)
        torch.manual_seed(2)
        first = SparseEncoder(X, 256, 8, "cpu").parameters()[0].detach().numpy()
        assert (X @ first).std() == pytest.approx(0.14, rel=0.3)


def test_stored_encoders_are_checked():
    torch.manual_seed(0)
    encoder = SparseEncoder(rows(), 64, 20, "cpu").frozen()
    state = encoder.to_state()
    assert np.array_equal(Encoder.from_state(state).codes(rows()), encoder.codes(rows()))
    for name, value in [
        ("bias", np.zeros(3, dtype=np.float32)),
        ("bias", np.full(20, np.nan, dtype=np.float32)),
        ("second", np.zeros((3, 20), dtype=np.float32)),
        ("tiles", np.zeros((1, 30), dtype=np.float32)),
        ("shifts", np.zeros((1, 64))),
        ("shifts", None),
    ]:
        with pytest.raises(ModelError):
            Encoder.from_state(state | {name: value})
    with pytest.raises(ModelError):
        OwnEncoder.from_state({"tensors": {"a": 1}, "n_features": 2, "n_bits": 2})


@pytest.mark.parametrize(
    ("module", "cause"),
    [
        (torch.nn.Linear(30, 7), r"shape \(2, 7\) .* n_bits is 20; its last layer must have 20"),
        (torch.nn.Linear(31, 20), r"encoder fails on a mini-batch of shape \(2, 30\)"),
        ("a network", "must be None or a torch.nn.Module"),
    ],
)
def test_encoders_of_the_wrong_size_are_refused(module, cause):
    with pytest.raises(ParameterError, match=cause) as caught:
        make_encoder(rows(), module, 64, 20, "cpu")
    assert "\n" not in str(caught.value)


def test_decoders_of_the_wrong_size_are_refused():
    with pytest.raises(ParameterError, match=r"labels are 9; its last layer must have 9 outputs"):
        make_decoder(20, torch.nn.Linear(20, 8), 64, 9, "cpu")


def test_decoders_of_no_known_kind_are_refused():
    with pytest.raises(ParameterError, match=r"'linear', 'layers' or a .*Module, not 'deep'"):
        make_decoder(20, "deep", 64, 9, "cpu")


def test_a_users_module_is_copied_not_changed():
    module = torch.nn.Linear(30, 20)
    before = module.weight.detach().clone()
    trained = Module(module, "cpu")
    with torch.no_grad():
        trained.module.weight += 1
    assert torch.equal(module.weight, before)


def test_hidden_units_follow_the_number_of_points():
    assert [default_hidden(n) for n in (1, 63, 64, 130, 4095, 16_383, 16_384, 10**6)] == [
        64, 64, 64, 128, 2048, 2048, 4096, 4096,
    ]  # fmt: skip
