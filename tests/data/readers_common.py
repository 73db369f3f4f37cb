"""What the tests of readers share: a strict comparison and small data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from longtail.data import Dataset


def assert_same(got: Dataset, wanted: Dataset, *, names: bool = True) -> None:
    """Equal to the bit in all that a file can hold; the name of the set is the file's own."""
    assert len(got) == len(wanted)
    assert (got.X is None) == (wanted.X is None)
    for one, other in ((got.X, wanted.X), (got.Y, wanted.Y)):
        if one is None or other is None:
            continue
        other = sp.csr_array(other, copy=True)
        other.eliminate_zeros()
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert one.has_canonical_format
        np.testing.assert_array_equal(one.indptr, other.indptr)
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.data, other.data)
    if names:
        for field in ("feature_names", "label_names"):
            one, other = getattr(got, field), getattr(wanted, field)
            assert (one is None) == (other is None), field
            if one is not None:
                assert one.tolist() == other.tolist()
    assert got.texts == wanted.texts


def small_set(**changes: object) -> Dataset:
    """Three points: one with all, one without labels, one without features."""
    fields = {
        "X": sp.csr_array(np.array([[0.5, 0, 1], [0, -2.25, 0], [0, 0, 0]], dtype=np.float32)),
        "Y": sp.csr_array(np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float32)),
    }
    return Dataset(**{**fields, **changes})  # type: ignore[arg-type]


def written(path: Path, content: str | bytes) -> Path:
    """The path, after writing to it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
