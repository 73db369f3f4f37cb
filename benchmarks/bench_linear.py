"""DiSMEC on EURLex-4K: accuracy, training time against scikit-learn's one-vs-rest, model size.

    make bench-linear

scikit-learn's `OneVsRestClassifier(LinearSVC(C=1), n_jobs=2)` is timed on a random tenth of the
labels and extrapolated; both use two threads or processes, and all times come from one run.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from data_folder import DATA, data_folder
from longtail.data import read_dataset
from longtail.features import RowScaler
from longtail.labels import propensities
from longtail.methods.linear import BinaryRelevance, DiSMEC
from longtail.metrics import evaluate
from measuring import best_of, timed


def features(name: str, damping: str | None, norm: str | None = "l2"):
    train, test = (
        read_dataset(DATA / name / "train.txt.gz"),
        read_dataset(DATA / name / "test.txt.gz"),
    )
    scaler = RowScaler(damping=damping, norm=norm).fit(train.X)
    return scaler.transform(train.X), train.Y, scaler.transform(test.X), test.Y


def eurlex(share: float, repeats: int) -> None:
    X, Y, X_test, Y_test = features("eurlex-4k", "sqrt")
    DiSMEC(n_jobs=2).fit(X[:300], Y[:300]).predict_topk(X_test[:10], 5)  # compile the kernels
    model = DiSMEC(n_jobs=2)
    seconds = best_of(lambda: model.fit(X, Y), repeats)
    predict_seconds = best_of(lambda: model.predict_topk(X_test, 5))
    top = model.predict_topk(X_test, 5)
    found = evaluate(
        Y_test, Y_score=top, propensities=propensities(Y, propensity_constants="eurlex-4k")
    )
    size = sum(part.nbytes for part in (model.weights_.data, model.weights_.indices)) / 1e6

    columns = Y.tocsc()
    used = np.flatnonzero(np.diff(columns.indptr))
    some = np.random.default_rng(0).choice(used, round(share * len(used)), replace=False)
    X64 = X.astype(np.float64)
    peer = OneVsRestClassifier(LinearSVC(C=1.0), n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        part, _ = timed(lambda: peer.fit(X64, columns[:, some].tocsr()))
    theirs = part * len(used) / len(some)

    sample = used[:: len(used) // 100]
    weights = model.weights_.tocsc()[:, sample].toarray()
    scores = X64 @ weights[:-1] + weights[-1]
    active = ((2.0 * columns[:, sample].toarray() - 1.0) * scores < 1.0).mean(axis=0)
    shares = ", ".join(f"{100 * q:.1f} %" for q in np.quantile(active, (0.05, 0.5, 0.95)))

    print("EURLex-4K, two threads, DiSMEC() on square-root-damped rows of unit length")
    gap = np.nanmax(model.gap_)
    print(f"  training     {seconds:7.1f} s, best of {repeats}; proven gap {gap:.1e}")
    print(f"  scikit-learn {theirs:7.1f} s, from {len(some)} labels in {part:.1f} s")
    print(f"  ratio        {theirs / seconds:7.1f}")
    print(f"  prediction   {1e3 * predict_seconds / X_test.shape[0]:7.2f} ms a row")
    print(f"  weights      {size:7.1f} MB")
    print(f"  points with an active hinge: {shares} (5, 50, 95 % of {len(sample)} labels)")
    for name in ("P", "nDCG", "PSP", "PSnDCG", "C"):
        print(f"  {name:<12}" + "".join(f"{100 * found[f'{name}@{k}']:8.2f}" for k in (1, 3, 5)))


def bibtex(repeats: int) -> None:
    names = ("P@1", "P@3", "P@5", "PSP@5")
    print("\nBibtex, two threads, BinaryRelevance")
    print(
        f"  {'rows':<12}{'C':>4}{'prune':>7}{'kept':>8}{'s':>6}" + "".join(f"{n:>8}" for n in names)
    )
    for norm, strength, prune in (
        (None, 1.0, 0.0),
        (None, 1.0, 0.01),
        ("l2", 1.0, 0.01),
        ("l2", 10.0, 0.0),
        ("l2", 10.0, 0.01),
    ):
        X, Y, X_test, Y_test = features("bibtex", None, norm)
        model = BinaryRelevance(C=strength, prune=prune, n_jobs=2)
        model.fit(X[:200], Y[:200])  # compile the kernels
        seconds = best_of(lambda model=model, X=X, Y=Y: model.fit(X, Y), repeats)
        found = evaluate(
            Y_test,
            Y_score=model.predict_topk(X_test, 5),
            propensities=propensities(Y, propensity_constants="bibtex"),
        )
        kept = 100 * model.weights_.nnz / np.prod(model.weights_.shape)
        rows = "as they are" if norm is None else "unit length"
        figures = "".join(f"{100 * found[name]:8.2f}" for name in names)
        print(f"  {rows:<12}{strength:4.0f}{prune:7.2f}{kept:7.1f}%{seconds:6.1f}{figures}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--share", type=float, default=0.1, help="share of labels for the peer")
    options.add_argument("--repeats", type=int, default=3)
    chosen = options.parse_args()
    data_folder()
    eurlex(chosen.share, chosen.repeats)
    bibtex(chosen.repeats)


if __name__ == "__main__":
    main()
