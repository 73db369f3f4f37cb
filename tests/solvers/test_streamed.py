"""Streamed problems: against LinearSVC, whatever the blocks, threads, folds and starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from longtail.errors import ConvergenceWarning, InputError, ParameterError
from longtail.runtime.run import Run
from longtail.solvers.streamed import Block, fit_streamed


def problem(n=200, p=6, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p)) * np.geomspace(1, 0.1, p)
    y = np.sign(Z @ rng.normal(size=p) + noise * rng.normal(size=n))
    return Z, y, rng.integers(1, 50, n).astype(float)


def cut(Z, y, weights, folds=None, size=37):
    def blocks():
        for at in range(0, len(Z), size):
            part = slice(at, at + size)
            yield Block(Z[part], weights[part], y[part], None if folds is None else folds[part])

    return blocks


def objective(w, C, Z, y, weights):
    short = np.maximum(0, 1 - y * (Z @ w))
    return 0.5 * w @ w + C * (weights * short**2).sum()


def by_liblinear(C, Z, y, weights):
    model = LinearSVC(
        loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-10, C=C, max_iter=10_000
    )
    return model.fit(Z, y, sample_weight=weights).coef_[0]


@pytest.mark.parametrize("seed", range(3))
def test_same_weights_as_liblinear_for_all_strengths_in_one_go(seed):
    Z, y, weights = problem(seed=seed)
    Cs = [1e-3, 0.1, 1.0, 1e3]
    fit = fit_streamed(cut(Z, y, weights), 6, Cs=Cs, tol=1e-10)
    assert fit.weights.shape == (4, 1, 6)
    for C, w, value in zip(Cs, fit.weights[:, 0], fit.objective[:, 0], strict=True):
        assert w == pytest.approx(by_liblinear(C, Z, y, weights), rel=1e-4, abs=1e-6)
        assert value == pytest.approx(objective(w, C, Z, y, weights), rel=1e-12)
    assert fit.passes <= 30


def test_folds_leave_their_rows_out():
    Z, y, weights = problem(seed=4)
    folds = np.arange(200) % 3
    folds[:10] = -1
    fit = fit_streamed(cut(Z, y, weights, folds), 6, Cs=[0.1, 10.0], folds=3, tol=1e-10)
    for c, C in enumerate([0.1, 10.0]):
        for fold in range(3):
            kept = folds != fold
            expected = by_liblinear(C, Z[kept], y[kept], weights[kept])
            assert fit.weights[c, fold] == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_blocks_may_be_functions_and_threads_change_no_bit():
    Z, y, weights = problem(n=2000, seed=5)

    def blocks():
        return [lambda b=b: b for b in cut(Z, y, weights)()]

    one = fit_streamed(blocks, 6, Cs=[0.01, 1.0], n_jobs=1)
    two = fit_streamed(blocks, 6, Cs=[0.01, 1.0], n_jobs=2)
    plain = fit_streamed(cut(Z, y, weights), 6, Cs=[0.01, 1.0], n_jobs=2)
    assert one.weights.tobytes() == two.weights.tobytes() == plain.weights.tobytes()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.floats(-4, 4), st.floats(0, 3))
def test_the_certificate_holds(seed, p, log_C, noise):
    """No point that a few random steps lead to is better than the gap allows."""
    Z, y, weights = problem(n=30, p=p, seed=seed, noise=noise)
    C = 10.0**log_C
    fit = fit_streamed(cut(Z, y, weights, size=7), p, Cs=[C])
    assert fit.converged
    assert fit.violation.max() <= 1e-6
    w, value = fit.weights[0, 0], fit.objective[0, 0]
    least = value * (1 - fit.gap[0, 0])
    rng = np.random.default_rng(seed)
    for length in (1e-4, 1e-2, 1.0):
        other = w + length * rng.normal(size=p)
        assert objective(other, C, Z, y, weights) >= least - 1e-12 * value


def test_weights_stand_for_repeated_rows_and_signs_for_mirrored_ones():
    Z, y, weights = problem(n=40, seed=6)
    repeated = np.repeat(np.arange(40), weights.astype(int))
    ones = np.ones(len(repeated))
    weighted = fit_streamed(cut(Z, y, weights), 6).weights
    by_hand = fit_streamed(cut(Z[repeated], y[repeated], ones), 6).weights
    mirrored = fit_streamed(cut(Z * y[:, None], np.ones(40), weights), 6).weights
    assert weighted == pytest.approx(by_hand, rel=1e-6)
    assert weighted == pytest.approx(mirrored, rel=1e-9)


def test_a_good_start_saves_passes():
    Z, y, weights = problem(seed=7, noise=2.0)
    cold = fit_streamed(cut(Z, y, weights), 6, Cs=[10.0])
    warm = fit_streamed(cut(Z, y, weights), 6, Cs=[10.0], warm_start=cold.weights)
    assert warm.passes <= 2 < cold.passes
    assert warm.weights == pytest.approx(cold.weights)


def test_far_starts_lead_to_the_same_point():
    Z, y, weights = problem(seed=8)
    expected = fit_streamed(cut(Z, y, weights), 6, tol=1e-9).weights
    start = 1e3 * np.random.default_rng(0).normal(size=(1, 1, 6))
    found = fit_streamed(cut(Z, y, weights), 6, tol=1e-9, warm_start=start)
    assert found.converged
    assert found.weights == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_nothing_to_learn():
    empty = fit_streamed(lambda: [], 3)
    assert empty.converged
    assert not empty.weights.any()
    zeros = fit_streamed(lambda: [Block(np.zeros((4, 3)))], 3, Cs=[2.0])
    assert zeros.objective.tolist() == [[8.0]]
    assert not zeros.weights.any()


def test_interrupted_work_goes_on_and_ends_the_same(tmp_path):
    Z, y, weights = problem(seed=9, noise=2.0)
    undisturbed = fit_streamed(cut(Z, y, weights), 6, Cs=[1.0, 100.0])

    def stop(what, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_streamed(cut(Z, y, weights), 6, Cs=[1.0, 100.0], run=Run(stop, tmp_path), identity="a")
    seen = []
    run = Run(lambda what, done, total: seen.append(done), tmp_path)
    again = fit_streamed(cut(Z, y, weights), 6, Cs=[1.0, 100.0], run=run, identity="a")
    assert seen[0] == 2
    assert again.weights.tobytes() == undisturbed.weights.tobytes()


def test_what_was_not_solved_is_said():
    Z, y, weights = problem(seed=10)
    with pytest.warns(ConvergenceWarning, match="after 1 passes"):
        fit = fit_streamed(cut(Z, y, weights), 6, max_iter=1)
    assert not fit.converged
    assert fit.violation.max() > 1e-6


def test_bad_input_is_refused():
    block = Block(np.zeros((2, 3)))
    for settings_, cause in [
        ({"Cs": []}, "at least one"),
        ({"Cs": [0.0]}, "C must be"),
        ({"folds": 0}, "folds must"),
        ({"tol": -1}, "tol must"),
    ]:
        with pytest.raises(ParameterError, match=cause):
            fit_streamed(lambda: [block], 3, **settings_)
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        fit_streamed(lambda: [block], 4)
    with pytest.raises(InputError, match="warm_start"):
        fit_streamed(lambda: [block], 3, warm_start=np.zeros(3))
