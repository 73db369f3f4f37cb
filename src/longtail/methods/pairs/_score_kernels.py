"""Kernels of prediction: the best classes of a document by a weighted sum of the ten features.

With the weights fixed, features 1 to 8 of a posting are one number, and a walk through the postings
of a document's words gives every class its sum. The neighbours would need a walk through all
documents with any of the words, but most of these share only words that nearly all documents have.
So the cosines are first added up over the other words alone. What the *frequent* words can add is
at most the product of their shares in the two vectors (Cauchy and Schwarz), which bounds the score
of each class from both sides; only classes that may be among the best k are scored in full.

Rounding never breaks a bound: square root, product and sum are monotone in floating point as they
are in the reals, and the bound of the cosine has `MARGIN` to spare.

Between rows all scratch arrays but `listed` and `near` are zero.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail._sparse import offer
from longtail.methods.pairs._neighbour_kernels import (
    LARGEST,
    add_and_list,
    add_neighbours,
    best_two,
    distance,
    unit_weights,
)
from longtail.methods.pairs._similarity_kernels import word_in_class

MARGIN = 1e-9  # of a cosine: far more than the rounding of a sum of products
LOOSE = 0.6  # share of frequent words in a document from which bounding is not worth it


@kernel
def score_postings(indptr, classes, counts, unit, lengths, idf, rarity, log_rarity, weights, out):
    """Weighted sum of features 1 to 8 of every posting. O(nnz)."""
    for t in range(indptr.shape[0] - 1):
        of_word = weights[1] * log_rarity[t] + weights[2] * idf[t] + weights[7]
        for q in range(indptr[t], indptr[t + 1]):
            one, four, five, six, seven = word_in_class(
                counts[q], unit, lengths[classes[q]], idf[t], rarity[t]
            )
            out[q] = (
                of_word
                + weights[0] * one
                + weights[3] * four
                + weights[4] * five
                + weights[5] * six
                + weights[6] * seven
            )


@kernel
def frequent_shares(indptr, words, weights, frequent, s_indptr, s_places, out):
    """Of each class, the largest length of the frequent part of a document's unit vector."""
    for c in range(s_indptr.shape[0] - 1):
        largest = 0.0
        for q in range(s_indptr[c], s_indptr[c + 1]):
            place = s_places[q]
            square = 0.0
            for p in range(indptr[place], indptr[place + 1]):
                if frequent[words[p]]:
                    square += weights[p] * weights[p]
            largest = max(largest, square)
        out[c] = np.sqrt(largest)


@kernel
def _add_words(words, indptr, classes, scores, total, met, listed):
    """Add up the postings of the words; list the classes met. O(postings)."""
    size = unsigned(0)
    for p in range(words.shape[0]):
        for q in range(unsigned(indptr[words[p]]), unsigned(indptr[words[p] + 1])):
            c = unsigned(classes[q])
            listed[size] = classes[q]  # overwritten by the next one if it was met before
            size += unsigned(1) - unsigned(met[c])
            met[c] = 1
            total[c] += scores[q]
    return size


@kernel
def _offer_absent(known, met, absent, labels, values, size):
    """Offer the classes that share no word, all of the same score, the smallest first."""
    k = labels.shape[0]
    if size == k and absent < values[k - 1]:
        return size
    offered = 0
    for r in range(known.shape[0]):
        if offered == k:
            break
        if not met[known[r]]:
            size = offer(labels, values, size, known[r], absent)
            offered += 1
    return size


@kernel
def _exact_score(
    c, total, near_weight, next_weight, slack, f_indptr, f_words, f_weights, s_indptr, s_places,
    query, cosines,
):  # fmt: skip
    """Score of a class, with the cosines of those of its documents that may be the nearest two.

    O(documents of the class + words of the possible nearest ones).
    """
    best, next_best = 0.0, 0.0
    for r in range(s_indptr[c], s_indptr[c + 1]):
        place = s_places[r]
        if cosines[place] + slack < next_best:
            continue
        cosine = 0.0
        for p in range(unsigned(f_indptr[place]), unsigned(f_indptr[place + 1])):
            cosine += query[unsigned(f_words[p])] * f_weights[p]
        next_best = max(next_best, min(best, cosine))
        best = max(best, cosine)
    return total[c] + near_weight * distance(best) + next_weight * distance(next_best)


@kernel
def _scores_within(total, near_weight, next_weight, nearest, farthest, next_nearest, next_farthest):
    """Least and largest score for two distances that lie within bounds."""
    one, other = near_weight * nearest, near_weight * farthest
    least, most = total + min(one, other), total + max(one, other)
    one, other = next_weight * next_nearest, next_weight * next_farthest
    return least + min(one, other), most + max(one, other)


@kernel
def _best_by_bounds(
    words, weights, share, near_weight, next_weight, floor,
    d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
    f_indptr, f_words, f_weights, frequent, shares,
    total, listed, cosines, near, first, second, query, upper, labels, values,
):  # fmt: skip
    """The best of the classes listed; only possible ones are computed in full.

    `share` is the length of the frequent part of the document's unit vector, `floor` a score below
    which no class is among the best. Returns how many were found.
    """
    rare = np.empty(words.shape[0])
    for p in range(words.shape[0]):
        rare[p] = 0.0 if frequent[words[p]] else weights[p]
        query[words[p]] = weights[p]
    n_near = add_and_list(words, rare, d_indptr, d_places, d_weights, cosines, near)
    best_two(near[:n_near], cosines, m_indptr, m_classes, first, second)
    size = 0
    for r in range(listed.shape[0]):
        c = unsigned(listed[r])
        slack = share * shares[c] + MARGIN
        if first[c] == 0:
            # √(1 - s) is at least 1 - s/2 - s²/2; most classes come here and need no more.
            nearest = LARGEST * (1.0 - 0.5 * slack - 0.5 * slack * slack)
            low, high = _scores_within(
                total[c], near_weight, next_weight, nearest, LARGEST, nearest, LARGEST
            )
        else:
            low, high = _scores_within(
                total[c], near_weight, next_weight, distance(first[c] + slack),
                distance(first[c]), distance(second[c] + slack), distance(second[c]),
            )  # fmt: skip
        upper[r] = high
        first[c] = 0.0
        second[c] = 0.0
        size = offer(labels, values, size, listed[r], low)
    if size == labels.shape[0]:
        floor = max(floor, values[size - 1])
    size = 0
    for r in range(listed.shape[0]):
        if upper[r] < floor or (size == labels.shape[0] and upper[r] < values[size - 1]):
            continue
        score = _exact_score(
            listed[r], total, near_weight, next_weight, share * shares[listed[r]] + MARGIN,
            f_indptr, f_words, f_weights, s_indptr, s_places, query, cosines,
        )  # fmt: skip
        size = offer(labels, values, size, listed[r], score)
    for p in range(words.shape[0]):
        query[words[p]] = 0.0
    for r in range(n_near):
        cosines[unsigned(near[r])] = 0.0
    return size


@kernel
def _best_of_all(
    words, weights, near_weight, next_weight,
    d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
    total, listed, cosines, near, first, second, labels, values,
):  # fmt: skip
    """The best of the classes listed, all computed in full. Returns how many were found."""
    if near_weight != 0 or next_weight != 0:
        add_neighbours(
            words, weights, d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr,
            m_classes, -1, listed, cosines, near, first, second,
        )  # fmt: skip
    size = 0
    for r in range(listed.shape[0]):
        c = unsigned(listed[r])
        score = total[c] + near_weight * distance(first[c]) + next_weight * distance(second[c])
        first[c] = 0.0
        second[c] = 0.0
        size = offer(labels, values, size, listed[r], score)
    return size


@kernel
def best_rows(
    x_indptr, x_words, x_values, start, stop, near_weight, next_weight, absent, known,
    indptr, classes, scores, idf,
    d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
    f_indptr, f_words, f_weights, frequent, shares,
    total, met, listed, cosines, near, first, second, query, upper,
    labels, values,
):  # fmt: skip
    """The best classes of documents start..stop, best first; ties go to the smaller column.

    `known` are the classes that have documents, of which there are at least as many as columns in
    `labels`. O(postings of the words in classes, and of those that are not frequent in documents)
    per document, plus the cost of the classes that may be among the best.
    """
    k = labels.shape[1]
    for i in range(start, stop):
        words = x_words[x_indptr[i] : x_indptr[i + 1]]
        size = np.int64(_add_words(words, indptr, classes, scores, total, met, listed))
        met_classes = listed[:size]
        weights = unit_weights(words, x_values[x_indptr[i] : x_indptr[i + 1]], idf)
        square = 0.0
        for p in range(words.shape[0]):
            if frequent[words[p]]:
                square += weights[p] * weights[p]
        share = np.sqrt(square)
        may_choose = k < size and (near_weight != 0 or next_weight != 0)
        if may_choose and 0 < share <= LOOSE:
            floor = absent if known.shape[0] - met_classes.shape[0] >= k else -np.inf
            size = _best_by_bounds(
                words, weights, share, near_weight, next_weight, floor,
                d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
                f_indptr, f_words, f_weights, frequent, shares,
                total, met_classes, cosines, near, first, second, query, upper, labels[i],
                values[i],
            )  # fmt: skip
        else:
            size = _best_of_all(
                words, weights, near_weight, next_weight,
                d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
                total, met_classes, cosines, near, first, second, labels[i], values[i],
            )  # fmt: skip
        _offer_absent(known, met, absent, labels[i], values[i], size)
        for r in range(met_classes.shape[0]):
            c = unsigned(met_classes[r])
            total[c] = 0.0
            met[c] = 0
