"""Kernels over small regression trees as plain arrays: what they say, and whether they are whole.

The trees of a forest lie one after another. Tree t has the inner nodes starts[t] to
starts[t + 1] - 1 and, as a binary tree must, one leaf more than that, from starts[t] + t on. A
point goes left at a node if its value of the node's feature is at most the threshold. A child
c >= 0 is node c of the same tree, c < 0 its leaf -c - 1. The root is node 0; children come after
their parents.
"""

from __future__ import annotations

from longtail._numba import kernel, unsigned


@kernel
def add_trees(
    indptr, indices, data, starts, output, feature, threshold, left, right, value, rows, out
):  # fmt: skip
    """out[i, output[t]] += what tree t says of row i; trees are added in order.

    Trees whose output is negative are left out. `rows` (B, D) holds zeros, before and after: B
    rows of X are spread out in it at a time, so that a tree is read once for all of them.
    O(nnz + n·trees·depth).
    """
    n = out.shape[0]
    width = rows.shape[0]
    for first in range(0, n, width):
        size = min(width, n - first)
        for r in range(size):
            for p in range(indptr[first + r], indptr[first + r + 1]):
                rows[r, indices[p]] = data[p]
        for t in range(output.shape[0]):
            if output[t] < 0:
                continue
            root = starts[t]
            leaves = root + t
            column = unsigned(output[t])
            for r in range(size):
                node = 0
                while node >= 0:
                    q = unsigned(root + node)
                    if rows[unsigned(r), unsigned(feature[q])] <= threshold[q]:
                        node = left[q]
                    else:
                        node = right[q]
                out[unsigned(first + r), column] += value[unsigned(leaves - node - 1)]
        for r in range(size):
            for p in range(indptr[first + r], indptr[first + r + 1]):
                rows[r, indices[p]] = 0.0


@kernel
def are_trees(starts, left, right, node_seen, leaf_seen):
    """Whether every node but the root, and every leaf, is the child of exactly one earlier node.

    `node_seen` and `leaf_seen` hold False and have the lengths of all nodes and of all leaves;
    `starts` rises from 0 to the number of nodes, by at least one per tree. O(nodes).
    """
    for t in range(starts.shape[0] - 1):
        root = starts[t]
        size = starts[t + 1] - root
        for node in range(size):
            for side in range(2):
                child = left[root + node] if side == 0 else right[root + node]
                if child >= 0:
                    if child <= node or child >= size or node_seen[root + child]:
                        return False
                    node_seen[root + child] = True
                else:
                    leaf = -child - 1
                    if leaf < 0 or leaf > size or leaf_seen[root + t + leaf]:
                        return False
                    leaf_seen[root + t + leaf] = True
    return True
