"""Scaling of sparse features: inverse document frequency, damping, rows of unit length.

The three steps always come in this order, here and in `longtail.data.TextFeatures`:

1. each column times its idf, ``ln(N / df)`` as counted on the training rows;
2. each value damped: ``sign(x) sqrt(|x|)`` or ``sign(x) ln(1 + |x|)``;
3. each row divided by its norm.

Every step is optional, keeps what is zero at zero, and costs O(nnz).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from longtail._numba import kernel
from longtail._sparse import as_csr
from longtail.errors import InputError, ModelError, ParameterError
from longtail.parameters import check, documented
from longtail.store.estimator import LARGEST, StoredEstimator

Norm = Literal["l2", "l1", "max"]
Damping = Literal["sqrt", "log"]
SmoothIdf = Annotated[
    bool, "Use scikit-learn's ``ln((1 + N) / (1 + df)) + 1`` for `idf`, which is never zero."
]

_NORMS = {"l1": 1, "l2": 2, "max": 0}


@documented
class RowScaler(OneToOneFeatureMixin, TransformerMixin, StoredEstimator):
    """Scale the rows of a sparse feature matrix for linear classifiers.

    Attributes
    ----------
    idf_ : float64 array of shape (n_features,)
        The column factors. Only with `idf`.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Notes
    -----
    The result is a `csr_array` for dense input as well, float32 for float32 and float64
    otherwise, without stored zeros. `fit` and `transform` take O(nnz) time and memory.

    Examples
    --------
    >>> from longtail import RowScaler
    >>> RowScaler().fit_transform([[3.0, 4.0], [0.0, 0.0]]).toarray().tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    >>> RowScaler(norm=None, damping="sqrt").fit_transform([[9.0, -4.0]]).toarray().tolist()
    [[3.0, -2.0]]
    """

    stored_as: ClassVar[str] = "row-scaler"

    def __init__(
        self,
        *,
        norm: Annotated[
            Norm | None,
            "What becomes one in every row: its Euclidean length, the sum of its absolute values, "
            "or the largest of them. Rows without a non-zero value stay empty.",
        ] = "l2",
        damping: Annotated[
            Damping | None,
            "Applied to every value before the norm, keeping its sign: square root, or "
            "``ln(1 + |x|)``. The square root helps on the published benchmark sets whose raw "
            "values span four decades.",
        ] = None,
        idf: Annotated[
            bool,
            "First multiply each column by ``ln(N / df)``: N training rows, df of them with a "
            "non-zero value there. A column that every training row has becomes zero, and so does "
            "one that no training row has.",
        ] = False,
        smooth_idf: SmoothIdf = False,
    ) -> None:
        self.norm = norm
        self.damping = damping
        self.idf = idf
        self.smooth_idf = smooth_idf

    def fit(self, X: Any, y: Any = None) -> RowScaler:
        """Count what `idf` needs and remember the number of columns.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, n_features)
            Training rows.
        y : ignored
            For pipelines.
        """
        check(self)
        X = self._checked(X, reset=True)
        if self.idf:
            present = X.indices[X.data != 0]
            df = np.bincount(present, minlength=X.shape[1])
            self.idf_ = inverse_frequency(df, X.shape[0], smooth=bool(self.smooth_idf))
        elif hasattr(self, "idf_"):
            del self.idf_
        return self

    def transform(self, X: Any) -> sp.csr_array:
        """The scaled rows.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, n_features)
            Rows with the columns of `fit`.

        Returns
        -------
        csr_array of shape (n, n_features)
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return scale(X, getattr(self, "idf_", None), self.damping, self.norm, X.dtype)

    def _checked(self, X: Any, *, reset: bool) -> sp.csr_array:
        try:
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
            )
        except ValueError as error:
            raise InputError(" ".join(str(error).split())) from None
        X = as_csr(X)
        largest = np.finfo(X.dtype).max / LARGEST  # times an idf it is finite
        if not (np.abs(X.data) <= largest).all():
            what = "NaN" if np.isnan(X.data).any() else f"infinity or numbers beyond {largest:.0e}"
            raise InputError(f"Input X contains {what}; give every stored feature a finite value.")
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_state(self) -> None:
        width = getattr(self, "n_features_in_", None)
        names = getattr(self, "feature_names_in_", None)
        if type(width) is not int or width < 1:
            raise damaged("its number of features is not a positive integer")
        if names is not None and (
            not isinstance(names, np.ndarray)
            or names.shape != (width,)
            or not all(isinstance(name, str) for name in names.tolist())
        ):
            raise damaged("its feature names do not fit its number of features")
        check_scaling_state(self, width)


def inverse_frequency(df: NDArray[Any], n: int, *, smooth: bool) -> NDArray[np.float64]:
    """The idf of columns that `df` of `n` rows have.

    Examples
    --------
    >>> inverse_frequency(np.array([0, 1, 2]), 2, smooth=False).round(3).tolist()
    [0.0, 0.693, 0.0]
    """
    df = np.asarray(df, dtype=np.float64)
    if smooth:
        return np.log((1.0 + n) / (1.0 + df)) + 1.0
    return np.where(df > 0, np.log(n / np.maximum(df, 1.0)), 0.0)


def check_scaling_state(transformer: Any, width: int) -> None:
    """Refuse, with `ModelError`, a scaling out of a file that cannot be applied to its columns."""
    try:
        check(transformer)
    except ParameterError as error:
        raise damaged(str(error).rstrip(".")) from None
    idf = getattr(transformer, "idf_", None)
    if (idf is not None) != bool(transformer.idf) or (
        idf is not None
        and (
            not isinstance(idf, np.ndarray)
            or idf.dtype != np.float64
            or idf.shape != (width,)
            or not np.isfinite(idf).all()
        )
    ):
        raise damaged(f"its idf is not {width} finite numbers")


def damaged(reason: str) -> ModelError:
    """The error for features out of a file that cannot be what was saved."""
    return ModelError(f"The stored features are damaged ({reason}); save the model again.")


def scale(
    X: sp.csr_array,
    idf: NDArray[np.float64] | None,
    damping: Damping | None,
    norm: Norm | None,
    dtype: Any,
) -> sp.csr_array:
    """The three steps at the top of this module, in float64, on canonical CSR. O(nnz).

    Examples
    --------
    >>> scale(sp.csr_array([[1.0, 1.0]]), np.array([0.0, 2.0]), None, None, np.float32).toarray()
    array([[0., 2.]], dtype=float32)
    """
    data = X.data.astype(np.float64)
    if idf is not None:
        data *= idf[X.indices]
    if damping == "sqrt":
        data = np.copysign(np.sqrt(np.abs(data)), data)
    elif damping == "log":
        data = np.copysign(np.log1p(np.abs(data)), data)
    if norm is not None:
        _divide_rows(X.indptr, data, _NORMS[norm])
    out = sp.csr_array(
        (data.astype(dtype), X.indices.copy(), X.indptr.copy()), shape=X.shape, copy=False
    )
    out.eliminate_zeros()
    return out


@kernel
def _divide_rows(indptr: NDArray[Any], data: NDArray[Any], order: int) -> None:
    """Divide each row by its norm, in place: the 1-norm, the 2-norm, or (0) the maximum.

    The values are divided by the largest one first, so that no square over- or underflows.
    """
    for i in range(indptr.shape[0] - 1):
        largest = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            largest = max(largest, abs(data[p]))
        if largest == 0.0:
            continue
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            data[p] /= largest
            total += data[p] * data[p] if order == 2 else abs(data[p])
        if order == 0:
            continue
        length = np.sqrt(total) if order == 2 else total
        for p in range(indptr[i], indptr[i + 1]):
            data[p] /= length
