"""Kernels of the ten features: one walk through the inverted index per document.

Between rows `total` and `met` are zero. A row changes only the entries of its words and restores
them.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.methods.pairs._neighbour_kernels import add_neighbours, distance, unit_weights

OF_CLASS = (0, 3, 4, 5, 6)  # columns of the features that `word_in_class` gives
SCAN = 16  # with at least L / SCAN classes met, a scan of all is cheaper than sorting


@kernel
def word_in_class(count, unit, length, idf, rarity):
    """Features 1, 4, 5, 6 and 7 of a single word: what depends on the class.

    `unit` is the value of a count of one; all features but feature 1 depend on shares only.
    """
    share = count / length
    return (
        np.log1p(count * unit),
        share * idf,
        np.log1p(share),
        np.log1p(share * idf),
        np.log1p(share * rarity),
    )


@kernel
def fill_table(indptr, classes, counts, unit, lengths, idf, rarity, table):
    """`word_in_class` of all postings. O(nnz)."""
    for t in range(indptr.shape[0] - 1):
        for q in range(indptr[t], indptr[t + 1]):
            one, four, five, six, seven = word_in_class(
                counts[q], unit, lengths[classes[q]], idf[t], rarity[t]
            )
            table[q, 0] = one
            table[q, 1] = four
            table[q, 2] = five
            table[q, 3] = six
            table[q, 4] = seven


@kernel
def _add(total, c, log_rarity, idf, one, four, five, six, seven):
    """Add one word that document and class share."""
    total[c, 0] += one
    total[c, 1] += log_rarity
    total[c, 2] += idf
    total[c, 3] += four
    total[c, 4] += five
    total[c, 5] += six
    total[c, 6] += seven
    total[c, 7] += 1.0


@kernel
def _add_words(
    words, indptr, classes, counts, table, unit, lengths, idf, rarity, log_rarity, total, met,
    listed, size,
):  # fmt: skip
    """Add up features 1 to 8 of every class that has one of the words. O(postings)."""
    for p in range(words.shape[0]):
        t = words[p]
        idf_t, rarity_t, log_rarity_t = idf[t], rarity[t], log_rarity[t]
        for q in range(unsigned(indptr[t]), unsigned(indptr[t + 1])):
            c = unsigned(classes[q])
            listed[unsigned(size)] = classes[q]  # overwritten by the next one if it was met before
            size += 1 - met[c]
            met[c] = 1
            if table.shape[0] > 0:
                _add(
                    total, c, log_rarity_t, idf_t, table[q, 0], table[q, 1], table[q, 2],
                    table[q, 3], table[q, 4],
                )  # fmt: skip
            else:
                one, four, five, six, seven = word_in_class(
                    counts[q], unit, lengths[c], idf_t, rarity_t
                )
                _add(total, c, log_rarity_t, idf_t, one, four, five, six, seven)
    return size


@kernel
def _without_own_words(
    words, values, label, indptr, classes, counts, unit, lengths, idf, rarity, log_rarity, total
):
    """Features 1 to 8 of a class that the document is taken out of. O(words·log L)."""
    total[label] = 0.0
    length = lengths[label]
    for p in range(words.shape[0]):
        length -= values[p]
    for p in range(words.shape[0]):
        t = words[p]
        first, last = indptr[t], indptr[t + 1]
        q = first + np.searchsorted(classes[first:last], label)
        if q == last or classes[q] != label:
            continue
        count = counts[q] - values[p]
        if count <= 0 or length <= 0:
            continue
        one, four, five, six, seven = word_in_class(count, unit, length, idf[t], rarity[t])
        _add(total, label, log_rarity[t], idf[t], one, four, five, six, seven)


@kernel
def in_ascending_order(met, listed, size):
    """Sort the classes that were met."""
    if SCAN * size < met.shape[0]:
        listed[:size].sort()
        return
    size = 0
    for c in range(met.shape[0]):
        if met[c]:
            listed[size] = c
            size += 1


@kernel
def pair_rows(
    x_indptr, x_words, x_values, own_indptr, own_classes, left_out,
    indptr, classes, counts, table, unit, lengths, idf, rarity, log_rarity,
    d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr, m_classes,
    total, met, listed, cosines, near, first, second,
    out_indptr, out_classes, out_values,
):  # fmt: skip
    """The ten features of every document with every class that it shares a word with.

    `left_out` holds the place of each document where it is to be left out, and nothing else.
    O(postings of its words in classes and in documents) per document.
    """
    end = 0
    for i in range(x_indptr.shape[0] - 1):
        words = x_words[x_indptr[i] : x_indptr[i + 1]]
        values = x_values[x_indptr[i] : x_indptr[i + 1]]
        own = own_classes[own_indptr[i] : own_indptr[i + 1]]
        size = 0
        for r in range(own.shape[0]):
            met[own[r]] = 1
            listed[size] = own[r]
            size += 1
        size = _add_words(
            words, indptr, classes, counts, table, unit, lengths, idf, rarity, log_rarity, total,
            met, listed, size,
        )  # fmt: skip
        for r in range(own.shape[0]):
            _without_own_words(
                words, values, own[r], indptr, classes, counts, unit, lengths, idf, rarity,
                log_rarity, total,
            )  # fmt: skip
        in_ascending_order(met, listed, size)
        weights = unit_weights(words, values, idf)
        add_neighbours(
            words, weights, d_indptr, d_places, d_weights, s_indptr, s_places, m_indptr,
            m_classes, left_out[i] if left_out.shape[0] > 0 else -1, listed[:size], cosines, near,
            first, second,
        )  # fmt: skip
        for r in range(size):
            c = unsigned(listed[r])
            out_classes[end] = listed[r]
            for j in range(8):
                out_values[end, j] = total[c, j]
                total[c, j] = 0.0
            out_values[end, 8] = distance(first[c])
            out_values[end, 9] = distance(second[c])
            first[c] = 0.0
            second[c] = 0.0
            met[c] = 0
            end += 1
        out_indptr[i + 1] = end
