"""Kernels of the large-margin metric: the constraints and by how much they are met."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel


@kernel
def label_losses(indptr, indices, neighbours, losses):
    """How many labels each point and each of its neighbours do not share; 0 for no neighbour."""
    for i in range(neighbours.shape[0]):
        for j in range(neighbours.shape[1]):
            other = neighbours[i, j]
            losses[i, j] = 0.0
            if other < 0:
                continue
            p, q = indptr[i], indptr[other]
            shared = 0
            while p < indptr[i + 1] and q < indptr[other + 1]:
                if indices[p] == indices[q]:
                    shared += 1
                    p += 1
                    q += 1
                elif indices[p] < indices[q]:
                    p += 1
                else:
                    q += 1
            own, others = indptr[i + 1] - indptr[i], indptr[other + 1] - indptr[other]
            losses[i, j] = np.float64(own + others - 2 * shared)


@kernel
def margins(outputs, turned, lengths, neighbours, found):
    """d(u_i, y_j) - d(u_i, y_i) for each neighbour j of i; `turned` are the rows of YQ.

    `lengths` are y'Qy. O(constraints · side).
    """
    for i in range(neighbours.shape[0]):
        own = 0.0
        for f in range(outputs.shape[1]):
            own += outputs[i, f] * turned[i, f]
        for j in range(neighbours.shape[1]):
            other = neighbours[i, j]
            if other < 0:
                found[i, j] = 0.0
                continue
            cross = 0.0
            for f in range(outputs.shape[1]):
                cross += outputs[i, f] * turned[other, f]
            found[i, j] = lengths[other] - lengths[i] - 2.0 * (cross - own)
