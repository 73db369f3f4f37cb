"""Classes added and dropped without training: the weights do not depend on the classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.errors import InputError, LongtailWarning, memory_needed, warn
from longtail.labels import columns_without, encode_labels, listed, name_array
from longtail.methods._new_labels import (
    column_names,
    joined_names,
    refuse_known,
    refuse_several,
)
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.runtime.run import Progress

if TYPE_CHECKING:
    from longtail.base import ExtremeClassifier as Classifier
else:
    Classifier = object


class OpenClasses(Classifier):
    """Mixin of classifiers that know their classes by their profiles alone.

    It has `profiles_` and the methods `_profiles` and `_counts`.
    """

    profiles_: dict[str, Any]

    def _profiles(self) -> ClassProfiles:
        raise NotImplementedError

    def _counts(self, X: sp.csr_array) -> sp.csr_array:
        raise NotImplementedError

    @memory_needed("to add classes")
    def add_classes(self, X: Any, y: Any, *, label_names: Any = None) -> Self:
        """Add classes without training: the weights do not depend on the classes.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
            Documents of the new classes, with the same columns as in `fit`.
        y : 1-d array, sequence of label collections, or 0/1 matrix of shape (n, M)
            Their classes, new ones only. Documents without any are ignored.
        label_names : sequence, optional
            Names of the columns of a matrix.

        Returns
        -------
        self

        Notes
        -----
        O(documents, old and new), for the index. Scores of the old classes stay the same for
        documents of old words. `n_points_` grows by the new documents.

        Examples
        --------
        >>> from longtail import PairRanker
        >>> X = [[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 2, 0], [0, 0, 1, 0]]
        >>> ranker = PairRanker().fit(X, ["sea", "sea", "snow", "snow"])
        >>> ranker.add_classes([[0, 0, 0, 3]], ["fog"]).predict([[0, 0, 0, 1]]).tolist()
        ['fog']
        """
        check_is_fitted(self)
        self.check_parameters()
        counts = self._counts(self._checked(X, reset=False))
        Y, names = encode_new_classes(y, label_names, known=self.classes_, kind=self.label_kind_)
        if Y.shape[0] != counts.shape[0]:
            raise InputError(
                f"X has {counts.shape[0]} rows, y has {Y.shape[0]}; give both for the same "
                "documents."
            )
        labelled = np.flatnonzero(np.diff(Y.indptr))
        Y = sp.csr_array(Y[labelled])
        profiles = self._profiles().with_classes(counts[labelled], Y)
        added = np.bincount(Y.indices, minlength=len(names))
        rows = np.repeat(np.arange(len(labelled)), np.diff(Y.indptr))
        words = np.bincount(Y.indices, np.diff(counts[labelled].indptr)[rows], len(names))
        if not words.all():
            nameless = names[int(words.argmin()) : int(words.argmin()) + 1].tolist()[0]
            warn(
                f"{int((words == 0).sum())} of the new classes, such as {nameless!r}, have no word "
                "that the features know, so they will not be found; train anew with their texts.",
                LongtailWarning,
            )
        self._replace(
            profiles_=profiles.to_arrays(),
            classes_=joined_names(self.classes_, names),
            label_counts_=np.concatenate([self.label_counts_, added]),
            n_points_=int(self.n_points_) + len(labelled),
        )
        return self

    def add_labels(
        self,
        X: Any,
        y_new: Any = None,
        *,
        label_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """`add_classes` under the name that other methods, `Tagger` and `longtail extend` use.

        Since nothing is trained, `checkpoint` and `progress` have no effect. Rows without a new
        label, which other methods learn from, are ignored.
        """
        return self.add_classes(X, y_new, label_names=label_names)

    def drop_labels(self, names: Any) -> Self:
        """Forget classes; the others and the statistics of the collection stay the same.

        Parameters
        ----------
        names : sequence
            Names from `classes_`.

        Examples
        --------
        >>> from longtail import PairRanker
        >>> ranker = PairRanker(C=1.0).fit([[1, 0], [2, 0], [0, 1], [0, 2]], ["a", "a", "b", "b"])
        >>> ranker.drop_labels(["a"]).classes_.tolist()
        ['b']
        """
        check_is_fitted(self)
        kept = columns_without(names, self.classes_)
        profiles = self._profiles()
        fewer = replace(profiles, members=sp.csr_array(profiles.members[:, kept]))
        self._replace(
            profiles_=fewer.to_arrays(),
            classes_=self.classes_[kept],
            label_counts_=self.label_counts_[kept],
        )
        return self


def encode_new_classes(
    y: Any, label_names: Any, *, known: NDArray[Any], kind: str
) -> tuple[sp.csr_array, NDArray[Any]]:
    """The matrix of the new classes and their names; an error if the model knows one of them.

    Examples
    --------
    >>> known = name_array(["sea", "sun"])
    >>> matrix, names = encode_new_classes(["fog", "fog"], None, known=known, kind="multiclass")
    >>> names.tolist(), matrix.toarray().tolist()
    (['fog'], [[1.0], [1.0]])
    """
    if label_names is not None:
        label_names = listed(label_names)
    encoded = encode_labels(y, label_names=label_names)
    if not encoded.matrix.shape[1]:
        raise InputError("There is no new class; give at least one class to add.")
    names = column_names(encoded, known, "dense")
    refuse_known(names, known, "leave its documents out, or train anew with all of them")
    refuse_several(encoded.matrix, kind)
    return encoded.matrix, name_array(names)
