"""What is reckoned beforehand beside what comes of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.data import load_api_docs
from longtail.features import TextFeatures
from longtail.labels import encode_labels
from longtail.solvers import fit_linear
from longtail.solvers.costs import features_above, features_met, weights_kept


@pytest.fixture(scope="module", params=["texts", "openings"])
def sample(request):
    """Texts of a hundred words or of six, and forty labels of all sizes."""
    data = load_api_docs()
    texts = data.texts
    if request.param == "openings":
        texts = [" ".join(text.split()[:6]) for text in texts]
    Y = sp.csc_array(encode_labels(data.Y).matrix)
    counts = np.diff(Y.indptr)
    order = np.argsort(counts)
    chosen = order[np.linspace(np.argmax(counts[order] > 0), len(order) - 1, 40).astype(int)]
    return TextFeatures().fit_transform(texts), sp.csr_array(Y[:, chosen])


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_weights_that_are_kept_are_foreseen_within_a_factor_of_two(sample, loss, C):
    X, Y = sample
    fit = fit_linear(X, Y, loss=loss, strength=1 / C, prune=0.01, n_jobs=2)
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    said = weights_kept(X, counts, loss=loss, penalty="l2", prune=0.01, strength=1 / C)
    assert 0.5 < said.sum() / fit.weights.nnz < 2


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_longer_rows_are_shorter_ones_with_another_strength(sample, loss):
    X, Y = sample
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    settings = {"loss": loss, "penalty": "l2"}
    said = weights_kept(10 * X, counts, prune=0.01, strength=1.0, **settings)
    same = weights_kept(X, counts, prune=0.1, strength=0.01, **settings)
    assert np.allclose(said, same, rtol=0.01)


def test_between_the_sizes_of_labels_that_are_looked_at_it_is_interpolated(sample):
    X, _ = sample
    counts = np.arange(1, 500)
    for prune in (0.0, 0.01):
        settings = {"loss": "squared_hinge", "penalty": "l2", "prune": prune}
        many = weights_kept(X, counts, **settings)
        few = weights_kept(X, counts[::50], **settings)
        assert np.allclose(many[::50], few, rtol=0.05)
    assert weights_kept(X, np.array([], dtype=int), **settings).shape == (0,)
    assert weights_kept(X, np.array([0]), **settings).tolist() == [1.0]


def test_features_met_are_those_of_points_drawn():
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 60), density=0.02, rng=rng, format="csr")
    drawn = [len(np.unique(X[rng.choice(400, 30, replace=True)].indices)) for _ in range(300)]
    assert abs(features_met(X, 30) - np.mean(drawn)) < 1


def test_features_above_are_counted():
    X = sp.random_array((50, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    X.data -= 0.5
    sums = abs(X).sum(axis=0)
    for least in (0.0, 0.3, 1.0, 9.0):
        assert features_above(X, least) == (sums >= least).sum()


@pytest.mark.parametrize("C", [1e-300, 1e-9, 1e9, 1e300])
def test_any_strength_gives_a_number(sample, C):
    X, _ = sample
    for loss in ("logistic", "squared_hinge"):
        kept = weights_kept(X, [1, 50], loss=loss, penalty="l2", prune=0.01, strength=1 / C)
        assert (kept >= 1).all()
        assert (kept <= X.shape[1] + 1).all()
