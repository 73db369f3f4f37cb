"""The large-margin metric: its gradient, its descent, what it is for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from longtail.methods.neighbors.metric import MarginProblem, learn_metric, losses_of


def make_problem(seed=0, n=40, side=6, k=4, C=10.0, noise=0.4):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, side)) < 0.4).astype(float)
    outputs = 0.5 * Y + noise * rng.standard_normal((n, side))
    neighbours = np.argsort(rng.random((n, n)) + np.eye(n), axis=1)[:, :k]
    neighbours[0, -1] = -1
    return MarginProblem(outputs, Y, neighbours, losses_of(sp.csr_array(Y), neighbours), C)


def by_hand(problem, Q):
    total = 0.5 * np.trace(Q)
    for i, row in enumerate(problem.neighbours):
        for j in row[row >= 0]:
            own = problem.outputs[i] - problem.targets[i]
            other = problem.outputs[i] - problem.targets[j]
            loss = np.abs(problem.targets[i] - problem.targets[j]).sum()
            lack = max(0.0, loss + own @ Q @ own - other @ Q @ other)
            total += problem.C / len(problem.outputs) * lack**2
    return total


def test_objective_is_the_one_stated():
    problem = make_problem()
    root = np.random.default_rng(1).standard_normal((6, 6))
    for Q in (np.eye(6), np.zeros((6, 6)), root @ root.T):
        assert problem.objective(Q) == pytest.approx(by_hand(problem, Q))


def test_gradient_is_that_of_finite_differences():
    problem = make_problem()
    root = np.random.default_rng(1).standard_normal((6, 6))
    Q = 0.1 * root @ root.T
    gradient = problem.gradient(problem.violations(Q))
    numeric = scipy.optimize.approx_fprime(
        Q.ravel(), lambda q: problem.smooth_part(q.reshape(6, 6))[0], 1e-6
    ).reshape(6, 6)
    assert np.allclose(gradient, 0.5 * (numeric + numeric.T), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("eta", [0.4, 0.9])
def test_descent(C, eta):
    problem = make_problem(C=C)
    learned = learn_metric(problem, eta=eta, max_iter=60)
    assert (np.diff(learned.objective) <= 0).all()
    assert learned.objective[0] == pytest.approx(problem.objective(np.eye(6)))
    assert learned.objective[-1] == pytest.approx(problem.objective(learned.Q))
    assert np.array_equal(learned.Q, learned.Q.T)
    assert np.linalg.eigvalsh(learned.Q).min() > -1e-9 * max(1.0, np.abs(learned.Q).max())
    assert np.allclose(learned.factor @ learned.factor.T, learned.Q, atol=1e-6)


def test_the_minimum_is_found():
    """No other positive semidefinite matrix near or far does better."""
    problem = make_problem(n=25, side=3, k=3)
    learned = learn_metric(problem, tol=1e-12, max_iter=3000)

    def of_root(root):
        root = root.reshape(3, 3)
        return problem.objective(root @ root.T)

    rng = np.random.default_rng(0)
    best = min(
        scipy.optimize.minimize(of_root, rng.standard_normal(9), method="BFGS").fun
        for _ in range(3)
    )
    assert learned.objective[-1] <= best * (1 + 1e-5)


def test_more_constraints_are_met_than_by_the_identity():
    problem = make_problem(n=80, noise=0.15)
    learned = learn_metric(problem)

    def met(Q):
        return (problem.violations(Q) <= 1e-9).mean()

    assert met(learned.Q) > met(np.eye(6)) + 0.2


def test_weak_constraints_leave_nothing():
    learned = learn_metric(make_problem(C=1e-9))
    assert np.allclose(learned.Q, 0)
    assert learned.factor.shape == (6, 1)


def test_losses_are_symmetric_differences():
    rng = np.random.default_rng(0)
    Y = (rng.random((20, 9)) < 0.4).astype(int)
    neighbours = rng.integers(-1, 20, (20, 3))
    expected = np.abs(Y[:, None] - Y[neighbours]).sum(axis=2) * (neighbours >= 0)
    assert np.array_equal(losses_of(sp.csr_array(Y), neighbours), expected)


def test_steps_are_reported():
    seen = []
    learn_metric(make_problem(), max_iter=4, tol=1e-12, report=seen.append)
    assert seen == [1, 2, 3, 4]
