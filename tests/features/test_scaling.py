"""RowScaler against the formulas on dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from longtail.errors import InputError, ModelError, ParameterError
from longtail.features.scaling import RowScaler
from longtail.store import pack, unpack


# No exceptions: scikit-learn's own checks pass as they are.
@parametrize_with_checks(
    [
        RowScaler(),
        RowScaler(norm="l1", damping="log", idf=True),
        RowScaler(norm="max", damping="sqrt", idf=True, smooth_idf=True),
        RowScaler(norm=None),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def dense_reference(train, X, norm, damping, idf, smooth):
    X = X.astype(np.float64)
    if idf:
        n, df = len(train), (train != 0).sum(axis=0)
        for j in range(X.shape[1]):
            if smooth:
                X[:, j] *= np.log((1 + n) / (1 + df[j])) + 1
            else:
                X[:, j] *= np.log(n / df[j]) if df[j] else 0.0
    if damping == "sqrt":
        X = np.sign(X) * np.sqrt(np.abs(X))
    if damping == "log":
        X = np.sign(X) * np.log(1 + np.abs(X))
    for row in X:
        size = {
            "l1": np.abs(row).sum(),
            "l2": np.sqrt((row**2).sum()),
            "max": np.abs(row).max(),
            None: 1.0,
        }[norm]
        if size > 0:
            row /= size
    return X


values = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 0.25, 7.5, 1e4, -3e-3])


@settings(deadline=None)
@given(
    train=hnp.arrays(np.float64, (5, 4), elements=values),
    X=hnp.arrays(np.float64, (3, 4), elements=values),
    norm=st.sampled_from(["l1", "l2", "max", None]),
    damping=st.sampled_from(["sqrt", "log", None]),
    idf=st.booleans(),
    smooth=st.booleans(),
    form=st.sampled_from([np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array]),
)
def test_equals_the_formulas(train, X, norm, damping, idf, smooth, form):
    scaler = RowScaler(norm=norm, damping=damping, idf=idf, smooth_idf=smooth).fit(form(train))
    out = scaler.transform(form(X))
    assert isinstance(out, sp.csr_array)
    assert out.has_canonical_format
    assert (out.data != 0).all()
    expected = dense_reference(train, X, norm, damping, idf, smooth)
    np.testing.assert_allclose(out.toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_the_float_type(dtype):
    out = RowScaler(damping="sqrt", idf=True).fit_transform(
        sp.csr_array(np.array([[1, 2], [0, 5]], dtype=dtype))
    )
    assert out.dtype == dtype


def test_integers_become_float64():
    assert RowScaler().fit_transform([[1, 2]]).dtype == np.float64


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_neither_overflow_nor_vanish(size):
    out = RowScaler().fit_transform(np.array([[3.0, 4.0]]) * size)
    np.testing.assert_allclose(out.toarray(), [[0.6, 0.8]], rtol=1e-12)


def test_input_is_left_alone():
    X = sp.csr_array([[0.0, 4.0], [9.0, 2.0]])
    before = X.toarray()
    RowScaler(damping="sqrt", idf=True).fit_transform(X)
    np.testing.assert_array_equal(X.toarray(), before)


def test_duplicated_and_stored_zero_entries():
    X = sp.coo_array(([1.0, 2.0, 0.0, 4.0], ([0, 0, 0, 0], [1, 1, 2, 0])), shape=(1, 3))
    out = RowScaler().fit_transform(X)
    np.testing.assert_allclose(out.toarray(), [[0.8, 0.6, 0.0]])
    assert out.nnz == 2


def test_refitting_without_idf_forgets_it():
    scaler = RowScaler(idf=True).fit([[1.0, 0.0], [1.0, 1.0]])
    scaler.set_params(idf=False).fit([[1.0, 0.0], [1.0, 1.0]])
    assert scaler.transform([[3.0, 4.0]]).toarray().tolist() == [[0.6, 0.8]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_refuses_values_that_are_not_finite(bad, form):
    scaler = RowScaler().fit([[1.0, 2.0]])
    for call in (scaler.fit, scaler.transform):
        with pytest.raises(InputError, match=r"contains (NaN|infinity)"):
            call(form([[1.0, bad]]))


@pytest.mark.parametrize(
    ("params", "message"), [({"norm": "l3"}, "norm must be"), ({"damping": "cube"}, "damping must")]
)
def test_refuses_unknown_names(params, message):
    with pytest.raises(ParameterError, match=message):
        RowScaler(**params).fit([[1.0]])


def test_refuses_another_number_of_columns():
    with pytest.raises(ValueError, match="expecting 2 features"):
        RowScaler().fit([[1.0, 2.0]]).transform([[1.0]])


def test_state_gives_the_same_bits():
    X = sp.random(30, 20, density=0.2, random_state=0, format="csr")
    for params in ({}, {"idf": True}, {"idf": True, "smooth_idf": True, "damping": "log"}):
        scaler = RowScaler(**params).fit(X)
        again = unpack(*pack(scaler))
        assert again.get_params() == scaler.get_params()
        first, second = scaler.transform(X), again.transform(X)
        assert first.data.tobytes() == second.data.tobytes()
        assert (first != second).nnz == 0


def test_state_keeps_column_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sea": [1.0, 0.0], "sun": [2.0, 1.0]})
    again = unpack(*pack(RowScaler().fit(frame)))
    assert again.get_feature_names_out().tolist() == ["sea", "sun"]
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame[["sun", "sea"]])


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("parameters", {"norm": "l9"}),
        ("parameters", {"norm": ["l2"]}),
        ("parameters", {"nonsense": 1}),
        ("parameters", {"idf": False}),
        ("learned", {"n_features_in_": -1}),
        ("learned", {"n_features_in_": "2"}),
        ("learned", {"n_features_in_": True}),
        ("learned", {"idf_": np.zeros(3)}),
        ("learned", {"idf_": np.array([0.0, np.nan])}),
        ("learned", {"idf_": np.array(["a", "b"])}),
        ("learned", {"idf_": None}),
        ("learned", {"feature_names_in_": np.array(["a"])}),
        ("learned", {"feature_names_in_": np.array([1, 2])}),
        ("learned", {"transform": print}),
    ],
)
def test_damaged_state_is_refused(part, change):
    state = RowScaler(idf=True).fit([[1.0, 2.0]]).to_state()
    state[part].update(change)
    with pytest.raises(ModelError, match=r"damaged|does not know|none should have|was altered"):
        RowScaler.from_state(state)


@pytest.mark.parametrize("state", [{}, {"parameters": 3, "learned": {}}, {"parameters": {}}])
def test_incomplete_state_is_refused(state):
    with pytest.raises(ModelError, match="damaged"):
        RowScaler.from_state(state)


def test_unfitted():
    with pytest.raises(NotFittedError):
        RowScaler().transform([[1.0]])
    with pytest.raises(NotFittedError):
        clone(RowScaler().fit([[1.0]])).save("nowhere")
