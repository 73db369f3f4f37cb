"""Kernels of the transformed set: difference vectors of pairs, and hits on held-out documents.

Documents come with the classes that are listed for them (`indptr`, `classes` ascending, `values`)
and with their own classes (`own_indptr`, `own`, ascending); all other classes have `absent`.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail._sparse import offer
from longtail.runtime.random_kernels import GOLDEN, mixed

ALL, UNIFORM, HARDEST = 0, 1, 2


@kernel
def widen(values, low, high):
    """Make low and high hold the columns of values. O(values)."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            low[j] = min(low[j], values[i, j])
            high[j] = max(high[j], values[i, j])


@kernel
def find_own(classes, own, places, is_own):
    """Positions of the own classes among those listed, -1 for none; their number. O(both)."""
    found = 0
    at = 0
    for r in range(own.shape[0]):
        while at < classes.shape[0] and classes[at] < own[r]:
            at += 1
        places[r] = -1
        if at < classes.shape[0] and classes[at] == own[r]:
            places[r] = at
            is_own[at] = True
            found += 1
    return found


@kernel
def _choose_uniformly(is_own, n_rivals, n_wanted, state, chosen):
    """n_wanted of the listed classes that are not own, each set as likely. O(classes)."""
    left, need = n_rivals, n_wanted
    for p in range(is_own.shape[0]):
        if is_own[p]:
            chosen[p] = False
            continue
        state = mixed(state + GOLDEN)
        share = np.float64(state >> np.uint64(11)) * 2.0**-53
        chosen[p] = share * left < need
        left -= 1
        if chosen[p]:
            need -= 1


@kernel
def _choose_hardest(is_own, scores, n_wanted, chosen):
    """The n_wanted of the listed classes that are not own which score highest. O(classes·log)."""
    places = np.empty(n_wanted, dtype=np.int64)
    values = np.empty(n_wanted)
    size = 0
    for p in range(is_own.shape[0]):
        chosen[p] = False
        if not is_own[p]:
            size = offer(places, values, size, p, scores[p])
    for q in range(size):
        chosen[places[q]] = True


@kernel
def difference_rows(
    indptr, classes, values, absent, own_indptr, own, usable, n_classes, per_unit, kind, n_pairs,
    seed, first_document, scores, fold_of, rows, weights, folds,
):  # fmt: skip
    """Φ(x^y) - Φ(x^k), scaled, for every usable true class y of a document and its rivals k.

    Rivals that are not listed are one row, whose weight is their number. Returns the number of
    rows. O(listed classes·10).
    """
    width = values.shape[1]
    size = 0
    for i in range(indptr.shape[0] - 1):
        start, stop = indptr[i], indptr[i + 1]
        ours = own[own_indptr[i] : own_indptr[i + 1]]
        places = np.empty(ours.shape[0], dtype=np.int64)
        is_own = np.zeros(stop - start, dtype=np.bool_)
        n_rivals = stop - start - find_own(classes[start:stop], ours, places, is_own)
        n_absent = n_classes - ours.shape[0] - n_rivals
        chosen = ~is_own
        sampled = kind != ALL and n_rivals > n_pairs
        weight = n_rivals / n_pairs if sampled else 1.0
        if sampled and kind == HARDEST:
            _choose_hardest(is_own, scores[start:stop], n_pairs, chosen)
        for r in range(ours.shape[0]):
            if not usable[own_indptr[i] + r]:
                continue
            true = values[start + places[r]] if places[r] >= 0 else absent
            if sampled and kind == UNIFORM:
                state = mixed(np.uint64(seed) + GOLDEN)
                state = mixed((state ^ np.uint64(first_document + i)) + GOLDEN)
                state = mixed((state ^ np.uint64(ours[r])) + GOLDEN)
                _choose_uniformly(is_own, n_rivals, n_pairs, state, chosen)
            for p in range(stop - start):
                if chosen[p]:
                    for j in range(width):
                        rows[size, j] = (true[j] - values[start + p, j]) * per_unit[j]
                    weights[size] = weight
                    folds[size] = fold_of[i]
                    size += 1
            if n_absent > 0:
                for j in range(width):
                    rows[size, j] = (true[j] - absent[j]) * per_unit[j]
                weights[size] = n_absent
                folds[size] = fold_of[i]
                size += 1
    return size


@kernel
def count_hits(
    indptr, classes, values, absent, own_indptr, own, usable, n_classes, fold_of, weights, hits
):
    """In hits (F, C), count the held-out documents of which a true class scores highest.

    weights (F, 10, C): those of fold f judge the documents of fold f; documents of no fold are
    ignored. A tie with another class is no hit. O(listed classes·10·C).
    """
    n_trials = hits.shape[1]
    score = np.empty(n_trials)
    ours_best = np.empty(n_trials)
    other_best = np.empty(n_trials)
    for i in range(indptr.shape[0] - 1):
        fold = fold_of[i]
        if fold < 0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        ours = own[own_indptr[i] : own_indptr[i + 1]]
        places = np.empty(ours.shape[0], dtype=np.int64)
        is_own = np.zeros(stop - start, dtype=np.bool_)
        found = find_own(classes[start:stop], ours, places, is_own)
        n_absent = n_classes - ours.shape[0] - (stop - start - found)
        w = weights[fold]
        ours_best[:] = -np.inf
        other_best[:] = -np.inf
        if n_absent > 0:
            _scores(w, absent, other_best)
        for p in range(stop - start):
            if not is_own[p]:
                _scores(w, values[start + p], score)
                for c in range(n_trials):
                    other_best[c] = max(other_best[c], score[c])
        for r in range(ours.shape[0]):
            if usable[own_indptr[i] + r]:
                if places[r] >= 0:
                    _scores(w, values[start + places[r]], score)
                else:
                    _scores(w, absent, score)
                for c in range(n_trials):
                    ours_best[c] = max(ours_best[c], score[c])
        for c in range(n_trials):
            if ours_best[c] > other_best[c]:
                hits[fold, c] += 1


@kernel
def _scores(weights, features, out):
    """out_c = Σ_j features_j·weights_jc."""
    out[:] = 0.0
    for j in range(features.shape[0]):
        for c in range(out.shape[0]):
            out[c] += features[j] * weights[j, c]
