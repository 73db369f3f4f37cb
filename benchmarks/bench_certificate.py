"""Does liblinear underfit? Its `-s 5` against the optimum of the same objective, and why.

    make bench-certificate

The objective is strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)², the bias a weight on a constant feature
of one. All objectives are computed anew from the weights. "Excess" is how far one lies above the
lowest that any solver found, relative to it; the accelerated solver is always among them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from data_folder import DATA, data_folder
from longtail._numba import kernel
from longtail._sparse import for_liblinear
from longtail.data import read_dataset
from longtail.errors import ConvergenceWarning
from longtail.features import RowScaler
from longtail.methods.linear import ProXML, certify
from longtail.runtime import ProcessExecutor
from longtail.solvers import fit_linear
from longtail.solvers.liblinear import l1_point, l1_task, solve_l1_labels
from measuring import timed

SWEEPS = 1000


class Sample:
    """Some labels of a data set, evenly spaced by frequency, and the optimum of each."""

    def __init__(self, name, X, Y, n_labels, strength, *, tol=1e-3, max_seconds=None):
        columns = sp.csc_array(Y)
        counts = np.diff(columns.indptr)
        order = np.argsort(-counts, kind="stable")[: (counts > 0).sum()]
        places = np.linspace(0, len(order) - 1, n_labels).round().astype(int)
        self.labels = order[places]
        self.name, self.strength = name, strength
        self.X, self.Y = X, columns[:, self.labels]
        self.rows = for_liblinear(sp.csr_array(X))
        self.positives = [
            self.Y.indices[self.Y.indptr[b] : self.Y.indptr[b + 1]] for b in range(n_labels)
        ]
        self.seconds, self.fit = timed(
            lambda: self.solve(solver="accelerated", tol=tol, max_seconds=max_seconds)
        )
        self.best, self.violation = self.points(self.fit.weights)
        self.lines = []

    def solve(self, **settings):
        return fit_linear(
            self.X, self.Y, penalty="l1", n_jobs=2, block_size=1, dtype=np.float64,
            **{"strength": self.strength, "max_iter": 5000, **settings},
        )  # fmt: skip

    def points(self, weights):
        """Objective and violation of every label, at these weights."""
        W = np.asarray(weights.toarray(), dtype=np.float64)
        found = [
            l1_point(self.rows, rows, W[:, b], self.strength)
            for b, rows in enumerate(self.positives)
        ]
        return np.array(found).T

    def liblinear(self, eps, sweeps=SWEEPS):
        task = l1_task(self.rows, eps, sweeps)
        blocks = enumerate([(rows, 1.0, 1.0, self.strength)] for rows in self.positives)
        found = {}
        ProcessExecutor(2).each(solve_l1_labels, task, blocks, found.__setitem__)
        return [found[label] for label in range(len(found))]

    def line(self, name, objectives, *, stopped=None, seconds=None):
        """Remember a line of the table; its objectives may be the best there are."""
        self.lines.append((name, objectives, stopped, seconds))
        self.best = np.minimum(self.best, objectives)

    def show(self):
        print(
            f"\n{self.name}, strength {self.strength:g}, {len(self.labels)} labels; accelerated "
            f"steps to a violation of {self.violation.max():.0e} took "
            f"{self.seconds / len(self.labels):.2f} s a label"
        )
        names = "".join(
            f"{name:>{width}}"
            for name, width in (
                ("median", 9), ("90 %", 9), ("largest", 9), (">0", 7), (">1e-4", 7), (">1 %", 7),
                ("at limit", 10), ("s/label", 9),
            )
        )  # fmt: skip
        print(f"  {'excess':<38}{names}")
        for name, objectives, stopped, seconds in self.lines:
            excess = objectives / self.best - 1.0
            cells = "".join(
                f"{value:9.1e}" for value in (*np.quantile(excess, (0.5, 0.9)), excess.max())
            )
            shares = "".join(f"{100 * (excess > above).mean():6.0f}%" for above in (0, 1e-4, 1e-2))
            limit = "" if stopped is None else f"{100 * np.mean(stopped):9.0f}%"
            each = "" if seconds is None else f"{seconds / len(self.labels):9.2f}"
            print(f"  {name:<38}{cells}{shares}{limit:>10}{each}", flush=True)

    def liblinear_line(self, eps, sweeps=SWEEPS):
        answers = self.liblinear(eps, sweeps)
        self.line(
            f"liblinear, eps {eps:g}, {sweeps} sweeps",
            np.concatenate([answer["objective"] for answer in answers]),
            stopped=[not answer["converged"][0] for answer in answers],
            seconds=sum(answer["seconds"][0] for answer in answers),
        )


@kernel
def coordinate_descent(indptr, indices, data, signs, strength, eps, max_sweeps, shrink, order, w):
    """The method of `-s 5` (Fan et al. 2008, appendix) with and without leaving features out.

    X by columns, the bias as the last one. `order` holds random numbers for the order of the
    features. Returns the sweeps, the violations that the first one saw, and how many features took
    part in the last.
    """
    n, d = signs.shape[0], indptr.shape[0] - 1
    slack = np.ones(n)
    index = np.arange(d)
    active, largest, first, sweeps, drawn = d, np.inf, 0.0, 0, 0
    while sweeps < max_sweeps:
        for a in range(active):
            b = a + order[drawn % len(order)] % (active - a)
            drawn += 1
            index[a], index[b] = index[b], index[a]
        worst = total = 0.0
        a = 0
        while a < active:
            j = index[a]
            slope = curvature = bound = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                i, x = indices[p], data[p]
                bound += x * x
                if slack[i] > 0:
                    slope -= 2 * signs[i] * x * slack[i]
                    curvature += 2 * x * x
            curvature = max(curvature, 1e-12)
            if w[j] != 0.0:
                violation = abs(slope + strength * np.sign(w[j]))
            else:
                violation = max(abs(slope) - strength, 0.0)
                if shrink and violation == 0.0 and strength - abs(slope) > largest / n:
                    active -= 1
                    index[a], index[active] = index[active], index[a]
                    continue
            worst, total = max(worst, violation), total + violation
            goal = w[j] - slope / curvature
            goal = np.sign(goal) * max(abs(goal) - strength / curvature, 0.0)
            step, taken = goal - w[j], 0.0
            if abs(step) >= 1e-12:
                before = 0.0
                for p in range(indptr[j], indptr[j + 1]):
                    before += max(slack[indices[p]], 0.0) ** 2
                fall = slope * step + strength * (abs(w[j] + step) - abs(w[j]))
                for _ in range(20):
                    after = 0.0
                    for p in range(indptr[j], indptr[j + 1]):
                        i = indices[p]
                        slack[i] += (taken - step) * signs[i] * data[p]
                        after += max(slack[i], 0.0) ** 2
                    taken = step
                    dearer = strength * (abs(w[j] + step) - abs(w[j])) - 0.01 * fall
                    if min(bound * step * step + slope * step, after - before) + dearer <= 0:
                        break
                    step, fall = step / 2, fall / 2
                w[j] += taken
            a += 1
        sweeps += 1
        if sweeps == 1:
            first = total
        if total <= eps * first:
            if active == d:
                break
            active, largest = d, np.inf
        else:
            largest = worst
    return sweeps, first, active


def written_anew(sample, eps, shrink):
    """Objectives by our own coordinate descent, and how many features were left at the end."""
    n = sample.rows.shape[0]
    X = sp.csc_array(sp.hstack([sample.rows, np.ones((n, 1))]))
    order = np.random.default_rng(0).integers(0, 2**31, size=1 << 20)

    def solve(b):
        rows = sample.positives[b]
        signs = np.full(n, -1.0)
        signs[rows] = 1.0
        w = np.zeros(X.shape[1])
        scaled = eps * max(min(len(rows), n - len(rows)), 1) / n
        sweeps, _, active = coordinate_descent(
            X.indptr, X.indices, X.data, signs, sample.strength, scaled, SWEEPS, shrink, order, w
        )
        value, _ = l1_point(sample.rows, rows, w, sample.strength)
        return value / sample.best[b] - 1.0, sweeps >= SWEEPS, active / X.shape[1]

    with ThreadPoolExecutor(2) as pool:
        excess, stopped, active = np.array(list(pool.map(solve, range(len(sample.labels))))).T
    name = f"eps {eps:g}, {'with' if shrink else 'without'} shrinking"
    print(
        f"  {name:<38}{np.median(excess):9.1e}{excess.max():9.1e}{100 * np.mean(stopped):9.0f}%"
        f"{100 * np.median(active):9.0f}%",
        flush=True,
    )


def proxml_line(sample):
    """ProXML's own solver at its default tolerance."""
    ours = sample.solve(tol=0.01)
    sample.line(
        f"ProXML, tol 0.01 (gap_ up to {ours.gap.max():.3f})",
        sample.points(ours.weights)[0],
        stopped=~ours.converged,
        seconds=ours.seconds.sum(),
    )


def bibtex(n_labels):
    train = read_dataset(DATA / "bibtex", part="train")
    sample = Sample("Bibtex, rows as they are", train.X, train.Y, n_labels, 0.5)
    for eps in (0.1, 0.01, 0.001, 0.0001):
        sample.liblinear_line(eps)
    proxml_line(sample)
    for steps in (100, 1000):
        slow = sample.solve(solver="proximal_gradient", max_iter=steps // 10)
        sample.line(f"Algorithm 1, {steps} steps", slow.objective, seconds=slow.seconds.sum())
    sample.show()
    unit = RowScaler().fit(train.X).transform(train.X)
    scaled = Sample("Bibtex, rows of unit length", unit, train.Y, n_labels, 0.5)
    for eps in (0.01, 0.0001):
        scaled.liblinear_line(eps)
    proxml_line(scaled)
    scaled.show()
    print(f"\nBibtex, rows as they are, {n_labels} labels: liblinear's method written anew")
    print(f"  {'excess':<38}{'median':>9}{'largest':>9}{'at limit':>10}{'active':>10}")
    for eps in (0.01, 0.0001):
        for shrink in (True, False):
            written_anew(sample, eps, shrink)
    names = sample.labels.tolist()
    model = ProXML(n_jobs=2).fit(train.X, sp.csr_array(sample.Y), label_names=names)
    print(f"\nBibtex, rows as they are: certify(X, Y, {model})")
    print(certify(train.X, sp.csr_array(sample.Y), model, n_jobs=2), flush=True)


def eurlex_as_it_is(n_labels, steps=2000):
    """No optimum here, but a certificate: accelerated steps from where liblinear ended."""
    train = read_dataset(DATA / "eurlex-4k", part="train")
    sample = Sample("", train.X, train.Y, n_labels, 0.5, max_seconds=1e-3)
    answers = sample.liblinear(0.01)
    ended = sp.lil_array((train.X.shape[1] + 1, n_labels))
    for b, answer in enumerate(answers):
        ended[answer["features"], b] = answer["values"]
    better = sample.solve(
        solver="accelerated", warm_start=ended.tocsc(), tol=1e-3, max_iter=steps // 10
    )
    above = 100 * (
        np.concatenate([answer["objective"] for answer in answers]) / better.objective - 1.0
    )
    stopped = sum(not answer["converged"][0] for answer in answers)
    print(
        f"\nEURLex-4K, rows as they are, strength 0.5, {n_labels} labels\n"
        f"  liblinear, eps 0.01, ended {stopped} of them at {SWEEPS} sweeps; {steps} "
        f"accelerated steps from there\n  show an excess of at least {above.min():.1f} % (least), "
        f"{np.median(above):.1f} % (median), {above.max():.1f} % (largest)",
        flush=True,
    )


def eurlex(n_labels):
    train = read_dataset(DATA / "eurlex-4k", part="train")
    X = RowScaler(damping="sqrt").fit(train.X).transform(train.X)
    for strength in (0.1, 0.5):
        sample = Sample("EURLex-4K, rows of unit length", X, train.Y, n_labels, strength)
        for eps in (0.01, 0.0001):
            sample.liblinear_line(eps)
        if strength == 0.1:
            sample.show()
    proxml_line(sample)
    ridge = fit_linear(X, sample.Y, strength=0.5, n_jobs=2, dtype=np.float64)
    sample.line("weights of DiSMEC, C = 2", sample.points(ridge.weights)[0])
    half = sample.solve(solver="accelerated", strength=0.25, tol=1e-3)
    sample.line("Algorithm 1 as printed, converged", sample.points(half.weights)[0])
    sample.show()
    bare = sample.solve(solver="accelerated", bias=0.0, tol=1e-2)
    double, violation = sample.points(sample.fit.weights)
    single, rounded = sample.points(sample.fit.weights.astype(np.float32))
    print("\nEURLex-4K, rows of unit length, strength 0.5")
    for name, ratio in (
        ("optimum at strength 0.25 / optimum", half.objective / sample.best),
        ("optimum without a bias / optimum", bare.objective / sample.best),
    ):
        print(f"  {name}: {ratio.min():.2f} to {ratio.max():.2f}, median {np.median(ratio):.2f}")
    print(
        "  weights in single precision: objective changed by at most "
        f"{np.abs(single / double - 1).max():.0e}, violation by at most "
        f"{np.abs(rounded - violation).max():.0e}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--labels", type=int, default=12, help="labels per sample")
    chosen = options.parse_args()
    data_folder()
    warnings.simplefilter("ignore", ConvergenceWarning)
    began = time.perf_counter()
    train = read_dataset(DATA / "bibtex", part="train")
    for solver in ("working_set", "accelerated", "proximal_gradient"):  # compile the kernels
        fit_linear(train.X[:200], train.Y[:200], penalty="l1", solver=solver, max_iter=2)
    bibtex(chosen.labels)
    eurlex_as_it_is(max(chosen.labels // 3, 2))
    eurlex(chosen.labels)
    print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
