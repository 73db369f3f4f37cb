"""Slow and plain versions of what the chains compute, over all 2^L label sets."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import log_expit


def problem(n=80, d=5, n_labels=4, seed=0, density=0.4):
    """Labels that depend on features and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.zeros((n, n_labels), dtype=int)
    for label in range(n_labels):
        z = X @ rng.standard_normal(d) + 2 * Y[:, :label].sum(axis=1) + np.log(density)
        Y[:, label] = rng.random(n) < 1 / (1 + np.exp(-z))
    return X, Y


def all_sets(n_labels):
    return np.array(list(itertools.product([0, 1], repeat=n_labels)))


def chain_odds(odds, between, labels):
    """Log-odds of every label given the others as `labels` has them."""
    return odds + labels @ between


def joint(odds, between):
    """Every label set and the log of its probability under a chain, for one point."""
    sets = all_sets(len(odds))
    z = np.array([chain_odds(odds, between, labels) for labels in sets])
    return sets, log_expit(np.where(sets, z, -z)).sum(axis=1)


def greedy(odds, between, order):
    labels = np.zeros(len(odds), dtype=int)
    z = np.zeros(len(odds))
    for label in order:
        z[label] = odds[label] + labels @ between[:, label]
        labels[label] = z[label] >= 0
    return labels, z


def parts(model, X, chain=0):
    """Log-odds without other labels and weights between labels of a fitted model."""
    L = len(model.classes_)
    weights = model.weights_.toarray()[:, chain * L : (chain + 1) * L].astype(float)
    between = model.label_weights_.toarray()[:, chain * L : (chain + 1) * L].astype(float)
    return X @ weights[:-1] + weights[-1], between
