"""What section 2 of the ProXML paper says about robustness, tried out: what holds and what not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.data import make_longtail
from longtail.errors import ParameterError
from longtail.methods.linear import ProXML
from longtail.solvers import fit_linear


def hinges(X, s, w):
    return np.maximum(1 - s * (X @ w), 0)


@st.composite
def points(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    X, s = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n)
    w = rng.normal(size=d) * (rng.random(d) < 0.7) * draw(st.sampled_from([0.3, 1.0, 5.0]))
    return X, s, w, draw(st.floats(0.01, 3.0)), rng


@settings(max_examples=200, deadline=None)
@given(points())
def test_no_perturbation_costs_more_than_the_penalty(case):
    """Equation (2) <= equation (3): moving points by a total of λ' in the largest coordinate."""
    X, s, w, budget, rng = case
    shares = rng.dirichlet(np.ones(len(X))) * budget
    moved = rng.uniform(-1, 1, size=X.shape)
    moved *= (shares / np.abs(moved).max(axis=1))[:, None]
    assert np.abs(moved).max(axis=1).sum() <= budget * (1 + 1e-12)
    raised = hinges(X - moved, s, w).sum() - hinges(X, s, w).sum()
    assert raised <= budget * np.abs(w).sum() + 1e-9


@settings(max_examples=200, deadline=None)
@given(points())
def test_the_penalty_is_reached_where_a_hinge_is_active(case):
    """Equation (2) >= equation (3): all of the budget on one point within the margin."""
    X, s, w, budget, _ = case
    slack = 1 - s * (X @ w)
    i = int(slack.argmax())
    moved = np.zeros_like(X)
    moved[i] = s[i] * budget * np.sign(w)
    raised = hinges(X - moved, s, w).sum() - hinges(X, s, w).sum()
    penalty = budget * np.abs(w).sum()
    if slack[i] >= 0:
        assert raised == pytest.approx(penalty, abs=1e-9)
    else:
        assert raised == pytest.approx(max(penalty + slack[i], 0), abs=1e-9)


def test_beyond_all_margins_the_penalty_is_not_reached():
    """The equivalence needs a point within the margin: here (2) is 0 and (3) is 1."""
    X, s, w = np.array([[3.0]]), np.array([1.0]), np.array([1.0])
    assert max(hinges(X - m, s, w).sum() for m in np.linspace(-1, 1, 201)[:, None, None]) == 0
    assert 1.0 * np.abs(w).sum() + hinges(X, s, w).sum() == 1


@settings(max_examples=200, deadline=None)
@given(points())
def test_the_squared_hinge_is_robust_to_moving_features_instead(case):
    """With ‖h‖ = √Σ h², a move of every column of X by at most λ'' costs at most λ''‖w‖₁.

    That is reached unless all hinges are at rest; and ‖h‖ has the square's Pareto points, so this,
    not equation (2), is what the objective with the squared hinge guards against.
    """
    X, s, w, budget, rng = case
    h = hinges(X, s, w)
    penalty = budget * np.abs(w).sum()
    moved = rng.normal(size=X.shape)
    moved *= budget / np.linalg.norm(moved, axis=0)
    assert np.linalg.norm(hinges(X - moved, s, w)) <= np.linalg.norm(h) + penalty + 1e-9
    if h.any():
        worst = budget * np.outer(s * h / np.linalg.norm(h), np.sign(w))
        assert (np.linalg.norm(worst, axis=0) <= budget + 1e-12).all()
        found = np.linalg.norm(hinges(X - worst, s, w))
        assert found == pytest.approx(np.linalg.norm(h) + penalty)


class TestTheorem1:
    """Hinge and squared hinge do not have the same family of solutions.

    The proof takes Σ h² for the square of Σ h. Three points suffice: two that share a feature, and
    one with a feature of its own.
    """

    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, -1.0]])
    s = np.array([1.0, 1.0, -1.0])

    def costs(self, w):
        h = hinges(self.X, self.s, np.asarray(w))
        return h.sum(), (h**2).sum()

    def test_a_solution_of_the_squared_hinge_solves_no_hinge_problem(self):
        """w = (3/4, 1/2), optimal at λ = 1, has the norm of (1, 1/4), which costs less hinge."""
        fit = fit_linear(
            self.X, [[1], [1], [0]], penalty="l1", strength=1.0, bias=0.0, solver="accelerated",
            tol=1e-9, max_iter=1000, dtype=np.float64,
        )  # fmt: skip
        w = fit.weights.toarray().ravel()[:2]
        assert w == pytest.approx([0.75, 0.5], abs=1e-8)
        other = [1.0, 0.25]
        assert np.abs(other).sum() == 1.25
        assert self.costs([0.75, 0.5])[0] == 1.0
        assert self.costs(other)[0] == 0.75
        # so λ'‖w‖₁ + Σ h is higher at w for every λ', and at λ' = 0 the least is 0, at (1, 1)
        assert self.costs([1, 1])[0] == 0

    def test_a_solution_of_the_hinge_solves_no_squared_problem(self):
        """(1, 1/4) is optimal for the hinge at λ' = 1, and is dominated for the squared hinge."""
        grid = np.linspace(-0.5, 1.5, 161)
        values = [abs(a) + abs(b) + self.costs([a, b])[0] for a in grid for b in grid]
        assert 1.25 + self.costs([1.0, 0.25])[0] == pytest.approx(min(values))
        assert self.costs([1.0, 0.25])[1] > self.costs([0.75, 0.5])[1]
        for strength in np.geomspace(1e-3, 10, 30):
            fit = fit_linear(
                self.X, [[1], [1], [0]], penalty="l1", strength=strength, bias=0.0,
                solver="accelerated", tol=1e-6, max_iter=5000, dtype=np.float64,
            )  # fmt: skip
            w = fit.weights.toarray().ravel()[:2]
            assert np.abs(w - [1.0, 0.25]).max() > 0.05
            first = min(max(1 - strength / 4, 0), 1)
            assert w == pytest.approx([first, max(1 - strength / 2, 0)], abs=1e-4)


@pytest.mark.parametrize("solver", ["working_set", "accelerated"])
def test_a_start_from_dismec_gives_the_same_optimum(solver, tmp_path):
    data = make_longtail(150, 60, 20, random_state=1)
    settings_ = {"solver": solver, "tol": 1e-4, "max_iter": 2000}
    cold = ProXML(**settings_).fit(data.X, data.Y)
    warm = ProXML(start_from="dismec", **settings_).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-5)
    assert warm.violation_.max() <= 1e-4
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"dismec", "proxml"}
    again = ProXML(start_from="dismec", **settings_).fit(data.X, data.Y, checkpoint=tmp_path / "c")
    assert np.array_equal(again.weights_.toarray(), warm.weights_.toarray())


def test_other_starts_are_refused():
    with pytest.raises(ParameterError, match="start_from must be 'dismec' or None"):
        ProXML(start_from="parabel").fit([[1.0], [0.0]], [["a"], ["b"]])
