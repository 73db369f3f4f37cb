"""Kernels of `make_longtail`: which documents get a label, which words a document has.

Random numbers come from splitmix64 on a state held in a one-element uint64 array, so that a seed
gives the same data on every machine and in every version of numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail._numba import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)


@kernel
def mixed(value: np.uint64) -> Any:
    """A uint64 scrambled so that neighbours have nothing in common."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


@kernel
def below(state: NDArray[Any], bound: int) -> Any:
    """The next random integer in [0, bound), for bounds below 2^31."""
    state[0] += _STEP
    high = mixed(state[0]) >> _HALF
    return np.int64((high * np.uint64(bound)) >> _HALF)


@kernel
def unit(value: np.uint64) -> Any:
    """The number in [0, 1) that a uint64 stands for."""
    return np.float64(value >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def uniform(state: NDArray[Any]) -> Any:
    """The next random number in [0, 1)."""
    state[0] += _STEP
    return unit(mixed(state[0]))


@kernel
def assign_documents(
    state: NDArray[Any],
    counts: NDArray[Any],
    inside: NDArray[Any],
    chunk: NDArray[Any],
    group_starts: NDArray[Any],
    places: NDArray[Any],
    taken_by: NDArray[Any],
    out_documents: NDArray[Any],
    out_sizes: NDArray[Any],
) -> None:
    """Give every label `counts` distinct documents; O(sum of counts), as none has more than half.

    Labels come by falling count. Of the documents, `inside[l]` lie in groups, `chunk[l]` at most in
    each; the groups are taken in turn, from label to label. The rest are drawn from all documents.
    `places` names each document once or more, one after another; the more often, the more labels it
    gets. Group g has ``places[group_starts[g]:group_starts[g + 1]]``.
    """
    n_groups = group_starts.shape[0] - 1
    n_places = places.shape[0]
    group = 0
    filled = 0
    for label in range(counts.shape[0]):
        end = filled + counts[label]
        left = inside[label]
        while left > 0:
            start = group_starts[group]
            size = group_starts[group + 1] - start
            wanted = min(left, chunk[label])
            for _ in range(wanted):
                document = places[start + below(state, size)]
                while taken_by[document] == label:
                    document = places[start + below(state, size)]
                taken_by[document] = label
                out_documents[filled] = document
                out_sizes[document] += 1
                filled += 1
            left -= wanted
            group = (group + 1) % n_groups
        while filled < end:
            document = places[below(state, n_places)]
            if taken_by[document] == label:
                continue
            taken_by[document] = label
            out_documents[filled] = document
            out_sizes[document] += 1
            filled += 1


@kernel
def fill_empty_documents(state: NDArray[Any], documents: NDArray[Any], sizes: NDArray[Any]) -> None:
    """Move one label to each document without any, from documents that have two or more."""
    for empty in range(sizes.shape[0]):
        if sizes[empty] > 0:
            continue
        entry = below(state, documents.shape[0])
        while sizes[documents[entry]] < 2:
            entry = below(state, documents.shape[0])
        sizes[documents[entry]] -= 1
        documents[entry] = empty
        sizes[empty] = 1


@kernel
def write_documents(
    state: NDArray[Any],
    label_indptr: NDArray[Any],
    label_indices: NDArray[Any],
    sizes: NDArray[Any],
    noise: float,
    words_per_label: int,
    label_key: np.uint64,
    frequency: NDArray[Any],
    position: NDArray[Any],
    out_indices: NDArray[Any],
    out_data: NDArray[Any],
) -> None:
    """Draw the words of every document, `sizes[i]` distinct ones; expected O(sum of sizes).

    Words are numbered by falling frequency; `frequency` is the running sum of their probabilities.
    A draw is a word of one of the document's labels with probability ``1 - noise``, and else any
    word. The words of a label come from the same probabilities, with a hash as the random number. A
    word drawn again counts once more. A document that is too long for its labels' words ends with
    others. `position[w]` is where word w last went in the output, -1 at first.
    """
    n_words = frequency.shape[0]
    total = frequency[n_words - 1]
    start = 0
    for i in range(sizes.shape[0]):
        first = label_indptr[i]
        n_labels = label_indptr[i + 1] - first
        end = start + sizes[i]
        filled = start
        tries = 4 * sizes[i]
        while filled < end and tries > 0:
            tries -= 1
            if n_labels > 0 and tries >= 2 * sizes[i] and uniform(state) >= noise:
                label = np.uint64(label_indices[first + below(state, n_labels)])
                number = label * np.uint64(words_per_label) + np.uint64(
                    below(state, words_per_label)
                )
                share = unit(mixed(label_key + number * _STEP))
            else:
                share = uniform(state)
            word = min(np.searchsorted(frequency, share * total, "right"), n_words - 1)
            if position[word] >= start:
                out_data[position[word]] += 1.0
                continue
            position[word] = filled
            out_indices[filled] = word
            out_data[filled] = 1.0
            filled += 1
        while filled < end:  # nearly all words are in: fill up with any that are not
            word = below(state, n_words)
            while position[word] >= start:
                word = (word + 1) % n_words
            position[word] = filled
            out_indices[filled] = word
            out_data[filled] = 1.0
            filled += 1
        start = end
