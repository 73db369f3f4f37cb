"""Why figures differ from those of the mixtures' paper: parts of `bench_cbm.py`.

What depends on where an optimiser is stopped, on how many trees there are, on the penalty of the
dependency network and on where its probabilities are cut, and on how much the mixture's start is
softened.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from data_folder import DATA
from longtail.methods.mixtures import ConditionalBernoulliMixture
from longtail.metrics import hamming_loss, jaccard, subset_accuracy
from longtail.papers import find_paper, read_trial
from measuring import timed

FIELD_STEPS = (20, 60, 100, 200)
NETWORKS = (("scene", (0.1, 1.0, 10.0)), ("rcv1", (1.0, 10.0, 1e6)), ("mediamill", (1e3,)))
SET_TREES = (3, 10, 20)
POWERS = (0.1, 0.3, 0.5, 1.0)


def opened(name: str) -> tuple[Any, Any]:
    return read_trial(find_paper("cbm").trial(name), DATA)


def set_figures(truth: Any, found: Any) -> str:
    right, alike, wrong = (
        100 * metric(truth, found) for metric in (subset_accuracy, jaccard, hamming_loss)
    )
    return f"{right:.1f} / {alike:.1f} / {wrong:.1f}"


def trees() -> None:
    """By trees per label: those that the rounds done have added, and where the tolerance stops."""
    from longtail.methods.joint import LabelPowerset

    print("  trees a label or set: subset accuracy / Jaccard / Hamming")
    for name, rounds in (("scene", (2, 5, 10, 20)), ("rcv1", (1, 2, 3, 5, 10, 20))):
        train, test = opened(name)
        sizes = (1, 25) if name == "scene" else (1,)
        for size in sizes:
            for limit in rounds:
                model = ConditionalBernoulliMixture(
                    n_components=size, experts="boosting", max_rounds=limit, n_jobs=2,
                    allow_empty=True if size == 1 else None,
                ).fit(train.X, train.Y)  # fmt: skip
                figures = set_figures(test.Y, model.predict(test.X))
                grown = model.n_iter_ * model.n_trees
                print(f"  {name}, boosted, K = {size}, {grown} trees: {figures}", flush=True)
                if model.n_iter_ < limit:
                    break  # it has stopped by itself
        if name == "scene":
            for number in (20, 50, 100, 200):
                powerset = LabelPowerset(learner="boosting", n_trees=number, n_jobs=2)
                found = powerset.fit(train.X, train.Y).predict(test.X)
                figures = set_figures(test.Y, found)
                print(f"  {name}, boosted power-set, {number} trees: {figures}", flush=True)


def halves() -> None:
    """RCV1 with training and test part exchanged, and in random halves."""
    from longtail.methods.joint import LabelPowerset
    from longtail.methods.linear import BinaryRelevance

    train, test = opened("rcv1")
    X, Y = sp.vstack([train.X, test.X], format="csr"), sp.vstack([train.Y, test.Y], format="csr")
    n, cut = X.shape[0], train.X.shape[0]
    given = np.arange(n)
    orders = {"given": given, "exchanged": np.roll(given, n - cut)}
    orders |= {f"random {seed}": np.random.default_rng(seed).permutation(n) for seed in range(2)}
    for name, order in orders.items():
        here, there = order[:cut], order[cut:]
        for kind in (LabelPowerset, BinaryRelevance):
            model = kind(C=1e6, n_jobs=2).fit(sp.csr_array(X[here]), sp.csr_array(Y[here]))
            figures = set_figures(sp.csr_array(Y[there]), model.predict(sp.csr_array(X[there])))
            print(f"  rcv1, {name} halves, {kind.method}: {figures}", flush=True)


def softening() -> None:
    """The power of the first shares where K exceeds the label sets, on Scene's training part."""
    from longtail.data.split import fold_of_rows
    from longtail.methods.mixtures import starts

    train, _ = opened("scene")
    used = starts.SOFTENING
    fold_of = fold_of_rows(train.Y, 3, 0)
    for power in POWERS:
        starts.SOFTENING = power
        found = []
        for fold in range(3):
            rest, held_out = fold_of != fold, fold_of == fold
            model = ConditionalBernoulliMixture(n_components=20, n_jobs=2)
            model.fit(train.X[rest], train.Y[rest])
            found.append(100 * subset_accuracy(train.Y[held_out], model.predict(train.X[held_out])))
        print(
            f"  scene, shares to the power {power:g}: {np.mean(found):.1f} in cross-validation",
            flush=True,
        )
    starts.SOFTENING = used


def stops() -> None:
    """Logistic regressions by scikit-learn's L-BFGS, stopped after so many steps."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    from longtail.labels.sets import distinct_sets

    for name, C, steps in (("rcv1", 1e6, (10, 15, 20)), ("mediamill", 1e3, (10, 20, 40))):
        train, test = opened(name)
        sets, which = distinct_sets(train.Y)
        X, Z = train.X, test.X
        if name == "mediamill":  # which has no zeros
            X, Z = X.toarray().astype(np.float32), Z.toarray().astype(np.float32)
        for limit in steps:
            regression = LogisticRegression(C=C, max_iter=limit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it has not converged
                regression.fit(X, which)
            found = sp.csr_array(sets[regression.predict(Z)])
            right = 100 * subset_accuracy(test.Y, found)
            print(f"  {name}, power-set, {limit} steps of L-BFGS: {right:.1f}", flush=True)
            if name == "rcv1":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    alone = OneVsRestClassifier(regression).fit(X, train.Y)
                right = 100 * subset_accuracy(test.Y, sp.csr_array(alone.predict(Z)))
                print(f"  {name}, BinRel, {limit} steps of L-BFGS: {right:.1f}", flush=True)


def networks() -> None:
    """The dependency network by its penalty, its probabilities cut at one half and by cardinality.

    The second is what MEKA does unless told otherwise: one threshold, such that the test points get
    as many labels on average as the training points have.
    """
    from longtail.methods.joint import DependencyNetwork

    print("  CDN: subset accuracy / Jaccard / Hamming, labels a point")
    for name, strengths in NETWORKS:
        train, test = opened(name)
        n, wanted = test.X.shape[0], train.Y.sum() / train.Y.shape[0]
        print(f"  {name}: {wanted:.2f} labels a training point", flush=True)
        for C in strengths:
            model = DependencyNetwork(C=C, target="hamming", n_jobs=2).fit(train.X, train.Y)
            chances = model.predict_proba(test.X, threshold=0.0).toarray()
            cut = np.sort(chances, axis=None)[-round(wanted * n)]
            for which, threshold in (("one half", 0.5), ("cardinality", cut)):
                found = sp.csr_array((chances >= threshold).astype(np.int8))
                figures, size = set_figures(test.Y, found), found.nnz / n
                print(
                    f"  {name}, C = {C:g}, {which} ({threshold:.3f}): {figures}, {size:.2f}",
                    flush=True,
                )


def tree_stops() -> None:
    from longtail.methods.joint import LabelPowerset

    train, test = opened("mediamill")
    for trees in SET_TREES:
        model = LabelPowerset(learner="boosting", n_trees=trees, n_jobs=2)
        seconds, _ = timed(lambda model=model: model.fit(train.X, train.Y))
        figures = set_figures(test.Y, model.predict(test.X))
        print(
            f"  mediamill, boosted power-set, {trees} trees a set: {figures}, {seconds:.0f} s",
            flush=True,
        )


def field_stops() -> None:
    from scipy.optimize import minimize

    from longtail.labels import distinct_sets
    from longtail.methods.joint._pair_scores import PairFeatures, PairScores, set_scores
    from longtail.solvers.softmax.loss import SoftmaxLoss
    from longtail.solvers.softmax.score_maps import score_map

    train, test = opened("rcv1")
    sets, which = distinct_sets(train.Y)
    n, n_sets = len(which), sets.shape[0]
    features, n_rows = PairFeatures(sets), train.X.shape[1] + 1
    scores = PairScores(
        score_map(train.X, 1.0, sets.shape[1], np.float64), features, n_rows, np.float64
    )
    targets = sp.csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, n_sets))
    loss = SoftmaxLoss(
        scores, targets, np.ones(n), strength=1.0, dtype=np.float64,
        n_parameters=scores.n_parameters, precondition=lambda residual, _: residual, n_jobs=2,
    )  # fmt: skip
    taken = 0

    def after_step(point: Any) -> None:
        nonlocal taken
        taken += 1
        if taken in FIELD_STEPS:
            weights, theta = scores.split(point)
            by_label = test.X @ weights[:-1] + weights[-1]
            best = set_scores(by_label, sets, features.times(theta)).argmax(axis=1)
            right = 100 * subset_accuracy(test.Y, sp.csr_array(sets[best]))
            print(f"  rcv1, pairCRF, {taken} steps of L-BFGS: {right:.1f}", flush=True)

    options = {"maxiter": max(FIELD_STEPS), "maxfun": 10 * max(FIELD_STEPS)}
    start = np.zeros(scores.n_parameters)
    with loss.running():
        minimize(
            loss.evaluate, start, jac=True, method="L-BFGS-B", callback=after_step, options=options
        )
