"""The split keeps every label in the training part and is as large as it can be."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from longtail.data.dataset import Dataset
from longtail.data.generate import make_longtail
from longtail.data.split import split_rows, train_test_split
from longtail.errors import DataWarning, InputError, ParameterError

matrices = hnp.arrays(
    np.int8,
    st.tuples(st.integers(2, 25), st.integers(1, 8)),
    elements=st.sampled_from([0, 0, 1]),
)


@settings(deadline=None)
@given(Y=matrices, share=st.floats(0.01, 0.99), seed=st.integers(0, 1000))
def test_every_label_stays_in_training(Y, share, seed):
    n = len(Y)
    wanted = min(max(round(n * share), 1), n - 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            train, test = split_rows(Y, test_size=share, random_state=seed)
        except InputError:
            unique = Y.sum(axis=0) == 1
            assert (Y[:, unique].sum(axis=1) > 0).all()
            return
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(n))
    assert train.tolist() == sorted(train.tolist())
    assert test.tolist() == sorted(test.tolist())
    assert ((Y[train].sum(axis=0) > 0) == (Y.sum(axis=0) > 0)).all()
    if len(test) < wanted:
        # no further row can be spared: each has a label with no other training row
        last = Y[train].sum(axis=0) == 1
        assert (Y[train][:, last].sum(axis=1) > 0).all()
        assert [w.category for w in caught] == [DataWarning]
    else:
        assert len(test) == wanted
        assert not caught


@settings(deadline=None)
@given(Y=matrices, seed=st.integers(0, 1000), test_size=st.integers(1, 24))
def test_form_of_labels_makes_no_difference(Y, seed, test_size):
    if test_size >= len(Y):
        return
    forms = [
        Y,
        sp.csr_array(Y),
        sp.csc_matrix(Y),
        sp.coo_array(Y.astype(float)),
        [set(np.flatnonzero(row).tolist()) for row in Y],
    ]
    results = []
    for form in forms:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                train, test = split_rows(form, test_size=test_size, random_state=seed)
                results.append((train.tolist(), test.tolist()))
            except InputError as error:
                results.append(str(error))
    assert all(result == results[0] for result in results)


def test_exact_size_on_a_long_tail():
    Y = make_longtail(4000, 10, 1000, random_state=0, features_per_sample=3).Y
    for test_size, expected in ((0.25, 1000), (7, 7), (0.1, 400)):
        train, test = split_rows(Y, test_size=test_size, random_state=0)
        assert (len(train), len(test)) == (4000 - expected, expected)
        left = np.bincount(Y[train].indices, minlength=1000)
        assert (left[np.bincount(Y.indices, minlength=1000) > 0] > 0).all()


def test_rows_are_drawn_evenly():
    Y = np.ones((20, 1))
    chosen = np.zeros(20)
    for seed in range(400):
        chosen[split_rows(Y, test_size=5, random_state=seed)[1]] += 1
    assert chosen.min() > 60
    assert chosen.max() < 140


def test_classes_as_a_plain_array():
    train, test = split_rows(np.array(["a", "b", "a", "c", "b"]), test_size=2, random_state=0)
    assert 3 in train
    assert len(test) == 2


def test_columns_without_end_cost_nothing():
    Y = sp.csr_array(
        (np.ones(4), np.array([0, 5, 2**31 - 5, 5]), np.arange(5)), shape=(4, 2**31 - 1)
    )
    train, test = split_rows(Y, test_size=1, random_state=0)
    assert {0, 2} <= set(train.tolist())
    assert test.tolist() in ([1], [3])


def test_stored_zeros_are_no_labels():
    Y = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 1, 2, 3])))
    Y.resize((3, 2))
    for seed in range(10):
        _, test = split_rows(Y, test_size=2, random_state=seed)
        assert len(test) == 2
        assert 1 in test
    assert Y.nnz == 3


def test_seed_decides():
    Y = np.ones((50, 1))
    first, second, other = (split_rows(Y, random_state=seed)[1].tolist() for seed in (1, 1, 2))
    assert first == second != other


def test_short_test_part_warns():
    Y = [["a"], ["b"], ["c"], ["c"]]
    with pytest.warns(DataWarning, match="1 rows instead of 2"):
        train, test = split_rows(Y, test_size=2, random_state=0)
    assert len(test) == 1
    assert {0, 1} <= set(train.tolist())


def test_no_row_to_spare():
    with pytest.raises(InputError, match="label that no other row has"):
        split_rows([["a"], ["b"], ["c"]], random_state=0)


@pytest.mark.parametrize("bad", [0, 4, -1, 0.0, 1.0, 1.5, True, "half", None, float("nan")])
def test_bad_test_size(bad):
    with pytest.raises(ParameterError, match="test_size must be"):
        split_rows(np.ones((4, 1)), test_size=bad)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows(n):
    with pytest.raises(InputError, match="at least 2 rows"):
        split_rows(sp.csr_array((n, 3)))


def test_bad_values():
    with pytest.raises(InputError, match="only 0 and 1"):
        split_rows(sp.csr_array([[2.0], [1.0]]))


def test_data_sets_are_split_whole():
    texts = [f"text {i}" for i in range(40)]
    X = np.arange(40.0)[:, None] + 1
    Y = [["even" if i % 2 == 0 else "odd"] for i in range(40)]
    data = Dataset(X, Y, texts=texts, feature_names=["number"], name="numbers")
    train, test = train_test_split(data, test_size=10, random_state=3)
    assert (len(train), len(test)) == (30, 10)
    for part in (train, test):
        assert part.name == "numbers"
        assert part.classes.tolist() == ["even", "odd"]
        for x, labels, text in zip(
            part.X.toarray()[:, 0], part.label_sets(), part.texts, strict=True
        ):
            number = int(x) - 1
            assert text == f"text {number}"
            assert labels == (("even" if number % 2 == 0 else "odd"),)
    assert sorted(train.texts + test.texts) == sorted(texts)
