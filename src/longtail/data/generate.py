"""Made-up data of any size that looks like a large tagging problem.

A document is a bag of words. Labels follow a power law and come in groups that occur together. Each
is recognised by a few words, which follow Zipf's law as all words do, so that labels share the
frequent ones. Documents differ in length and in how many labels they have. The same seed gives the
same data everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.data._generate_kernels import (
    assign_documents,
    fill_empty_documents,
    write_documents,
)
from longtail.data.dataset import Dataset
from longtail.errors import ParameterError
from longtail.parameters import generator_of, is_count, is_number

_WORD_POWER = 1.2
_LARGEST_SHARE = 0.3
"""Share of the documents that have the most frequent word; stop words are left out by then."""
_PLACES = 4
"""Places per document, on average, among which labels choose."""
_STRAY_SHARE = 0.2
"""Share of a label's documents that lie outside its groups."""
_MAX_SIZE = 2**31 - 1


def make_longtail(
    n_samples: int,
    n_features: int,
    n_labels: int,
    *,
    labels_per_sample: float = 5,
    features_per_sample: float = 34,
    power: float = 0.95,
    spread: float = 0.6,
    n_groups: int | None = None,
    features_per_label: int = 6,
    noise: float = 0.4,
    random_state: int | np.random.RandomState = 0,
) -> Dataset:
    """Documents with power-law labels that occur in groups and are recognised by a few words each.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        Documents, words and labels.
    labels_per_sample : float, default 5
        Mean number of labels per document, met exactly up to rounding; at most half of `n_labels`.
        From 1 on, every document has at least one.
    features_per_sample : float, default 34
        Mean number of distinct words per document.
    power : float, default 0.95
        The r-th most frequent label has about ``r ** -power`` times as many documents as the first
        one. No label has more than half of the documents. Zero makes all labels equally frequent.
    spread : float, default 0.6
        How much documents differ in the number of their words, and apart from that in the number
        of their labels: the standard deviation of the logarithm of what is expected of a document.
        At 0, the same is expected of all.
    n_groups : int, optional
        How many groups the documents form; the square root of `n_labels` by default. Four in five
        of a label's documents lie in one group, or in several if the label is too frequent for one.
    features_per_label : int, default 6
        Words that a label is recognised by. They are drawn from all words, frequent ones more
        often, so labels share the frequent ones and rare words belong to few labels.
    noise : float, default 0.4
        Probability that a word says nothing about the labels but is drawn from all words. At 1
        there is nothing to learn.
    random_state : int or RandomState, default 0
        Seed.

    Returns
    -------
    Dataset
        `X` holds how often a word occurs, as float32, with rows that are not yet scaled (see
        `RowScaler`), `Y` the labels.

    Notes
    -----
    Time and memory are linear in the numbers of documents, words, labels and stored entries. With
    very many labels and few documents, the tail of the power law lies below one document per label:
    then only some of the tail labels occur.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> data = make_longtail(1000, 500, 200, random_state=0)
    >>> data.X.shape, data.Y.shape, data.Y.nnz
    ((1000, 500), (1000, 200), 5000)
    """
    check_sizes(n_samples=n_samples, n_features=n_features, n_labels=n_labels)
    _check_real("labels_per_sample", labels_per_sample, 0, n_labels / 2, "half of n_labels")
    _check_real("features_per_sample", features_per_sample, 0, n_features, "n_features")
    _check_real("power", power, 0, 10)
    _check_real("spread", spread, 0, 2)
    _check_real("noise", noise, 0, 1)
    check_sizes(features_per_label=features_per_label)
    if n_samples * max(labels_per_sample, _PLACES) > _MAX_SIZE:
        raise ParameterError(
            "n_samples times labels_per_sample must stay below 2**31, and n_samples below 2**29; "
            "make several sets."
        )
    if n_groups is None:
        n_groups = max(1, min(round(np.sqrt(n_labels)), n_samples))
    check_sizes(n_groups=n_groups)
    if n_groups > n_samples:
        raise ParameterError(
            f"n_groups must be at most n_samples, {n_samples}, as a group needs a document; it is "
            f"{n_groups}."
        )

    random = generator_of(random_state)
    Y = _labels(n_samples, n_labels, labels_per_sample, power, spread, n_groups, random)
    X = _words(Y, n_features, features_per_sample, spread, features_per_label, noise, random)
    return Dataset(X=X, Y=Y, name="make_longtail")


def power_law_counts(
    total: int, n_labels: int, power: float, limit: int, shift: float
) -> NDArray[np.int64]:
    """Whole numbers that fall like ``rank ** -power``, sum up to `total` and stay within `limit`.

    Each is its exact value rounded up or down; `shift` in [0, 1) says where the rounding starts.

    Examples
    --------
    >>> power_law_counts(12, 4, 1.0, 100, 0.5).tolist()
    [6, 3, 2, 1]
    >>> power_law_counts(12, 4, 1.0, 5, 0.5).tolist()
    [5, 3, 2, 2]
    """
    weights = np.arange(1, n_labels + 1, dtype=np.float64) ** -power
    suffix = np.cumsum(weights[::-1])[::-1]
    full = 0  # labels at the limit; the others share what is left
    while full < n_labels and (total - full * limit) * weights[full] / suffix[full] > limit:
        full += 1
    exact = np.full(n_labels, float(limit))
    if full < n_labels:
        exact[full:] = (total - full * limit) * weights[full:] / suffix[full]
    ends = np.floor(np.cumsum(exact) + shift)
    ends[-1] = total
    counts = np.diff(np.minimum(ends, total), prepend=0.0).astype(np.int64)
    return _within(counts, limit)


def _within(counts: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Hand what rounding put above the limit to labels below it."""
    excess = int(np.maximum(counts - limit, 0).sum())
    counts = np.minimum(counts, limit)
    for label in np.flatnonzero(counts < limit)[:excess]:
        counts[label] += 1
    return counts


def word_frequencies(n_words: int, mean: float) -> NDArray[np.float64]:
    """Running sums of the words' probabilities, which fall like ``(rank + q) ** -1.2``.

    The shift q is such that the first word is in three of ten documents of `mean` words, as in
    texts whose more frequent words are left out; with q = 0 the first words would be in nearly all.
    Where documents are too long for that and words too few, q is `n_words`, and the first word is
    about twice as probable as the last.

    Examples
    --------
    >>> sums = word_frequencies(10_000, 34)
    >>> round(float(sums[0] / sums[-1]), 4)  # and 0.0105 * 34 = -log(1 - 0.3)
    0.0105
    """
    ranks = np.arange(1, n_words + 1, dtype=np.float64)
    wanted = -np.log(1 - _LARGEST_SHARE) / max(mean, 1.0)
    low, high = 0.0, float(n_words)
    for _ in range(30):  # the larger the shift, the less probable the first word
        shift = (low + high) / 2
        weights = (ranks + shift) ** -_WORD_POWER
        low, high = (shift, high) if weights[0] > wanted * weights.sum() else (low, shift)
    return np.cumsum((ranks + high) ** -_WORD_POWER)


def _labels(
    n: int,
    n_labels: int,
    mean: float,
    power: float,
    spread: float,
    n_groups: int,
    random: np.random.RandomState,
) -> sp.csr_array:
    """The label matrix: first how many documents a label has, then which."""
    total = round(n * mean)
    counts = power_law_counts(total, n_labels, power, n - n // 2, random.random_sample())
    inside = random.binomial(counts, 1.0 - _STRAY_SHARE)
    # no more than half of a group has the same label, unless that would need all groups and more
    chunk = np.maximum(-(-n // (2 * n_groups)), -(-inside // n_groups))
    places = np.maximum(1, np.rint(_PLACES * _unequal(n, spread, random))).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(places)))
    state = _kernel_state(random)
    documents = np.empty(int(counts.sum()), dtype=np.int32)
    sizes = np.zeros(n, dtype=np.int32)
    assign_documents(
        state,
        counts,
        inside.astype(np.int64),
        chunk.astype(np.int64),
        ends[np.linspace(0, n, n_groups + 1).astype(np.int64)],
        np.repeat(random.permutation(n).astype(np.int32), places),
        np.full(n, -1, dtype=np.int64),
        documents,
        sizes,
    )
    if len(documents) >= n:
        fill_empty_documents(state, documents, sizes)
    by_label = sp.csc_array(
        (
            np.ones(len(documents), dtype=np.float32),
            documents,
            np.concatenate(([0], np.cumsum(counts))),
        ),
        shape=(n, n_labels),
    )
    Y = by_label.tocsr()
    names = random.permutation(n_labels).astype(Y.indices.dtype)  # ids say nothing about frequency
    Y = sp.csr_array((Y.data, names[Y.indices], Y.indptr), shape=Y.shape)
    Y.sort_indices()
    return Y


def _words(
    Y: sp.csr_array,
    n_words: int,
    mean: float,
    spread: float,
    words_per_label: int,
    noise: float,
    random: np.random.RandomState,
) -> sp.csr_array:
    """The word counts of documents with the labels Y."""
    n = Y.shape[0]
    expected = mean * _unequal(n, spread, random)
    sizes = np.minimum(random.poisson(expected), n_words).astype(np.int64)
    if mean >= 1:
        sizes = np.maximum(sizes, 1)
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=np.float32)
    write_documents(
        _kernel_state(random),
        Y.indptr,
        Y.indices,
        sizes,
        float(noise),
        int(words_per_label),
        _kernel_state(random)[0],
        word_frequencies(n_words, mean),
        np.full(n_words, -1, dtype=np.int64),
        indices,
        data,
    )
    names = random.permutation(n_words).astype(np.int32)
    X = sp.csr_array((data, names[indices], indptr), shape=(n, n_words))
    X.sort_indices()
    return X


def _unequal(n: int, spread: float, random: np.random.RandomState) -> NDArray[np.float64]:
    """Positive numbers of mean 1 whose logarithms have the standard deviation `spread`."""
    return np.exp(spread * random.standard_normal(n) - spread**2 / 2)


def _kernel_state(random: np.random.RandomState) -> NDArray[np.uint64]:
    return random.randint(0, 2**63 - 1, size=1, dtype=np.int64).astype(np.uint64)


def check_sizes(**sizes: Any) -> None:
    """Refuse sizes that are not whole numbers from 1 to 2^31 - 1."""
    for name, value in sizes.items():
        if not (is_count(value) and value <= _MAX_SIZE):
            raise ParameterError(f"{name} must be a positive integer below 2**31, not {value!r}.")


def _check_real(name: str, value: Any, low: float, high: float, of: str = "") -> None:
    if not (is_number(value) and low <= value <= high):
        limit = f"{of}, {high:g}" if of else f"{high:g}"
        raise ParameterError(f"{name} must lie between {low:g} and {limit}, not {value!r}.")
