"""Exactness on real data: every label of Bibtex against scikit-learn's liblinear."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from longtail.data import read_dataset
from longtail.solvers import fit_linear


@pytest.mark.exhaustive
@pytest.mark.published
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_objective_on_every_label_of_bibtex(data_folder, loss):
    data = read_dataset(data_folder / "bibtex" / "train.txt.gz")
    X = data.X.astype(np.float64)
    Y = data.Y.tocsc()
    fit = fit_linear(X, Y, loss=loss, n_jobs=2)
    assert fit.converged.all()
    W = fit.weights.toarray().astype(np.float64)

    def value(y, w, b):
        margin = y * (X @ w + b)
        cost = np.logaddexp(0, -margin) if loss == "logistic" else np.maximum(0, 1 - margin) ** 2
        return 0.5 * (w @ w + b * b) + cost.sum()

    def compare(label):
        y = -np.ones(X.shape[0])
        y[Y.indices[Y.indptr[label] : Y.indptr[label + 1]]] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if loss == "logistic":
                peer = LogisticRegression(C=1.0, solver="liblinear").fit(X, y)
            else:
                peer = LinearSVC(C=1.0, dual=False).fit(X, y)
        theirs = value(y, peer.coef_.ravel(), float(peer.intercept_[0]))
        return value(y, W[:-1, label], W[-1, label]) / theirs - 1.0

    excess = np.array(
        Parallel(n_jobs=2, prefer="threads")(delayed(compare)(label) for label in range(159))
    )
    assert excess.max() <= 1e-3, f"label {excess.argmax()} is {excess.max():.1e} above liblinear"
