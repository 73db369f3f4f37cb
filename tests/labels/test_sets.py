"""Distinct label sets: every row is the set that it is said to be."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from longtail.labels import distinct_sets


@given(
    arrays(np.int8, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(0, 1))
)
def test_rows_and_sets(Y):
    sets, which = distinct_sets(sp.csr_array(Y))
    assert np.array_equal(sets.toarray()[which], Y)
    assert len({tuple(row) for row in Y.tolist()}) == sets.shape[0]
    assert [which.tolist().index(number) for number in range(sets.shape[0])] == sorted(
        which.tolist().index(number) for number in range(sets.shape[0])
    )
