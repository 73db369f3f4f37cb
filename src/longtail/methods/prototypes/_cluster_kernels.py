"""Kernels of k-means on label sets: nearest means, and seeds far apart.

Label sets are rows of ones, given by `indptr, indices`; means are given by label, as the entries
of the columns of a sparse matrix, so that a label set meets only the means it shares a label with.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel


@kernel
def nearest_means(
    indptr, indices, first, last, mean_indptr, mean_rows, mean_data, norms, smallest,
    products, met, nearest, distances,
):  # fmt: skip
    """The nearest mean of the label sets `first` to `last`, ties to the smaller number.

    `norms` holds the squared lengths of the means, `smallest` the number of the shortest: a mean
    that shares no label is at least as far as that one. `products` has one entry per mean, all zero
    before and after; `met` has room for all means. O(entries of the means with the sets' labels).
    """
    for i in range(first, last):
        n_met = 0
        for p in range(indptr[i], indptr[i + 1]):
            label = indices[p]
            for q in range(mean_indptr[label], mean_indptr[label + 1]):
                c = mean_rows[q]
                if products[c] == 0.0:
                    met[n_met] = c
                    n_met += 1
                products[c] += mean_data[q]
        best = smallest
        least = norms[smallest] - 2.0 * products[smallest]
        for r in range(n_met):
            c = met[r]
            value = norms[c] - 2.0 * products[c]
            if value < least or (value == least and c < best):
                best = c
                least = value
        for r in range(n_met):
            products[met[r]] = 0.0
        nearest[i] = best
        distances[i] = max(0.0, least + (indptr[i + 1] - indptr[i]))


@kernel
def spread_seeds(indptr, indices, label_indptr, label_rows, draws, shared, closest, chosen):
    """Label sets to begin with, each drawn by its squared distance to those before (k-means++).

    `draws` holds one number from [0, 1) per seed; `shared` one zero per row. No label set is drawn
    twice as long as there is another. O(seeds·rows + labels met).
    """
    n = closest.shape[0]
    closest[:] = np.inf
    for k in range(chosen.shape[0]):
        if k == 0:
            pick = min(int(draws[0] * n), n - 1)
        else:
            total = 0.0
            for i in range(n):
                total += closest[i]
            goal = draws[k] * total
            pick = -1
            passed = 0.0
            for i in range(n):
                if closest[i] > 0.0:
                    passed += closest[i]
                    pick = i
                    if passed > goal:
                        break
            if pick < 0:
                return k
        chosen[k] = pick
        for p in range(indptr[pick], indptr[pick + 1]):
            label = indices[p]
            for q in range(label_indptr[label], label_indptr[label + 1]):
                shared[label_rows[q]] += 1
        size = indptr[pick + 1] - indptr[pick]
        for i in range(n):
            distance = float(size + indptr[i + 1] - indptr[i] - 2 * shared[i])
            if distance < closest[i]:
                closest[i] = distance
            shared[i] = 0
    return chosen.shape[0]


@kernel
def products_with_own(indptr, indices, mean_indptr, mean_indices, mean_data, members, products):
    """Inner product of each label set with the mean of its group, whose columns are sorted.

    O(labels of the sets, times a logarithm).
    """
    for i in range(members.shape[0]):
        first, last = mean_indptr[members[i]], mean_indptr[members[i] + 1]
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            at = first + np.searchsorted(mean_indices[first:last], indices[p])
            if at < last and mean_indices[at] == indices[p]:
                total += mean_data[at]
        products[i] = total
