"""Kernels of the neighbours: the two documents of each class that are nearest to a document.

Documents are in an inverted index as tf-idf vectors of unit length, so cosines to all of them add
up word by word. A *place* is the number of a document after sorting by class, so that the best two
of a class are found in one walk through neighbouring memory.

Between rows `cosines`, `first` and `second` are zero. Weights are never negative, so a cosine of
zero means that no word is shared.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned

LARGEST = np.sqrt(2.0)  # distance of unit vectors without a common word
FEW = 4  # documents are listed one by one if fewer than n / FEW postings lead to them


@kernel
def distance(cosine):
    """Of two vectors of unit length."""
    return np.sqrt(max(2.0 - 2.0 * cosine, 0.0))


@kernel
def unit_weights(words, values, idf):
    """Count times idf, scaled to length one; all zero where nothing is left. O(words)."""
    out = np.empty(words.shape[0])
    square = 0.0
    for p in range(words.shape[0]):
        out[p] = values[p] * idf[words[p]]
        square += out[p] * out[p]
    if square > 0:
        out /= np.sqrt(square)
    return out


@kernel
def all_unit_weights(indptr, words, values, idf, out):
    """`unit_weights` of every document. O(nnz)."""
    for i in range(indptr.shape[0] - 1):
        span = slice(indptr[i], indptr[i + 1])
        out[span] = unit_weights(words[span], values[span], idf)


@kernel
def _add_all(words, weights, d_indptr, d_places, d_weights, cosines):
    """Add up cosines. O(postings)."""
    for p in range(words.shape[0]):
        weight = weights[p]
        if weight > 0:
            for q in range(unsigned(d_indptr[words[p]]), unsigned(d_indptr[words[p] + 1])):
                cosines[unsigned(d_places[q])] += weight * d_weights[q]


@kernel
def add_and_list(words, weights, d_indptr, d_places, d_weights, cosines, near):
    """Add up cosines; list the places that get one. O(postings)."""
    size = unsigned(0)
    for p in range(words.shape[0]):
        weight = weights[p]
        if weight > 0:
            for q in range(unsigned(d_indptr[words[p]]), unsigned(d_indptr[words[p] + 1])):
                place = unsigned(d_places[q])
                if cosines[place] == 0:
                    near[size] = d_places[q]
                    size += unsigned(1)
                cosines[place] += weight * d_weights[q]
    return size


@kernel
def best_two(near, cosines, m_indptr, m_classes, first, second):
    """The two largest cosines within each class of the places listed. O(their memberships)."""
    for r in range(near.shape[0]):
        place = unsigned(near[r])
        cosine = cosines[place]
        for q in range(unsigned(m_indptr[place]), unsigned(m_indptr[place + unsigned(1)])):
            c = unsigned(m_classes[q])
            second[c] = max(second[c], min(first[c], cosine))
            first[c] = max(first[c], cosine)


@kernel
def add_neighbours(
    words, weights, d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
    left_out, listed, cosines, near, first, second,
):  # fmt: skip
    """The two largest cosines within each of the classes listed, in `first` and `second`.

    `listed` has at least the classes that share a word; `left_out` is the place of a document that
    must not be a neighbour, -1 for none. O(postings + documents of the classes listed) for a
    document with many postings, else O(postings).
    """
    postings = 0
    for p in range(words.shape[0]):
        if weights[p] > 0:
            postings += d_indptr[words[p] + 1] - d_indptr[words[p]]
    if FEW * postings < cosines.shape[0]:
        size = add_and_list(words, weights, d_indptr, d_places, d_weights, cosines, near)
        if left_out >= 0:
            cosines[left_out] = 0.0
        best_two(near[:size], cosines, m_indptr, m_classes, first, second)
        for r in range(size):
            cosines[unsigned(near[r])] = 0.0
        return
    _add_all(words, weights, d_indptr, d_places, d_weights, cosines)
    if left_out >= 0:
        cosines[left_out] = 0.0
    for r in range(listed.shape[0]):
        c = unsigned(listed[r])
        best, next_best = 0.0, 0.0
        for q in range(unsigned(s_indptr[c]), unsigned(s_indptr[c + unsigned(1)])):
            cosine = cosines[unsigned(s_places[q])]
            next_best = max(next_best, min(best, cosine))
            best = max(best, cosine)
        first[c] = best
        second[c] = next_best
    cosines[:] = 0.0
