"""Kernels of the label statistics."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel


@kernel
def count_neighbours(row_indptr, row_labels, label_indptr, label_rows, out):
    """For every label, how many other labels share a row with it.

    Takes the label matrix by rows and by columns; O(sum over rows of |y|^2) time, O(L) memory.
    """
    n_labels = label_indptr.shape[0] - 1
    seen_by = np.full(n_labels, -1, dtype=np.int64)
    for label in range(n_labels):
        seen_by[label] = label
        degree = 0
        for p in range(label_indptr[label], label_indptr[label + 1]):
            row = label_rows[p]
            for q in range(row_indptr[row], row_indptr[row + 1]):
                other = row_labels[q]
                if seen_by[other] != label:
                    seen_by[other] = label
                    degree += 1
        out[label] = degree


@kernel
def cut_greedily(indptr, neighbours, weights, max_size, piece_of):
    """Cut a graph into pieces of `max_size` nodes, each grown by its heaviest neighbour in turn.

    A piece begins with the free node of the heaviest edges, and goes on with it if nothing free
    is joined to it. Writes the piece of each node; O(nodes^2 + edges) time.
    """
    n = indptr.shape[0] - 1
    degree = np.zeros(n)
    for node in range(n):
        piece_of[node] = -1
        for p in range(indptr[node], indptr[node + 1]):
            degree[node] += weights[p]
    joined = np.zeros(n)
    for done in range(n):
        piece = done // max_size
        if done % max_size == 0:
            joined[:] = 0
        best = -1
        for node in range(n):
            if piece_of[node] == -1 and (
                best == -1
                or joined[node] > joined[best]
                or (joined[node] == joined[best] and degree[node] > degree[best])
            ):
                best = node
        piece_of[best] = piece
        for p in range(indptr[best], indptr[best + 1]):
            joined[neighbours[p]] += weights[p]


@kernel
def join_heaviest(first, second, max_size, size, root):
    """Join the ends of the edges, in their order, where the sum stays within `max_size`.

    `size` and `root` (each its own, at first) are those of a union-find forest.
    """
    for e in range(first.shape[0]):
        a, b = first[e], second[e]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a != b and size[a] + size[b] <= max_size:
            root[max(a, b)] = min(a, b)
            size[min(a, b)] = size[a] + size[b]
    for a in range(root.shape[0]):
        root[a] = root[root[a]]  # the smallest of each tree is its root and comes first


@kernel
def _change_cluster(indptr, neighbours, weights, cluster, inside, label, target):
    """Move a label, and keep up the weight that each label has `inside` its cluster."""
    source = cluster[label]
    cluster[label] = target
    inside[label] = 0
    for p in range(indptr[label], indptr[label + 1]):
        other = neighbours[p]
        if cluster[other] == source:
            inside[other] -= weights[p]
        elif cluster[other] == target:
            inside[other] += weights[p]
            inside[label] += weights[p]


@kernel
def improve_clusters(indptr, neighbours, weights, cluster, sizes, members, sweeps):
    """Move or swap labels between clusters as long as heavier edges come to lie within them.

    A cluster that has as many labels as a row of `members` has room takes a label only in exchange
    for another one. `cluster`, `sizes` and `members` (the labels of each cluster, in any order) are
    updated. A sweep is O(edges + labels · members of clusters that a label is drawn to); it is the
    last one if nothing changes. Sums of the weights must be exact.
    """
    n = indptr.shape[0] - 1
    room = members.shape[1]
    inside = np.zeros(n)
    for label in range(n):
        for p in range(indptr[label], indptr[label + 1]):
            if cluster[neighbours[p]] == cluster[label]:
                inside[label] += weights[p]
    to_cluster = np.zeros(members.shape[0])  # weights from the current label
    to_label = np.zeros(n)
    to_own = np.zeros(n)  # weights from the current cluster
    for _ in range(sweeps):
        changes = 0
        for own in range(members.shape[0]):
            for q in range(sizes[own]):
                for p in range(indptr[members[own, q]], indptr[members[own, q] + 1]):
                    to_own[neighbours[p]] += weights[p]
            place = 0
            while place < sizes[own]:
                label = members[own, place]
                for p in range(indptr[label], indptr[label + 1]):
                    to_cluster[cluster[neighbours[p]]] += weights[p]
                    to_label[neighbours[p]] = weights[p]
                best, target, exchange = 0.0, -1, -1
                for p in range(indptr[label], indptr[label + 1]):
                    c = cluster[neighbours[p]]
                    gain = to_cluster[c] - inside[label]
                    to_cluster[c] = 0
                    if c == own or gain <= 0:
                        continue
                    if sizes[c] < room:
                        if gain > best:
                            best, target, exchange = gain, c, -1
                        continue
                    for q in range(room):
                        other = members[c, q]
                        both = gain + to_own[other] - inside[other] - 2 * to_label[other]
                        if both > best:
                            best, target, exchange = both, c, q
                for p in range(indptr[label], indptr[label + 1]):
                    to_label[neighbours[p]] = 0
                if target == -1:
                    place += 1
                    continue
                changes += 1
                for p in range(indptr[label], indptr[label + 1]):
                    to_own[neighbours[p]] -= weights[p]
                _change_cluster(indptr, neighbours, weights, cluster, inside, label, target)
                if exchange == -1:
                    sizes[own] -= 1
                    members[own, place] = members[own, sizes[own]]
                    members[target, sizes[target]] = label
                    sizes[target] += 1
                    continue
                other = members[target, exchange]
                for p in range(indptr[other], indptr[other + 1]):
                    to_own[neighbours[p]] += weights[p]
                _change_cluster(indptr, neighbours, weights, cluster, inside, other, own)
                members[target, exchange] = label
                members[own, place] = other
                place += 1
            for q in range(sizes[own]):
                for p in range(indptr[members[own, q]], indptr[members[own, q] + 1]):
                    to_own[neighbours[p]] = 0
        if changes == 0:
            break
