"""What training will need, estimated before it starts: `Estimate`, shared sums, the limit.

A method supplies `_estimate` beside `_fit`; `ExtremeClassifier.estimate` checks the input and calls
it. Memory is counted from the arrays that training makes, and is meant to be right within a factor
of 2. Seconds are costs in n, D, L and stored entries times constants that were measured on one
ordinary machine; they only tell seconds from minutes and minutes from hours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import scipy.sparse as sp

from longtail.errors import InputError
from longtail.runtime.memory import available_memory

WORKSPACE = 4 * 2**20
"""Bytes that training takes however small the data is: buffers, blocks, Python's own objects."""
PRODUCT = 6e-11  # seconds of a multiplication in a matrix product
SPARSE_PRODUCT = 2e-9  # the same where one factor is sparse


@dataclass(frozen=True)
class Estimate:
    """What training a classifier on some data will need.

    Attributes
    ----------
    peak_bytes : int
        Working memory above what is there already, the model included; within a factor of 2.
    model_bytes : int or None
        Size of the arrays of the model, where it is known before training.
    seconds : float
        Time on an ordinary machine; right to the order of magnitude.
    reason : str
        What most of it goes to, in one sentence without its full stop.

    Examples
    --------
    >>> print(Estimate(1_200_000_000, None, 170.0, "3,993 linear problems on 15,539 points"))
    about 1.2 GB and 3 minutes: 3,993 linear problems on 15,539 points
    """

    peak_bytes: int
    model_bytes: int | None
    seconds: float
    reason: str

    def __str__(self) -> str:
        return f"about {size_in_words(self.peak_bytes)} and {time_in_words(self.seconds)}: " + (
            self.reason
        )

    def plus(self, peak_bytes: float, seconds: float = 0.0) -> Estimate:
        """The same with more memory and time."""
        return replace(
            self,
            peak_bytes=int(self.peak_bytes + peak_bytes),
            seconds=float(self.seconds + seconds),
        )


def refuse_beyond(model: object, need: Estimate, memory_limit: float, remedy: str) -> None:
    """Refuse training that would need more than `memory_limit` GB, with the estimate and a remedy.

    Parameters
    ----------
    model : object
        The classifier; its class is named.
    need : Estimate
        What training would need.
    memory_limit : float
        GB of 1e9 bytes; infinity is no limit.
    remedy : str
        What to do other than to raise the limit, as the beginning of a sentence.

    Examples
    --------
    >>> class Forest: ...
    >>> need = Estimate(5_000_000_000, None, 60.0, "9,999 trees")
    >>> refuse_beyond(Forest(), need, 6.0, "take fewer trees")
    >>> refuse_beyond(Forest(), need, 4.0, "take fewer trees")
    Traceback (most recent call last):
        ...
    longtail.errors.InputError: Forest would need some 5 GB for 9,999 trees, above memory_limit
    of 4 GB; take fewer trees, or raise memory_limit.
    """
    if need.peak_bytes > memory_limit * 1e9:
        raise InputError(
            f"{type(model).__name__} would need some {size_in_words(need.peak_bytes)} for "
            f"{need.reason}, above memory_limit of {memory_limit:g} GB; {remedy}, or raise "
            "memory_limit."
        )


def refuse_dense(model: object, shape: tuple[int, int], memory_limit: float | None = None) -> None:
    """Refuse a dense array of scores (n, L) beyond `memory_limit` GB, by default what is left here.

    Examples
    --------
    >>> class Forest: ...
    >>> refuse_dense(Forest(), (10**6, 10**6), 4.0)
    Traceback (most recent call last):
        ...
    longtail.errors.InputError: Forest would need some 8000 GB for the scores of 1,000,000 rows and
    1,000,000 labels, above memory_limit of 4 GB; take predict_topk, or fewer rows at a time, or
    raise memory_limit.
    """
    if memory_limit is None:
        memory_limit = (available_memory() or math.inf) / 1e9
    n, n_labels = shape
    need = Estimate(
        8 * n * n_labels, None, 0.0, f"the scores of {n:,} rows and {n_labels:,} labels"
    )
    refuse_beyond(model, need, memory_limit, "take predict_topk, or fewer rows at a time")


def size_in_words(n_bytes: float) -> str:
    """Bytes with two digits.

    Examples
    --------
    >>> [size_in_words(n) for n in (7_000, 43_210_000, 999_999_999, 1_234_000_000, 5.6e13)]
    ['7 kB', '43 MB', '1 GB', '1.2 GB', '56000 GB']
    """
    if n_bytes < 99.5e4:
        return f"{_two_digits(n_bytes / 1e3)} kB"
    if n_bytes < 99.5e7:
        return f"{_two_digits(n_bytes / 1e6)} MB"
    return f"{_two_digits(n_bytes / 1e9)} GB"


def time_in_words(seconds: float) -> str:
    """Seconds, minutes, hours or days, with as many digits as a rough figure deserves.

    Examples
    --------
    >>> [time_in_words(s) for s in (0.02, 1, 50, 60, 170, 4000, 1e6)]
    ['less than a second', '1 second', '50 seconds', '1 minute', '3 minutes', '1 hour', '12 days']
    """
    if seconds < 0.95:
        return "less than a second"
    units = ((55, 1, "second"), (3300, 60, "minute"), (129_600, 3600, "hour"))
    size, unit = next(((s, u) for limit, s, u in units if seconds < limit), (86_400, "day"))
    number = max(1, round(seconds / size))
    return f"{number:,} {unit}{'s' if number > 1 else ''}"


def matrix_bytes(*matrices: sp.csr_array) -> int:
    """Bytes of the arrays of sparse matrices."""
    return sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in matrices)


def unknown(X: sp.csr_array, Y: sp.csr_array) -> Estimate:
    """A guess for a method without an estimate of its own: as for linear one-vs-rest problems."""
    n_labels = Y.shape[1]
    return Estimate(
        int(4 * matrix_bytes(X, Y) + 8 * n_labels + WORKSPACE),
        None,
        1e-6 * (X.nnz + X.shape[0]) * max(n_labels, 1) ** 0.5,
        f"a guess from the {X.nnz:,} stored values, since the method gives no account of itself",
    )


def _two_digits(value: float) -> str:
    rounded = float(f"{value:.1e}")
    return f"{rounded:.1f}" if rounded < 10 and rounded != int(rounded) else f"{rounded:.0f}"
