"""The l1 solver against optimality conditions, an independent solver and liblinear."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from longtail.data import load_api_docs, make_longtail, read_dataset
from longtail.errors import ConvergenceWarning, ParameterError
from longtail.features import RowScaler, TextFeatures
from longtail.runtime.run import Run
from longtail.solvers import fit_linear
from longtail.solvers.linear import working_set
from longtail.solvers.linear._loss_kernels import SQUARED_HINGE
from longtail.solvers.linear._matrix_kernels import column_sums
from longtail.solvers.linear._touched_kernels import (
    ASLEEP,
    UNTOUCHED,
    Features,
    Matrix,
    Rows,
    nth_largest,
)
from longtail.solvers.linear._working_set_kernels import _look


def losses(loss, target, z):
    if loss == "squared_hinge":
        return target * np.maximum(0, 1 - z) ** 2 + (1 - target) * np.maximum(0, 1 + z) ** 2
    return np.logaddexp(0, -z) + (1 - target) * z


def slopes(loss, target, z):
    if loss == "squared_hinge":
        return 2 * (1 - target) * np.maximum(0, 1 + z) - 2 * target * np.maximum(0, 1 - z)
    return 1 / (1 + np.exp(-z)) - target


class Problem:
    """One problem written down plainly, with dense float64 arrays."""

    def __init__(self, X, target, *, loss, strength, bias, penalize_bias=True, weight=None):
        X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
        self.A = np.hstack([X, np.full((len(X), 1), bias)])
        self.target, self.loss = np.asarray(target, dtype=float), loss
        self.weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        self.strengths = np.full(self.A.shape[1], float(strength))
        if not penalize_bias:
            self.strengths[-1] = 0.0

    def smooth(self, w):
        return float(self.weight @ losses(self.loss, self.target, self.A @ w))

    def gradient(self, w):
        return self.A.T @ (self.weight * slopes(self.loss, self.target, self.A @ w))

    def value(self, w):
        return self.smooth(w) + float(self.strengths @ np.abs(w))

    def violation(self, w):
        g, s = self.gradient(w), self.strengths
        off = np.where(
            w > 0, np.abs(g + s), np.where(w < 0, np.abs(g - s), np.maximum(np.abs(g) - s, 0))
        )
        if not self.A[:, -1].any():
            off = off[:-1]
        return float(off.max())

    def optimum(self):
        """By L-BFGS-B on w = u - v with u, v >= 0."""
        d = self.A.shape[1]

        def both(uv):
            w = uv[:d] - uv[d:]
            g = self.gradient(w)
            value = self.smooth(w) + self.strengths @ (uv[:d] + uv[d:])
            return value, np.concatenate([g + self.strengths, -g + self.strengths])

        found = scipy.optimize.minimize(
            both, np.zeros(2 * d), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * d),
            options={"maxiter": 3000, "maxfun": 5000, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        return self.value(found.x[:d] - found.x[d:])


def column(fit, b=0):
    return fit.weights[:, [b]].toarray().ravel().astype(float)


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 30))
    X = rng.random((n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.1, 0.4, 1.0])))
    if draw(st.booleans()):
        X *= np.where(rng.random((n, d)) < 0.5, -1, 1)
    if draw(st.booleans()):
        X[:, rng.integers(d)] = draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        X[rng.integers(n)] = 0
    share = draw(st.sampled_from([0.1, 0.5, 0.9]))
    target = (rng.random(n) < share).astype(float)
    if draw(st.booleans()):
        target *= rng.choice([0.3, 1.0], n)
    if not target.any():
        target[0] = 1.0
    weight = None
    if draw(st.booleans()):
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    return X, target, {
        "loss": draw(st.sampled_from(["squared_hinge", "logistic"])),
        "strength": draw(st.sampled_from([0.02, 0.3, 1.5, 20.0])),
        "bias": draw(st.sampled_from([0.0, 1.0, 2.5])),
        "penalize_bias": draw(st.booleans()),
    }, weight  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(problems())
def test_every_problem_ends_optimal(case):
    X, target, options, weight = case
    fit = fit_linear(
        sp.csr_array(X), target[:, None], penalty="l1", tol=1e-6, max_iter=2000, dtype=np.float64,
        sample_weight=weight, **options,
    )  # fmt: skip
    plain = Problem(X, target, weight=weight, **options)
    w = column(fit)
    assert fit.converged.all()
    assert plain.violation(w) <= 1.1e-6 * options["strength"] * max(1.0, options["bias"]) + 1e-9
    assert fit.objective[0] == pytest.approx(plain.value(w), rel=1e-9, abs=1e-12)
    # a free bias may have its optimum at infinity, where the loss is as large as its slope
    slack = 1e-7 if options["penalize_bias"] else 1e-5 + 2e-6 * options["strength"]
    assert plain.value(w) <= plain.optimum() * (1 + 1e-6) + slack


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_loose_tolerance_still_lies_within_the_proven_gap(loss):
    data = make_longtail(300, 200, 12, random_state=3)
    options = {"loss": loss, "strength": 0.3, "bias": 1.0}
    loose = fit_linear(data.X, data.Y, penalty="l1", tol=0.3, dtype=np.float64, **options)
    sharp = fit_linear(
        data.X, data.Y, penalty="l1", tol=1e-7, max_iter=5000, dtype=np.float64, **options
    )
    assert loose.converged.all()
    assert sharp.converged.all()
    assert (loose.violation <= 0.3).all()
    assert (sharp.violation <= 1e-7).all()
    excess = loose.objective - sharp.objective
    assert (excess <= loose.gap * loose.objective).all()
    assert (excess >= -1e-9).all()
    for b in range(12):
        plain = Problem(data.X, data.Y[:, [b]].toarray().ravel(), **options)
        assert plain.violation(column(loose, b)) / 0.3 == pytest.approx(
            loose.violation[b], rel=1e-6, abs=1e-9
        )


def test_without_kept_products_the_answer_is_the_same(monkeypatch):
    data = make_longtail(400, 300, 12, random_state=1)
    few = data.Y[:, :4]
    settings = {"penalty": "l1", "strength": 0.05, "tol": 1e-3, "max_iter": 2000}
    for loss in ("squared_hinge", "logistic"):
        kept = fit_linear(data.X, few, loss=loss, **settings)
        monkeypatch.setattr(working_set, "DENSE", 1)
        columns = fit_linear(data.X, few, loss=loss, **settings)
        monkeypatch.undo()
        assert kept.converged.all()
        assert columns.converged.all()
        assert np.diff(kept.weights.tocsc().indptr).max() > 64, "the room must have grown"
        np.testing.assert_allclose(columns.objective, kept.objective, rtol=1e-4)


def test_weights_of_points_a_problem_count_as_repeated_points():
    rng = np.random.default_rng(0)
    X = sp.random_array((40, 20), density=0.3, rng=rng, format="csr")
    Y = (rng.random((40, 3)) < 0.3).astype(float)
    times = rng.integers(0, 3, (40, 3))
    fit = fit_linear(
        X, Y, penalty="l1", strength=0.2, sample_weight=times, tol=1e-6, dtype=np.float64
    )
    sparse = fit_linear(
        X, Y, penalty="l1", strength=0.2, sample_weight=sp.csc_array(times), tol=1e-6,
        dtype=np.float64,
    )  # fmt: skip
    assert (fit.weights != sparse.weights).nnz == 0
    for b in range(3):
        rows = np.repeat(np.arange(40), times[:, b])
        alone = fit_linear(
            X[rows], Y[rows][:, [b]], penalty="l1", strength=0.2, tol=1e-6, dtype=np.float64
        )
        assert fit.objective[b] == pytest.approx(alone.objective[0], rel=1e-6)


def test_the_model_does_not_depend_on_threads_blocks_or_checkpoints(tmp_path):
    data = make_longtail(300, 200, 30, random_state=5)
    one = fit_linear(data.X, data.Y, penalty="l1", strength=0.3)
    two = fit_linear(data.X, data.Y, penalty="l1", strength=0.3, n_jobs=2, block_size=7)
    assert one.weights.data.tobytes() == two.weights.data.tobytes()
    assert (one.weights != two.weights).nnz == 0
    run = Run(checkpoint=tmp_path)
    first = fit_linear(data.X, data.Y, penalty="l1", strength=0.3, run=run)
    again = fit_linear(data.X, data.Y, penalty="l1", strength=0.3, run=run)
    assert first.weights.data.tobytes() == again.weights.data.tobytes()
    assert (first.seconds == again.seconds).all(), "the second run must have read the first"


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_warm_starts_change_the_way_and_not_the_end(loss):
    data = make_longtail(400, 300, 12, labels_per_sample=3, random_state=2)
    options = {"penalty": "l1", "loss": loss, "tol": 1e-5, "max_iter": 2000}
    cold = fit_linear(data.X, data.Y, strength=0.2, **options)
    near = fit_linear(data.X, data.Y, strength=0.25, **options)
    warm = fit_linear(data.X, data.Y, strength=0.2, warm_start=near.weights, **options)
    same = fit_linear(data.X, data.Y, strength=0.2, warm_start=cold.weights, **options)
    np.testing.assert_allclose(warm.objective, cold.objective, rtol=1e-6)
    np.testing.assert_allclose(same.objective, cold.objective, rtol=1e-6)
    assert same.iterations.sum() < 0.5 * cold.iterations.sum()
    ridge = fit_linear(data.X, data.Y, strength=1.0, loss=loss)
    from_ridge = fit_linear(data.X, data.Y, strength=0.2, warm_start=ridge.weights, **options)
    np.testing.assert_allclose(from_ridge.objective, cold.objective, rtol=1e-6)


def test_single_and_double_precision_agree():
    data = make_longtail(400, 300, 12, labels_per_sample=3, random_state=2)
    double = fit_linear(data.X.astype(np.float64), data.Y, penalty="l1", strength=0.3, tol=1e-4)
    single = fit_linear(data.X.astype(np.float32), data.Y, penalty="l1", strength=0.3, tol=1e-4)
    np.testing.assert_allclose(single.objective, double.objective, rtol=1e-5)


def test_limits_are_reported_with_the_names_of_the_labels():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 40)), (rng.random((60, 5)) < 0.5).astype(float)
    Y[:, 3] = 0
    names = ["ant", "bee", "cow", "dog", "eel"]
    with pytest.warns(ConvergenceWarning, match=r"4 of 5 .* after 1 iterations .*label ant, bee"):
        fit = fit_linear(
            X, Y, penalty="l1", strength=0.01, tol=1e-8, max_iter=1, run=Run(names=names)
        )
    assert fit.converged.tolist() == [False, False, False, True, False]
    assert (fit.violation[[0, 1, 2, 4]] > 1e-8).all()
    with pytest.warns(ConvergenceWarning, match=r"or 1e-06 seconds"):
        fit_linear(X, Y, penalty="l1", strength=0.001, tol=1e-9, max_iter=10**6, max_seconds=1e-6)


def test_impossible_accuracy_ends():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 30)) * 10.0 ** rng.integers(-4, 5, 30)
    Y = (rng.random((50, 4)) < 0.5).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for loss in ("squared_hinge", "logistic"):
            fit = fit_linear(X, Y, loss=loss, penalty="l1", strength=1e-3, tol=1e-15, max_iter=300)
            assert np.isfinite(fit.objective).all()


def test_equal_points_with_opposite_labels_and_equal_columns():
    X = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    for loss in ("squared_hinge", "logistic"):
        fit = fit_linear(
            X, [[1], [0], [1], [0]], loss=loss, penalty="l1", strength=0.1, tol=1e-6,
            dtype=np.float64,
        )  # fmt: skip
        plain = Problem(X, [1, 0, 1, 0], loss=loss, strength=0.1, bias=1.0)
        assert fit.converged.all()
        assert plain.value(column(fit)) == pytest.approx(plain.optimum(), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_label_of_all_rows_or_of_none_is_a_bias(loss):
    X = sp.random_array((30, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    Y = np.zeros((30, 2))
    Y[:, 0] = 1
    for penalize in (True, False):
        fit = fit_linear(
            X, Y, loss=loss, penalty="l1", strength=0.5, tol=1e-8, dtype=np.float64,
            penalize_bias=penalize,
        )  # fmt: skip
        assert fit.converged.all()
        assert fit.weights[:-1].nnz == 0
        every, none = fit.weights[[-1], :].toarray().ravel()
        if penalize:
            plain = Problem(X, np.ones(30), loss=loss, strength=0.5, bias=1.0)
            assert plain.violation(column(fit, 0)) < 1e-7
            plain = Problem(X, np.zeros(30), loss=loss, strength=0.5, bias=1.0)
            assert plain.violation(column(fit, 1)) < 1e-6
        assert none < -0.9
        assert every > 0.9


@pytest.mark.parametrize("strength", [0, -1.0, np.inf, np.nan])
def test_strengths_that_make_no_sense_are_refused(strength):
    with pytest.raises(ParameterError, match="strength must be a positive, finite number"):
        fit_linear([[1.0]], [[1]], penalty="l1", strength=strength)


def test_enormous_strength_leaves_nothing():
    data = make_longtail(100, 80, 10, random_state=0)
    fit = fit_linear(data.X, data.Y, penalty="l1", strength=1e6)
    assert fit.converged.all()
    assert fit.weights[:-1].nnz == 0


def test_not_above_liblinear(data_folder):
    """liblinear's -s 5 with a tight tolerance finds nothing lower on labels of Bibtex."""
    train = read_dataset(data_folder / "bibtex", part="train")
    X = RowScaler(damping="sqrt").fit_transform(train.X).astype(np.float64)
    labels = np.arange(0, train.Y.shape[1], 32)
    fit = fit_linear(X, train.Y[:, labels], penalty="l1", strength=0.5, dtype=np.float64)
    assert (fit.violation <= 0.01).all()
    for b, label in enumerate(labels):
        target = train.Y[:, [label]].toarray().ravel()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = LinearSVC(
                penalty="l1", dual=False, C=2.0, tol=1e-4, max_iter=1000, random_state=0
            ).fit(X, target > 0)
        plain = Problem(X, target, loss="squared_hinge", strength=0.5, bias=1.0)
        w = np.concatenate([theirs.coef_.ravel(), theirs.intercept_])
        assert fit.objective[b] <= plain.value(w) * (1 + 1e-4)


class Order:
    """An executor that notes which blocks it is given, in order."""

    isolated = True

    def each(self, solve, task, blocks, done):
        self.blocks = []
        for number, block in blocks:
            self.blocks.append([problem for _, part in block.parts for problem in part.tolist()])
            done(number, solve(task, block))


def test_dear_labels_come_first_and_share_a_block_with_few():
    """So that no thread waits for a frequent label at the end."""
    rng = np.random.default_rng(0)
    counts = np.array([3, 2000, 1, 1800, *[2] * 60])
    T = np.zeros((4000, len(counts)))
    for label, count in enumerate(counts):
        T[rng.choice(4000, count, replace=False), label] = 1.0
    X = sp.random_array((4000, 30), density=0.1, format="csr", rng=rng)
    order = Order()
    found = fit_linear(X, T, penalty="l1", strength=20.0, run=Run(executor=order))
    assert sorted(np.concatenate(order.blocks)) == list(range(len(counts)))
    costs = [(1 + counts[block] / 50).sum() for block in order.blocks]
    assert costs == sorted(costs, reverse=True)
    assert [0, 1, 2] in order.blocks[:2]
    assert max(map(len, order.blocks)) == 32
    by_one = fit_linear(X, T, penalty="l1", strength=20.0, block_size=1)
    assert (found.weights != by_one.weights).nnz == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.5]), min_size=1, max_size=40), st.data())
def test_the_nth_largest_is_that_of_a_sorted_list(values, data):
    n = data.draw(st.integers(1, len(values)))
    found = np.array(values)
    assert nth_largest(found, n) == sorted(values, reverse=True)[n - 1]
    assert sorted(found.tolist()) == sorted(values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_look_finds_every_violator_whatever_rows_are_awake(seed, weighted):
    """By brute force: rows awake with any slopes, rows asleep without one, all others with one."""
    rng = np.random.default_rng(seed)
    n, d = 60, 25
    X = sp.csr_array(np.round(rng.random((n, d)) * (rng.random((n, d)) < 0.3), 2))
    outside, strength = 0.2 * (seed % 3), 0.5 + rng.random()
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    place = rng.choice([ASLEEP, UNTOUCHED, 1], n, p=[0.2, 0.3, 0.5])
    awake = np.flatnonzero(place == 1)
    slope = np.where(rng.random(n) < 0.5, outside * weight, np.round(rng.normal(size=n), 1))
    slope[place == ASLEEP] = 0.0
    slope[place == UNTOUCHED] = (outside * weight)[place == UNTOUCHED]
    place[awake] = np.arange(len(awake))
    sums = tuple(np.empty(d) for _ in range(3))
    columns = sp.csc_array(X)
    arrays = (columns.indptr.astype(np.int64), columns.indices.astype(np.int32), columns.data)
    column_sums(*arrays, weight, *sums)
    matrix = Matrix(
        X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, *arrays, *sums,
        float(sums[1].max()),
    )  # fmt: skip
    room = {name: np.zeros(n) for name in Rows._fields}
    room |= {"place": place.astype(np.int32), "row": np.zeros(n, dtype=np.int32)}
    rows = Rows(**room)
    rows.row[: len(awake)] = awake
    rows.slope[: len(awake)], rows.weight[: len(awake)] = slope[awake], weight[awake]
    local = np.full(d, -1, dtype=np.int32)
    local[[3, 7]] = 1, 2
    features = Features(local, np.zeros(d), np.zeros(d, dtype=np.int64), np.zeros(d))
    gradient = X.T @ slope
    wanted = {j for j in range(d) if abs(gradient[j]) > strength and local[j] < 0}
    with_doubt = (place == UNTOUCHED).mean(), (place == ASLEEP).mean()
    found, worst = _look(
        SQUARED_HINGE, matrix, weight if weighted else np.empty(0), rows, len(awake), features,
        outside, *with_doubt, strength, np.inf, d,
    )  # fmt: skip
    assert set(features.candidate[:found].tolist()) == wanted
    most = max((abs(gradient[j]) - strength for j in wanted), default=0.0)
    assert worst == pytest.approx(most, abs=1e-12)
    assert not features.gradient.any()


@pytest.mark.parametrize(("label", "strength"), [(598, 0.331), (265, 0.1)])
def test_a_tiny_weight_of_the_wrong_sign_is_turned(label, strength):
    """On these two a weight of 1e-16 once stood in the way, as tiny moves are not made."""
    docs = load_api_docs()
    X, target = TextFeatures().fit_transform(docs.texts), sp.csc_array(docs.Y)[:, [label]]
    fit = fit_linear(X, target, penalty="l1", strength=strength, max_iter=200)
    assert fit.converged.all()
