"""mRb: thousands of classes ranked by one vector of ten weights.

Joshi, Amini, Partalas, Ralaivola, Usunier & Gaussier, On Binary Reduction of Large-scale Multiclass
Classification Problems, IDA 2015.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import stacked
from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import InputError, LongtailWarning, ModelError, warn
from longtail.methods._soundness import is_array
from longtail.methods.pairs._counts import as_counts, unit_of
from longtail.methods.pairs._new_classes import OpenClasses
from longtail.methods.pairs._training import Learner, scale_of_scores
from longtail.methods.pairs.bound import GeneralizationBound, generalization_bound
from longtail.methods.pairs.explanation import explain_class
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.similarity import ABSENT, SIMILARITY_NAMES, ClassScorer, similarities
from longtail.methods.pairs.transformed_set import KEPT_BYTES, ROW_BYTES, Rivals, TransformedSet
from longtail.parameters import Count, CountFromTwo, Jobs, Positive, Seed
from longtail.runtime.checkpoint import fingerprint
from longtail.runtime.estimates import WORKSPACE, Estimate
from longtail.runtime.executor import in_blocks, thread_count
from longtail.runtime.kept import kept_for
from longtail.runtime.run import Run

Pairs = Literal["auto", "all", "uniform", "adversarial"]
MOST_PAIRS = 2**20  # pairs with a shared word up to which "auto" takes all
PROFILE_COPIES = 4  # of the documents and of the index of classes, in training
BLOCK_SPACE = 2**25  # bytes of a block of pairs during construction
PROBED = 1e-9  # seconds per entry of the index that a document meets
BLOCK_ROWS = 8  # documents per block of `predict`
DEFAULT_WEIGHTS = np.array([1.0] * 8 + [-1.0] * 2)  # where there is no pair to learn from


class PairRanker(OpenClasses, ExtremeClassifier):
    """mRb: one small ranker for all classes, from ten similarities of documents and classes.

    A class is the mega-document of its training documents. Ten similarities between a document and
    a class (words they share, weighted in eight ways, and the distances to the two nearest
    documents of the class) are combined by one weight vector, the same for every class, which is
    learned from pairs: a document with its class against the same document with another class.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : array of shape (10,)
        Weights of the normalised similarities, in the order of
        `longtail.methods.pairs.SIMILARITY_NAMES`.
    lowest_, range_ : arrays of shape (10,)
        Least value and range of each similarity on the training set: what 0 and 1 mean.
    C_ : float
        The C that was used.
    Cs_, accuracy_ : arrays of shape (S,) and (S, folds)
        What was compared to choose C; empty if it was given. See `choice_table`.
    pairs_ : str
        "all", "uniform", "adversarial", or "none" if there was no pair to learn from.
    n_pairs_ : int
        Pairs of T(S), including those that are merged into one or represent others.
    n_left_out_ : int
        Pairs of a training document and a class of it that were left out of training, since the
        class has no other document.
    margin_ : float
        By how much a label may trail the best and still be predicted; 0 if no training row has
        several labels.
    one_class_ : bool
        Whether every training row has exactly one label; then every document gets one.
    centre_ : float
        The score halfway between the true and the best other class, in the median.
    objective_, violation_, gap_ : float
        Value of the objective, norm of its gradient relative to that at zero, and proven relative
        distance to the optimum.
    n_iter_ : int
        Passes over the pairs, including those for the choice of C.
    unit_ : float
        Value in X that counts as one word.
    profiles_ : dict
        The training documents and statistics of the collection.

    Notes
    -----
    Training: a pass over the pairs takes O(entries of the words in the index of classes and in that
    of documents) per document; about 15 to 30 passes, whatever the number of classes. Memory: the
    profiles, which are as large as the training documents, and some blocks of pairs; never n×L.
    Prediction: the cost of a pass. Every class without a shared word has the same, known score, so
    the result is exact.

    Examples
    --------
    >>> from longtail import PairRanker
    >>> X = [[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 2, 0], [0, 0, 1, 1]] * 3
    >>> ranker = PairRanker().fit(X, ["sea", "sea", "snow", "snow"] * 3)
    >>> ranker.predict([[1, 0, 0, 0], [0, 0, 0, 1]]).tolist()
    ['sea', 'snow']
    """

    method: ClassVar[str] = "mrb"
    paper: ClassVar[str] = "Joshi et al. 2015"
    feature_kind: ClassVar[Any] = "counts"
    kept_data: ClassVar[tuple[str, ...]] = ("profiles_",)

    C_: float
    Cs_: NDArray[np.float64]

    def __init__(
        self,
        *,
        C: Annotated[
            Positive | None,
            "Weight of the pairs' losses against the penalty ½‖w‖². None: chosen, the one of "
            "0.001, 0.01, ..., 1000 with the highest share of held-out documents whose class "
            "scores highest (of some 10,000 at most); of equal ones the smallest.",
        ] = None,
        folds: Annotated[CountFromTwo, "Folds of documents for that choice."] = 3,
        pairs: Annotated[
            Pairs,
            'The classes that compete with the true one. "all": every class, exactly. "uniform": '
            "of the classes that share a word with the document `n_pairs` at random, weighted so "
            'that the objective has the right expectation. "adversarial": the `n_pairs` that '
            'score highest, found in rounds, which is another objective. "auto": "all" if at most '
            "1,048,576 pairs share a word (as bounded by the lengths of the words' entries in the "
            'index), "uniform" otherwise.',
        ] = "auto",
        n_pairs: Annotated[
            Count, "Competing classes for each document and true class; ignored if all compete."
        ] = 20,
        leave_one_out: Annotated[
            bool,
            "Whether a training document is taken out of its own class when its similarities are "
            "computed. False is the paper to the letter, and much worse.",
        ] = True,
        term_weights: Annotated[
            bool,
            "Whether X may hold fractions, taken as weights of terms and rounded to a thousandth "
            "of their mean or finer. By default they are refused, since most likely X is tf-idf "
            "or dense.",
        ] = False,
        random_state: Annotated[
            Seed, "Seed of folds, pairs and the documents on which the margin is chosen."
        ] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.folds = folds
        self.pairs = pairs
        self.n_pairs = n_pairs
        self.leave_one_out = leave_one_out
        self.term_weights = term_weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- training ----------------------------------------------------------------------------

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        entries = float(X.nnz) * max(Y.nnz / max(X.shape[0], 1), 1.0)
        in_column = np.bincount(X.indices, minlength=1).astype(np.float64)
        threads = thread_count(self.n_jobs)
        copies = PROFILE_COPIES * 12.0 * (X.nnz + entries)
        n_pairs = min(float(Y.nnz) * (self.n_pairs if self.pairs != "all" else Y.shape[1]), 2e9)
        copies += min(ROW_BYTES * n_pairs, KEPT_BYTES)
        passes = 15 if self.C is not None else 30
        looked_at = float(in_column @ in_column) * PROBED
        return Estimate(
            int(copies + threads * BLOCK_SPACE + 40.0 * sum(X.shape) + WORKSPACE),
            int(12.0 * (X.nnz + Y.nnz)),
            passes * looked_at / threads,
            f"profiles of {Y.shape[1]:,} classes from {X.nnz:,} stored counts, and pairs",
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        if not Y.nnz:
            raise InputError("No row of Y has a label; PairRanker needs the class of some rows.")
        self.one_class_ = bool((np.diff(Y.indptr) == 1).all())
        self.unit_ = unit_of(X, term_weights=self.term_weights)
        counts = self._counts(X)
        profiles = ClassProfiles.of(counts, Y, unit=self.unit_)
        pairs = TransformedSet(profiles, leave_one_out=bool(self.leave_one_out), n_jobs=self.n_jobs)
        self.profiles_ = profiles.to_arrays()
        self.n_pairs_, self.n_left_out_ = pairs.n_pairs, pairs.n_left_out
        if pairs.n_pairs:
            self._learn(pairs, counts, Y, run)
        else:
            self.lowest_, self.range_ = pairs.normalisation()
            self._do_without_pairs(pairs.n_classes)
            run.report("training", 1, 1)
        self.margin_, self.centre_ = scale_of_scores(
            pairs,
            self.weights_ / self.range_,
            several=bool((np.diff(Y.indptr) > 1).any()),
            seed=self._seed,
        )
        self.centre_ += self._offset

    def _learn(self, pairs: TransformedSet, counts: Any, Y: sp.csr_array, run: Run) -> None:
        kind: Any = self.pairs
        if kind == "auto":
            kind = "all" if pairs.n_met <= MOST_PAIRS else "uniform"
        seed, identity = self._seed, ""
        if run.checkpoint is not None:
            settings = (kind, self.n_pairs, seed, self.C, self.folds, bool(self.leave_one_out))
            identity = fingerprint(X=counts, Y=Y, settings=settings)
        learner = Learner(self.C, self.folds, seed, self.n_jobs, identity)
        found = learner.learn(pairs, Rivals(kind, self.n_pairs, seed), run)
        self.lowest_, self.range_ = found.lowest, found.width
        self.weights_, self.C_ = found.weights, found.C
        self.Cs_, self.accuracy_ = found.Cs, found.accuracy
        self.objective_, self.violation_, self.gap_ = found.objective, found.violation, found.gap
        self.n_iter_, self.pairs_ = found.passes, kind

    def _do_without_pairs(self, n_classes: int) -> None:
        """The fixed weights for a training set without any pair to learn from."""
        if n_classes > 1:
            warn(
                "There is no pair to learn from, since no class with a document that another class "
                "lacks has a second one; all similarities count alike, and distances against. Give "
                "some classes two documents.",
                LongtailWarning,
            )
        self.weights_, self.C_ = DEFAULT_WEIGHTS.copy(), 1.0 if self.C is None else float(self.C)
        self.Cs_, self.accuracy_ = np.empty(0), np.empty((0, 0))
        self.objective_ = self.violation_ = self.gap_ = 0.0
        self.n_iter_, self.pairs_ = 1, "none"

    def choice_table(self) -> pl.DataFrame:
        """One row per C that was tried, the chosen one marked: held-out accuracy, also by folds.

        Empty if C was given.
        """
        check_is_fitted(self)
        columns = {f"fold {f + 1}": self.accuracy_[:, f] for f in range(self.accuracy_.shape[1])}
        mean = self.accuracy_.mean(axis=1) if self.accuracy_.size else np.empty(0)
        chosen = self.Cs_ == self.C_
        return pl.DataFrame({"C": self.Cs_, "accuracy": mean, **columns, "chosen": chosen})

    # ---- prediction --------------------------------------------------------------------------

    def _counts(self, X: sp.csr_array) -> sp.csr_array:
        return as_counts(X, self.unit_, term_weights=self.term_weights)

    def _parts(self) -> tuple[ClassProfiles, ClassScorer]:
        arrays, n_classes, unit = self.profiles_, len(self.classes_), self.unit_
        weights, scale = self.weights_, self.range_

        def make() -> tuple[ClassProfiles, ClassScorer]:
            profiles = ClassProfiles.from_arrays(arrays, n_classes=n_classes, unit=unit)
            return profiles, ClassScorer(profiles, weights / scale)

        return kept_for(self, "parts", (arrays, n_classes, unit, weights, scale), make)

    def _profiles(self) -> ClassProfiles:
        return self._parts()[0]

    @property
    def _offset(self) -> float:
        """What the least values of the similarities subtract from every score."""
        return -float(self.weights_ @ (self.lowest_ / self.range_))

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        found = self._parts()[1].topk(self._counts(X), k, n_jobs=self.n_jobs)
        found.data += self._offset
        return found

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        if self.one_class_:
            return self._topk(X, 1)
        profiles, counts = self._profiles(), self._counts(X)
        per_unit = self.weights_ / self.range_
        known = int((self.label_counts_ > 0).sum())

        def near(documents: sp.csr_array) -> sp.csr_array:
            met = similarities(profiles, documents)
            scores = met.values @ per_unit
            lengths = np.diff(met.indptr)
            best = np.where(lengths < known, float(ABSENT @ per_unit), -np.inf)
            rows = np.repeat(np.arange(len(lengths)), lengths)
            np.maximum.at(best, rows, scores)
            taken = scores >= best[rows] - self.margin_
            return sp.csr_array(
                (scores[taken] + self._offset, (rows[taken], met.classes[taken])),
                shape=(len(lengths), len(self.classes_)),
            )

        return stacked(in_blocks(near, counts, size=BLOCK_ROWS, n_jobs=self.n_jobs))

    def _usual_scale(self) -> tuple[float, float]:
        return 2.0, -2.0 * self.centre_

    # ---- why ---------------------------------------------------------------------------------

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        if not self.label_counts_[column]:
            name = self._name_of(column)
            raise InputError(f"{name!r} has no training document, so nothing is known of it.")
        return explain_class(
            self._profiles(), self._counts(x), column, classes=self.classes_, words=names, n=n,
            weights=self.weights_, lowest=self.lowest_, width=self.range_,
        )  # fmt: skip

    def generalization_bound(self, X: Any, Y: Any, *, delta: float = 0.05) -> GeneralizationBound:
        """The paper's Theorem 1; see `longtail.methods.pairs.generalization_bound`.

        Parameters
        ----------
        X, Y
            The training set.
        delta : float
            The probability that the bound does not hold.
        """
        return generalization_bound(self, X, Y, delta=delta)

    # ---- the machinery -----------------------------------------------------------------------

    def _check_state(self) -> None:
        super()._check_state()
        wrong = ModelError("The ranker of the model does not fit its labels; it was altered.")
        for name in ("weights_", "lowest_", "range_"):
            needed = ((len(SIMILARITY_NAMES),), np.float64)
            if not is_array(getattr(self, name, None), *needed):
                raise wrong
        numbers = {
            name: getattr(self, name, None) for name in ("margin_", "centre_", "unit_", "C_")
        }
        if (
            not (self.range_ > 1e-100).all()  # weights are divided by it
            or any(
                not isinstance(value, float) or not np.isfinite(value) for value in numbers.values()
            )
            or self.margin_ < 0
            or self.unit_ <= 0
            or not isinstance(getattr(self, "one_class_", None), bool)
            or not np.isfinite(self._offset)
            or not is_array(getattr(self, "Cs_", None), (None,))
            or not is_array(getattr(self, "accuracy_", None), (len(self.Cs_), None))
        ):
            raise wrong
        if not isinstance(getattr(self, "profiles_", None), dict):
            raise wrong
        profiles = self._profiles()
        if profiles.members.shape[1] != len(self.classes_) or (
            profiles.documents.shape[1] != self.n_features_in_
        ):
            raise wrong

    def __sklearn_tags__(self) -> Tags:
        """scikit-learn's tags: counts only, no dense points."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
