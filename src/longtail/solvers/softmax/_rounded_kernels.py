"""Kernels of probabilities of which only some are kept, rounded; see `rounded`.

What is kept of some points is ordered by class: those of class k are `starts[k]` to
`starts[k + 1]`, and `points` has their places among these points.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned

FLUSH = 128  # terms that are summed in the precision of the scores before they go to double


@kernel
def round_rows(P, floors, sums, first, points, classes, values):
    """Keep what is not below its class's floor; of the rest, a floor each time it adds up to one.

    Returns how many are kept. O(points·K).
    """
    count = 0
    for i in range(P.shape[0]):
        for c in range(P.shape[1]):
            p = P[i, c]
            if p < floors[c]:
                sums[c] += p
                if sums[c] < floors[c]:
                    continue
                p = floors[c]
                sums[c] -= p
            points[count] = first + i
            classes[count] = c
            values[count] = p
            count += 1
    return count


@kernel
def order_by_class(points, classes, values, starts, out_points, out_values):
    """The same, class by class, and where each begins; `starts` comes as zeros. O(kept + K)."""
    for c in classes:
        starts[c + 1] += 1
    for c in range(len(starts) - 1):
        starts[c + 1] += starts[c]
    following = starts[:-1].copy()
    for q in range(len(classes)):
        place = following[classes[q]]
        following[classes[q]] += 1
        out_points[place] = points[q]
        out_values[place] = values[q]


@kernel
def curve_kept(points, P, totals, weights, means, Z):
    """Z = weight·P∘(Z - mean) with the mean Σ P∘Z / Σ P of each point; `means` comes as zeros."""
    for q in range(len(points)):
        means[points[q]] += np.float64(P[q] * Z[q])
    for i in range(len(means)):
        if totals[i] > 0:
            means[i] /= totals[i]
    for q in range(len(points)):
        i = points[q]
        Z[q] = weights[i] * P[q] * (Z[q] - means[i])


@kernel
def scores_of_kept(X, rows, starts, points, V, out):
    """Inner products of rows of X and V. O(kept·D).

    Products are added up by halves, in an order that does not depend on the machine.
    """
    products = np.empty(X.shape[1], X.dtype)
    for k in range(len(starts) - 1):
        for q in range(starts[k], starts[k + 1]):
            i = rows[points[q]]
            length = unsigned(X.shape[1])
            for j in range(length):
                products[j] = X[i, j] * V[k, j]
            while length > unsigned(1):
                half = (length + unsigned(1)) >> unsigned(1)
                for j in range(length - half):
                    products[j] += products[j + half]
                length = half
            out[q] = products[0]


@kernel
def add_kept(X, rows, starts, points, R, out):
    """out_k += Σ of R times rows of X, one row per class. O(kept·D)."""
    part = np.zeros(X.shape[1], X.dtype)
    width = unsigned(X.shape[1])
    for k in range(len(starts) - 1):
        for begin in range(starts[k], starts[k + 1], FLUSH):
            for q in range(begin, min(begin + FLUSH, starts[k + 1])):
                i = rows[points[q]]
                value = R[q]
                for j in range(width):
                    part[j] += value * X[i, j]
            for j in range(width):
                out[k, j] += np.float64(part[j])
                part[j] = 0


@kernel
def sparse_scores_of_kept(indptr, indices, data, bias, rows, starts, points, V, out):
    """Inner products of rows of X̃ and V; X̃ sparse, its last column `bias`. O(kept·nnz per row)."""
    constant = unsigned(V.shape[1] - 1)
    for k in range(len(starts) - 1):
        for q in range(starts[k], starts[k + 1]):
            i = rows[points[q]]
            total = bias * V[k, constant]
            for p in range(indptr[i], indptr[i + 1]):
                total += data[p] * V[k, unsigned(indices[p])]
            out[q] = total


@kernel
def sparse_add_kept(indptr, indices, data, bias, rows, starts, points, R, out):
    """out_k += Σ of R times rows of X̃, one row per class, X̃ as above. O(kept·nnz per row)."""
    constant = unsigned(out.shape[1] - 1)
    for k in range(len(starts) - 1):
        for q in range(starts[k], starts[k + 1]):
            i = rows[points[q]]
            value = R[q]
            for p in range(indptr[i], indptr[i + 1]):
                out[k, unsigned(indices[p])] += np.float64(value * data[p])
            out[k, constant] += np.float64(value * bias)
