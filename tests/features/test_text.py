"""TextFeatures against the formulas, scikit-learn's TfidfVectorizer, and itself after storing."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

from longtail.errors import InputError, ModelError, ParameterError
from longtail.features.text import CODE_PATTERN, TextFeatures
from longtail.store import pack, unpack

TEXTS = [
    "The sun, the sea and the sand",
    "Rain on the sea: rain, rain, rain",
    "Sand in the shoes",
    "the the the",
]
NEW = ["the sun on the sea sea sea", "nothing known here", ""]


def stored(features: TextFeatures) -> TextFeatures:
    """Through JSON and arrays, as a model folder would take it."""
    tree, arrays = pack(features)
    return unpack(json.loads(json.dumps(tree)), arrays)


def assert_same_bits(first: sp.csr_array, second: sp.csr_array) -> None:
    assert first.shape == second.shape
    assert first.indptr.tolist() == second.indptr.tolist()
    assert first.indices.tolist() == second.indices.tolist()
    assert first.data.tobytes() == second.data.tobytes()


def test_weights_by_hand():
    features = TextFeatures(norm=None)
    X = features.fit_transform(TEXTS).toarray()
    column = features.vocabulary_.index
    assert X[1, column("rain")] == pytest.approx((1 + math.log(4)) * math.log(4 / 1))
    assert X[0, column("sea")] == pytest.approx(math.log(4 / 2))
    assert X[:, column("the")].tolist() == [0, 0, 0, 0]  # in every text: ln(4 / 4) = 0


def test_rows_have_unit_length_and_form():
    X = TextFeatures().fit_transform(TEXTS)
    assert isinstance(X, sp.csr_array)
    assert X.dtype == np.float32
    assert X.has_canonical_format
    lengths = np.sqrt((X.toarray() ** 2).sum(axis=1))
    np.testing.assert_allclose(lengths, [1, 1, 1, 0], rtol=1e-6)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ngram_range": (1, 2)},
        {"ngram_range": (2, 4), "analyzer": "char_wb"},
        {"analyzer": "char", "ngram_range": (3, 3)},
        {"min_df": 2},
        {"min_df": 0.5},
        {"max_df": 2},
        {"max_features": 3},
        {"stop_words": "english"},
        {"stop_words": ["sea", "the"]},
        {"lowercase": False},
        {"strip_accents": "unicode"},
        {"token_pattern": r"\w"},
        {"sublinear_tf": False},
        {"norm": "l1"},
        {"norm": None},
    ],
)
def test_smooth_idf_is_scikit_learns(params):
    theirs = TfidfVectorizer(**{"sublinear_tf": True, **params})
    ours = TextFeatures(smooth_idf=True, **params)
    expected = theirs.fit_transform(TEXTS).toarray()
    np.testing.assert_allclose(ours.fit_transform(TEXTS).toarray(), expected, rtol=1e-6)
    np.testing.assert_allclose(
        ours.transform(NEW).toarray(), theirs.transform(NEW).toarray(), rtol=1e-6
    )
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_without_idf():
    ours = TextFeatures(idf=False).fit_transform(TEXTS)
    theirs = TfidfVectorizer(sublinear_tf=True, use_idf=False).fit_transform(TEXTS)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-6)


def test_square_root_comes_after_idf_and_before_the_norm():
    plain = TextFeatures(norm=None).fit_transform(TEXTS).toarray()
    damped = TextFeatures(damping="sqrt").fit_transform(TEXTS).toarray()
    expected = np.sqrt(plain)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(damped, expected / np.where(lengths > 0, lengths, 1), rtol=1e-6)


def test_fit_transform_is_fit_then_transform():
    assert_same_bits(
        TextFeatures().fit_transform(TEXTS), TextFeatures().fit(TEXTS).transform(TEXTS)
    )


def test_unknown_words_and_no_texts():
    features = TextFeatures().fit(TEXTS)
    assert features.transform(["zebra"]).nnz == 0
    assert features.transform([]).shape == (0, len(features.vocabulary_))


def test_code_pattern_keeps_dotted_names():
    features = TextFeatures(token_pattern=CODE_PATTERN).fit(
        ["Use np.linalg.norm. Or x, or my_f()."]
    )
    assert features.vocabulary_ == ["my_f", "np.linalg.norm", "or", "use"]


@pytest.mark.parametrize("kind", ["tuple", "array", "object", "generator", "pandas", "polars"])
def test_accepts_sequences_of_any_kind(kind):
    texts = {
        "tuple": lambda: tuple(TEXTS),
        "array": lambda: np.asarray(TEXTS),
        "object": lambda: np.asarray(TEXTS, dtype=object),
        "generator": lambda: (text for text in TEXTS),
        "pandas": lambda: pytest.importorskip("pandas").Series(TEXTS),
        "polars": lambda: pytest.importorskip("polars").Series(TEXTS),
    }[kind]()
    assert_same_bits(TextFeatures().fit_transform(texts), TextFeatures().fit_transform(TEXTS))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "put it into a list"),
        (b"one text", "put it into a list"),
        (None, "not as NoneType"),
        (3, "not as int"),
        ({"a": "b"}, "not as dict"),
        (sp.csr_array([[1.0]]), "not as"),
        (["sun", None], r"Text 1 is missing \(None\)"),
        (["sun", 3], "Text 1 is of type int"),
        (["sun", b"sea"], "Text 1 is of type bytes"),
        ([["sun"]], "Text 0 is of type list"),
        (np.array([["sun"]]), "Text 0 is of type list"),
        (["sun", float("nan")], "Text 1 is of type float"),
    ],
)
def test_bad_texts_get_one_sentence(texts, message):
    for call in (TextFeatures().fit, TextFeatures().fit(TEXTS).transform):
        with pytest.raises(InputError, match=message):
            call(texts)


@pytest.mark.parametrize(
    ("params", "texts", "message"),
    [
        ({}, [], "no text to learn"),
        ({}, ["", "a b c"], "No word is left"),
        ({"stop_words": ["sun"]}, ["sun"], "No word is left"),
        ({"min_df": 3}, ["sun", "sea", "sand"], "lower min_df"),
        ({"min_df": 4}, ["sun", "sea", "sand"], "lower min_df"),
    ],
)
def test_no_word_left(params, texts, message):
    with pytest.raises((InputError, ParameterError), match=message):
        TextFeatures(**params).fit(texts)


@pytest.mark.parametrize(
    "params",
    [
        {"analyzer": "sentence"},
        {"ngram_range": (2, 1)},
        {"ngram_range": (0, 1)},
        {"ngram_range": 2},
        {"ngram_range": (1.0, 2.0)},
        {"strip_accents": "all"},
        {"stop_words": "german"},
        {"stop_words": [1]},
        {"stop_words": 5},
        {"token_pattern": "("},
        {"token_pattern": None},
        {"token_pattern": "(a)(b)"},
        {"min_df": 0},
        {"min_df": True},
        {"min_df": 1.5},
        {"max_df": -0.1},
        {"max_df": "all"},
        {"max_features": 0},
        {"max_features": 2.0},
        {"norm": "l7"},
        {"damping": "cube"},
    ],
)
def test_bad_parameters_get_one_sentence(params):
    (name,) = params
    with pytest.raises(ParameterError, match=name):
        TextFeatures(**params).fit(TEXTS)


def test_min_df_above_max_df():
    with pytest.raises(ParameterError, match="raise max_df or lower min_df"):
        TextFeatures(min_df=3, max_df=2).fit(TEXTS)


def test_scikit_learn_habits():
    features = TextFeatures(min_df=2, stop_words=["a"])
    assert clone(features).get_params() == features.get_params()
    with pytest.raises(NotFittedError):
        features.transform(TEXTS)
    with pytest.raises(NotFittedError):
        features.get_feature_names_out()
    with pytest.raises(NotFittedError):
        features.save("nowhere")
    assert features.fit(TEXTS) is features
    assert features.__sklearn_tags__().input_tags.string


def test_refitting_without_idf_forgets_it():
    features = TextFeatures().fit(TEXTS)
    again = features.set_params(idf=False).fit_transform(TEXTS)
    assert_same_bits(again, TextFeatures(idf=False).fit_transform(TEXTS))


letters = st.text(st.characters(codec="utf-8"), max_size=30)
words = st.lists(st.sampled_from(["sun", "Sea", "sand\0", "été", "x1", "of", "the"]), max_size=8)
texts = st.lists(st.one_of(letters, words.map(" ".join)), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    train=texts,
    new=texts,
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    longest=st.integers(1, 3),
    idf=st.booleans(),
    smooth=st.booleans(),
    stop_words=st.sampled_from([None, "english", ("the", "sun"), frozenset({"sea"})]),
    damping=st.sampled_from([None, "sqrt", "log"]),
)
def test_stored_features_give_the_same_bits(
    train, new, analyzer, longest, idf, smooth, stop_words, damping
):
    features = TextFeatures(
        analyzer=analyzer,
        ngram_range=(1, longest),
        idf=idf,
        smooth_idf=smooth,
        stop_words=stop_words,
        damping=damping,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stop words are of no use with characters
        try:
            features.fit(train)
        except InputError:
            return
        again = stored(features)
        assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
        for some in (train, new):
            assert_same_bits(again.transform(some), features.transform(some))
        assert_same_bits(stored(again).transform(new), features.transform(new))


def test_stored_numpy_parameters():
    features = TextFeatures(min_df=np.int64(2), max_df=np.float64(0.9), idf=np.bool_(True))
    assert_same_bits(stored(features.fit(TEXTS)).transform(NEW), features.transform(NEW))


def test_a_function_as_analyzer_works_but_is_not_stored():
    features = TextFeatures(analyzer=str.split).fit(["a b", "b c"])
    assert features.vocabulary_ == ["a", "b", "c"]
    with pytest.raises(ModelError, match="cannot be stored"):
        features.to_state()


@pytest.mark.parametrize(
    "change",
    [
        {"vocabulary_": []},
        {"vocabulary_": "abc"},
        {"vocabulary_": [1, 2]},
        {"vocabulary_": ["sun", "sun"]},
        {"vocabulary_": ["sun"]},
        {"stop_words_": None},
        {"idf_": None},
        {"idf_": np.zeros(2)},
        {"idf_": np.array(["a"])},
    ],
)
def test_damaged_state_is_refused(change):
    state = TextFeatures().fit(TEXTS).to_state()
    state["learned"].update(change)
    with pytest.raises(ModelError, match="damaged"):
        TextFeatures.from_state(state)


@pytest.mark.parametrize(
    "change",
    [
        {"analyzer": "sentence"},
        {"token_pattern": "("},
        {"tokenizer": "os.system"},
        {"ngram_range": 3},
        {"min_df": []},
    ],
)
def test_damaged_parameters_are_refused(change):
    state = TextFeatures().fit(TEXTS).to_state()
    state["parameters"].update(change)
    with pytest.raises(ModelError, match=r"damaged|does not know"):
        TextFeatures.from_state(state)


@pytest.mark.parametrize("missing", ["vocabulary_", "stop_words_", "idf_"])
def test_incomplete_state_is_refused(missing):
    state = TextFeatures().fit(TEXTS).to_state()
    del state["learned"][missing]
    with pytest.raises(ModelError, match="damaged"):
        TextFeatures.from_state(state)
