"""What tests of boosted trees share: a small problem, and a world without LightGBM."""

import builtins

import numpy as np
import scipy.sparse as sp
from scipy.special import expit


def random_problem(rng, n=120, n_features=6, n_labels=4):
    X = rng.normal(size=(n, n_features))
    Y = rng.random((n, n_labels)) < expit(X @ rng.normal(size=(n_features, n_labels)))
    return sp.csr_array(X), sp.csr_array(Y.astype(np.float64))


def without_lightgbm(monkeypatch):
    real = builtins.__import__

    def importing(name, *rest, **more):
        if name == "lightgbm":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", importing)
