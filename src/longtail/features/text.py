"""From texts to sparse features: tf-idf with a logarithm on the counts and rows of unit length.

Words are cut and counted by scikit-learn's `CountVectorizer`; the weights are those that the
published one-vs-rest methods use: ``tf = 1 + ln(count)``, ``idf = ln(N / df)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import as_csr
from longtail.errors import InputError, ModelError, ParameterError
from longtail.features._patterns import LONGEST_PATTERN, is_quick
from longtail.features.scaling import (
    Damping,
    Norm,
    SmoothIdf,
    check_scaling_state,
    damaged,
    inverse_frequency,
    scale,
)
from longtail.parameters import Count, Must, check, documented, is_count
from longtail.store import StoredEstimator

WORD_PATTERN = r"(?u)\b\w\w+\b"
"""Words of two or more letters, digits or underscores: scikit-learn's default."""

CODE_PATTERN = r"(?u)\b\w[\w.]*\w\b"
"""The same, but dotted names such as ``linalg.norm`` stay whole."""


KNOWN_PATTERNS = (WORD_PATTERN, CODE_PATTERN)

LONGEST_RUN = 20
"""Words, or characters, of the longest feature: a text has as many features of each length."""

ANALYZERS = ("word", "char", "char_wb")
"""What texts may be taken apart into, by name."""


def _pair(value: Any) -> tuple[int, int]:
    try:
        shortest, longest = value
        if isinstance(shortest, int | np.integer) and isinstance(longest, int | np.integer):
            return int(shortest), int(longest)
    except (TypeError, ValueError):
        pass
    return 0, 0


def _are_stop_words(value: Any) -> bool:
    if isinstance(value, str):
        return value == "english"
    return isinstance(value, Collection) and all(isinstance(word, str) for word in value)


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > LONGEST_PATTERN:
        return False
    try:
        return re.compile(value).groups <= 1 and (value in KNOWN_PATTERNS or is_quick(value))
    except (re.error, OverflowError, RecursionError):
        return False


def _is_number_of_texts(value: Any) -> bool:
    share = isinstance(value, float | np.floating) and bool(0 <= value <= 1)
    return share or is_count(value)


TEXTS = Must(
    "a number of texts (a positive integer) or a share of them (a float from 0.0 to 1.0)",
    _is_number_of_texts,
)


@documented
class TextFeatures(TransformerMixin, StoredEstimator):
    """Sparse tf-idf features of texts, one row of unit length per text.

    Attributes
    ----------
    vocabulary_ : list of str
        The features in the order of the columns, sorted.
    idf_ : float64 array
        Their idf. Only with `idf`.
    stop_words_ : list of str
        The words that are left out, sorted.

    Notes
    -----
    `TextFeatures(smooth_idf=True)` gives what scikit-learn's `TfidfVectorizer(sublinear_tf=True)`
    gives. Time and memory are linear in the number of words in the texts; the weights are computed
    in float64 and returned as float32.

    Examples
    --------
    >>> from longtail import TextFeatures
    >>> features = TextFeatures()
    >>> X = features.fit_transform(["sun and sea", "sun and sand", "rain"])
    >>> X.shape, X.dtype
    ((3, 5), dtype('float32'))
    >>> features.get_feature_names_out().tolist()
    ['and', 'rain', 'sand', 'sea', 'sun']
    """

    stored_as: ClassVar[str] = "text-features"

    def __init__(
        self,
        *,
        analyzer: Annotated[
            Literal["word", "char", "char_wb"] | Callable[[str], Iterable[str]],
            Must(
                "'word', 'char', 'char_wb' or a function",
                lambda value: value in ANALYZERS or callable(value),
            ),
            'Whether features are words, or characters (within words: "char_wb"). A callable gets '
            "a text and returns its tokens; it cannot be stored in a model.",
        ] = "word",
        ngram_range: Annotated[
            tuple[int, int],
            Must(
                f"two whole numbers from 1 to {LONGEST_RUN}, the smaller one first",
                lambda value: 1 <= _pair(value)[0] <= _pair(value)[1] <= LONGEST_RUN,
                "(1, 2) means single words and pairs",
            ),
            "Shortest and longest run of words (or characters) that makes a feature.",
        ] = (1, 1),
        lowercase: Annotated[bool, "Whether upper and lower case count as the same."] = True,
        strip_accents: Annotated[
            Literal["ascii", "unicode"] | None, "Whether and how to drop accents."
        ] = None,
        stop_words: Annotated[
            Literal["english"] | Collection[str] | None,
            Must("'english', a list of words or None", _are_stop_words),
            'Words to leave out, for the analyzer "word".',
        ] = None,
        token_pattern: Annotated[
            str,
            Must(
                "a regular expression with at most one group that finds words without long trying",
                _is_pattern,
                "write (?:...) for other groups, and no repeat within a repeat that both match the "
                r"same letters, as in (?:\w+)+",
            ),
            'Regular expression of a word, for the analyzer "word". `CODE_PATTERN` keeps dotted '
            "names.",
        ] = WORD_PATTERN,
        min_df: Annotated[
            int | float,
            TEXTS,
            "Leave out words that fewer texts have: a number of texts, or their share.",
        ] = 1,
        max_df: Annotated[
            int | float,
            TEXTS,
            "Leave out words that more texts have: a number of texts, or their share.",
        ] = 1.0,
        max_features: Annotated[
            Count | None, "Keep only so many words, the most frequent ones."
        ] = None,
        sublinear_tf: Annotated[
            bool, "``1 + ln(count)`` in place of the count of a word in a text."
        ] = True,
        idf: Annotated[
            bool,
            "Multiply by ``ln(N / df)``: N training texts, df of them with the word. A word that "
            "every training text has becomes zero, so fitting on a single text leaves nothing.",
        ] = True,
        smooth_idf: SmoothIdf = False,
        damping: Annotated[
            Damping | None,
            "Applied to tf times idf before the norm: square root, or ``ln(1 + x)``.",
        ] = None,
        norm: Annotated[
            Norm | None, "What becomes one in every row. Texts without a known word stay empty."
        ] = "l2",
    ) -> None:
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.smooth_idf = smooth_idf
        self.damping = damping
        self.norm = norm

    def fit(self, texts: Iterable[str], y: Any = None) -> TextFeatures:
        """Learn the words and their idf.

        Parameters
        ----------
        texts : sequence of str
            Training texts.
        y : ignored
            For pipelines.
        """
        self._learn(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None, **_: Any) -> sp.csr_array:
        """The same as `fit` and `transform`, but the words are counted once."""
        return self._weighted(self._learn(texts))

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """The features of texts; words that `fit` did not see are left out.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        csr_array of shape (number of texts, number of features), float32
        """
        check_is_fitted(self)
        texts = checked_texts(texts)
        if not texts:
            return sp.csr_array((0, len(self.vocabulary_)), dtype=np.float32)
        return self._weighted(as_csr(self._counter.transform(texts)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The words of the columns.

        Parameters
        ----------
        input_features : ignored
            For pipelines.
        """
        check_is_fitted(self)
        return np.asarray(self.vocabulary_, dtype=object)

    def _learn(self, texts: Iterable[str]) -> sp.csr_array:
        """Fit; the counts of the training texts."""
        check(self)
        texts = checked_texts(texts)
        if not texts:
            raise InputError("There is no text to learn words from; give at least one.")
        stop_words = sorted(_plain_counter(self, stop_words=self.stop_words).get_stop_words() or ())
        counter = _plain_counter(
            self,
            stop_words=stop_words or None,
            min_df=self.min_df,
            max_df=self.max_df,
            max_features=self.max_features,
        )
        try:
            counts = as_csr(counter.fit_transform(texts))
        except ValueError as error:
            raise _as_input_error(error) from None
        self._counter = counter
        self.stop_words_ = stop_words
        self.vocabulary_ = counter.get_feature_names_out().tolist()
        if self.idf:
            df = np.bincount(counts.indices, minlength=counts.shape[1])
            self.idf_ = inverse_frequency(df, counts.shape[0], smooth=bool(self.smooth_idf))
        elif hasattr(self, "idf_"):
            del self.idf_
        return counts

    def _weighted(self, counts: sp.csr_array) -> sp.csr_array:
        if self.sublinear_tf:
            tf = 1.0 + np.log(counts.data.astype(np.float64))
            counts = sp.csr_array((tf, counts.indices, counts.indptr), shape=counts.shape)
        return scale(counts, getattr(self, "idf_", None), self.damping, self.norm, np.float32)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vocabulary_")

    def to_state(self) -> dict[str, Any]:
        """As for every estimator, with the stop words as a list; a function cannot be stored."""
        if callable(self.analyzer):
            raise ModelError(
                "A function as analyzer cannot be stored in a model; use 'word', 'char' or "
                "'char_wb', or turn the texts into tokens before."
            )
        state = super().to_state()
        if not isinstance(self.stop_words, str | None):
            state["parameters"]["stop_words"] = sorted(self.stop_words)
        return state

    def _check_state(self) -> None:
        for name, least in (("vocabulary_", 1), ("stop_words_", 0)):
            words = getattr(self, name, None)
            if (
                not isinstance(words, list)
                or len(words) < least
                or not all(isinstance(word, str) for word in words)
                or len(set(words)) != len(words)
            ):
                raise damaged(f"its {name} is not a list of distinct words")
        check_scaling_state(self, len(self.vocabulary_))
        self._counter = _plain_counter(
            self,
            stop_words=self.stop_words_ or None,
            vocabulary={word: column for column, word in enumerate(self.vocabulary_)},
        )


def checked_texts(texts: Any) -> list[str]:
    """Texts as a list, or one sentence that says why they are none.

    Examples
    --------
    >>> checked_texts(("sun", "sea"))
    ['sun', 'sea']
    """
    if isinstance(texts, str | bytes):
        raise InputError("A single text was given; put it into a list.")
    if isinstance(texts, dict) or not isinstance(texts, Iterable):
        raise InputError(f"Texts come as a list of strings, not as {type(texts).__name__}.")
    if sp.issparse(texts):
        raise InputError("Texts come as a list of strings, not as a sparse matrix.")
    listed = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            what = "missing (None)" if text is None else f"of type {type(text).__name__}"
            raise InputError(f"Text {number} is {what}; every text must be a string.")
    return listed


def _plain_counter(features: TextFeatures, **settings: Any) -> CountVectorizer:
    return CountVectorizer(
        analyzer=features.analyzer,
        ngram_range=_pair(features.ngram_range),
        lowercase=bool(features.lowercase),
        strip_accents=features.strip_accents,
        token_pattern=features.token_pattern,
        **settings,
    )


def _as_input_error(error: ValueError) -> Exception:
    message = str(error)
    if "max_df corresponds to" in message:
        return ParameterError(
            "max_df allows fewer texts than min_df demands; raise max_df or lower min_df."
        )
    if "empty vocabulary" in message:
        return InputError(
            "No word is left: the texts are empty or hold nothing but stop words and tokens that "
            "token_pattern does not match."
        )
    if "no terms remain" in message:
        return InputError("No word is left after min_df and max_df; lower min_df or raise max_df.")
    return InputError(f"The texts cannot be turned into words: {message.rstrip('.')}.")
