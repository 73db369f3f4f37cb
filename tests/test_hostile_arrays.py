"""Arrays that lie about themselves never reach a kernel, whatever they are passed to."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from longtail import KNN, DiSMEC, LabelPowerset, PairRanker, ranked
from longtail._sparse import as_csr
from longtail.data import Dataset
from longtail.decisions import held_out_scores
from longtail.errors import InputError
from longtail.labels import cooccurrence_graph
from longtail.metrics import evaluate
from longtail.search import linear_topk
from longtail.solvers import fit_linear
from longtail.testing.problem import small_problem
from tests.instances import instances

FORMS = ("csr", "csc", "coo", "bsr")


def _index_too_large(matrix):
    matrix.indices[0] = matrix.shape[1 - (matrix.format == "csc")]


def _index_far_away(matrix):
    matrix.indices[-1] = 10**8


def _index_negative(matrix):
    matrix.indices[0] = -1


def _offsets_negative(matrix):
    matrix.indptr[1] = -5


def _offsets_fall(matrix):
    matrix.indptr[1] = matrix.indptr[2] + 1


def _offsets_beyond(matrix):
    matrix.indptr[-1] = len(matrix.indices) + 1000


def _offsets_begin_late(matrix):
    matrix.indptr[0] = 1


def _too_few_offsets(matrix):
    matrix.indptr = matrix.indptr[:-3]


def _too_few_values(matrix):
    matrix.data = matrix.data[:-1]


def _no_array(matrix):
    matrix.indices = matrix.indices.tolist()


def _fractions(matrix):
    matrix.indices = matrix.indices.astype(float)


def _values_in_a_list(matrix):
    matrix.data = matrix.data.tolist()


def _values_in_a_column(matrix):
    matrix.data = matrix.data[..., None]


def _words(matrix):
    matrix.data = matrix.data.astype("S4")


def _masked_values(matrix):
    matrix.data = np.ma.masked_array(matrix.data, mask=matrix.data > 1)


def _masked_indices(matrix):
    matrix.indices = np.ma.masked_array(matrix.indices, mask=False)


LIES = [
    _index_too_large, _index_far_away, _index_negative, _offsets_negative, _offsets_fall,
    _offsets_beyond, _offsets_begin_late, _too_few_offsets, _too_few_values, _no_array, _fractions,
    _values_in_a_list, _values_in_a_column, _words, _masked_values, _masked_indices,
]  # fmt: skip
lies = pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__.strip("_"))


def lying(matrix, lie):
    """The matrix with one of its arrays changed behind scipy's back."""
    changed = sp.csr_array(matrix, dtype=float, copy=True)
    _ = changed.has_canonical_format  # it remembers this, and must not be believed
    lie(changed)
    return changed


@lies
def test_no_matrix_gets_by(lie):
    with pytest.raises(InputError, match=r"^[A-Z].*\.$"):
        as_csr(lying(np.eye(9) + 1, lie))


@pytest.mark.parametrize("form", ["csc", "bsr"])
@lies
def test_other_forms_are_looked_at_before_they_are_converted(lie, form):
    matrix = sp.csr_array(np.eye(8) + 1).asformat(form)
    lie(matrix)
    with pytest.raises(InputError, match=r"^[A-Z].*\.$"):
        as_csr(matrix)


@pytest.mark.parametrize("size", [(5, 1), (1, 3), (0, 0)])
def test_blocks_that_leave_something_over_are_refused(size):
    """scipy would leave the offsets of the last rows as it found them in memory."""
    matrix = sp.bsr_array(np.eye(8))
    rows = 8 // max(size[0], 1)
    matrix.data, matrix.indices = np.ones((rows, *size)), np.zeros(rows, dtype=np.int32)
    matrix.indptr = np.arange(rows + 1, dtype=np.int32)
    with pytest.raises(InputError, match=r"cannot have blocks of shape"):
        as_csr(matrix)


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_one_row_with_one_dimension_is_looked_at_too(form):
    X, Y = small_problem(DiSMEC())
    model = DiSMEC().fit(X, Y)
    row = sp.csr_array(X[0]).asformat(form)
    assert as_csr(row).toarray().tolist() == [X[0].tolist()]
    assert str(model.explain(row)) == str(model.explain(X[0]))
    places = row.indices if form == "csr" else row.coords[0]
    for bad in (10, 10**8, -1):
        places[0] = bad
        for ask in (as_csr, model.explain, lambda x: evaluate(Y, Y_score=x)):
            with pytest.raises(InputError, match=r"not in its 10|not among its 10"):
                ask(row)


@pytest.mark.parametrize("part", ["data", "coords"])
def test_lists_of_places_are_arrays_of_numbers(part):
    matrix = sp.coo_array(np.eye(8))
    given = getattr(matrix, part)
    setattr(matrix, part, given.tolist() if part == "data" else (given[0], given[1].tolist()))
    with pytest.raises(InputError, match="array"):
        as_csr(matrix)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["float16", ">f8", "object"])
def test_values_of_types_that_scipy_has_not_are_converted(form, kind):
    matrix = sp.csr_array(np.eye(8) + 1).asformat(form)
    matrix.data = matrix.data.astype(kind)
    assert as_csr(matrix).toarray().tolist() == (np.eye(8) + 1).tolist()
    assert matrix.data.dtype == kind


@pytest.mark.parametrize(("axis", "place"), [(0, 9), (1, 9), (0, -1), (1, 10**8)])
def test_so_are_lists_of_places(axis, place):
    matrix = sp.coo_array(np.eye(8))
    matrix.coords[axis][3] = place
    with pytest.raises(InputError, match="not in its 8"):
        as_csr(matrix)


def test_what_lies_behind_the_last_entry_is_no_entry():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices = np.append(matrix.indices, np.int32(99))
    matrix.data = np.append(matrix.data, np.nan)
    assert as_csr(matrix).toarray().tolist() == np.eye(3).tolist()
    assert len(as_csr(matrix).data) == 3


def test_rows_that_were_shuffled_since_are_sorted_and_the_original_stays():
    matrix = sp.csr_array(np.array([[1.0, 2.0, 3.0]]))
    assert matrix.has_canonical_format
    matrix.indices[:] = [2, 0, 0]
    assert as_csr(matrix).toarray().tolist() == [[5.0, 0.0, 1.0]]
    assert matrix.indices.tolist() == [2, 0, 0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.int32, np.int64, ">i4"])
def test_honest_ones_are_as_they_were(form, kind):
    dense = np.arange(48.0).reshape(6, 8) % 5
    matrix = sp.csr_array(dense).asformat(form)
    if form != "coo":
        matrix.indices = matrix.indices.astype(kind)
    assert as_csr(matrix).toarray().tolist() == dense.tolist()


@pytest.mark.parametrize("classifier", instances(), ids=lambda c: c.method)
def test_no_method_is_given_one(classifier):
    X, Y = small_problem(classifier)
    one_class = isinstance(classifier, PairRanker)
    model = clone(classifier).fit(X, Y.argmax(axis=1) if one_class else Y)
    for lie in (_index_too_large, _index_far_away, _index_negative, _offsets_negative):
        bad = lying(X, lie)
        for ask in (model.predict, model.predict_topk, model.predict_matrix, model.top_labels):
            with pytest.raises(InputError):
                ask(bad)
        row = lying(X[:1], lie) if lie is not _offsets_negative else lying(X[:2], lie)
        with pytest.raises(InputError):
            model.explain(row)
        with pytest.raises(InputError):
            clone(classifier).fit(bad, Y)
        with pytest.raises(InputError):
            clone(classifier).fit(X, lying(Y, lie))
        if hasattr(model, "add_labels"):
            with pytest.raises(InputError):
                model.add_labels(bad, Y, label_names=list("abcdef"))


@lies
def test_nor_is_any_other_function(lie):
    X, Y = small_problem(DiSMEC())
    model = DiSMEC().fit(X, Y)
    bad_X, bad_Y = lying(X, lie), lying(Y, lie)
    for attempt in (
        lambda: Dataset(bad_X, Y),
        lambda: Dataset(X, bad_Y),
        lambda: evaluate(Y, Y_score=lying(model.predict_topk(X, 3), lie)),
        lambda: evaluate(bad_Y, Y_score=model.predict_topk(X, 3)),
        lambda: ranked(bad_X, 3),
        lambda: cooccurrence_graph(bad_Y),
        lambda: fit_linear(bad_X, Y),
        lambda: fit_linear(X, bad_Y),
        lambda: linear_topk(bad_X, model.weights_, 3),
        lambda: linear_topk(sp.csr_array(X), lying(model.weights_, lie), 3),
        lambda: held_out_scores(DiSMEC(), bad_X, Y),
    ):
        with pytest.raises(InputError):
            attempt()


def test_a_data_set_that_is_altered_later_is_looked_at_again():
    X, Y = small_problem(DiSMEC())
    data = Dataset(X, Y)
    data.X.indices[3] = 99
    with pytest.raises(InputError, match="not among its 10 columns"):
        DiSMEC().fit(data)


def test_a_numpy_matrix_is_a_matrix():
    X, Y = small_problem(DiSMEC())
    model = DiSMEC().fit(np.asmatrix(X), Y)
    assert (model.predict(np.asmatrix(X)) == DiSMEC().fit(X, Y).predict(X)).all()


@pytest.mark.parametrize("classifier", [DiSMEC(), LabelPowerset()], ids=lambda c: c.method)
def test_who_predicts_while_others_train_has_the_old_model_or_the_new_one(classifier):
    X, Y = small_problem(classifier)
    few = Y[:, :2]
    fitted = [clone(classifier).fit(X, part) for part in (Y, few)]
    answers = [model.predict_topk(X, 2).toarray().tolist() for model in fitted]
    model, going, wrong = clone(classifier).fit(X, Y), threading.Event(), []

    def predict():
        while not going.is_set():
            try:
                if model.predict_topk(X, 2).toarray().tolist() not in answers:
                    wrong.append("a mixture")
            except Exception as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=predict) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(30):
        model.fit(X, few if turn % 2 == 0 else Y)
    going.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_long_name_does_not_widen_the_others():
    names = [f"label {number}" for number in range(3000)] + ["x" * 60_000]
    for y in ([[name] for name in names], names):
        model = KNN(n_neighbors=1).fit(sp.eye_array(len(names), 3, format="csr"), y)
        assert model.classes_.nbytes < 2**20
        assert set(model.classes_.tolist()) == set(names)


def test_a_name_that_is_a_text_is_refused():
    with pytest.raises(InputError, match="200,000 characters"):
        DiSMEC().fit(np.eye(2), [["a"], ["x" * 200_000]])


@pytest.mark.parametrize("kind", ["float16", "longdouble", ">f8", ">i4", "bool", "object"])
def test_numbers_of_any_type_are_read(kind):
    Y = np.eye(6)[np.arange(12) % 6]
    X = Y + np.arange(12)[:, None] % 3
    wanted = DiSMEC().fit(X, Y).predict_topk(X, 3).toarray()
    if kind != "bool":
        assert as_csr(X.astype(kind)).toarray().tolist() == X.tolist()
        assert (DiSMEC().fit(X.astype(kind), Y).predict_topk(X, 3).toarray() == wanted).all()
    assert (DiSMEC().fit(X, Y.astype(kind)).predict_topk(X, 3).toarray() == wanted).all()
    assert evaluate(Y.astype(kind), Y_score=wanted) == evaluate(Y, Y_score=wanted)


@pytest.mark.parametrize(
    "thing",
    [iter([1]), {}, object(), [[1, 2], [3]], [[10**400]], np.zeros((1, 2, 3)), ["x"]],
    ids=["iterator", "dict", "object", "ragged", "huge", "cube", "words"],
)
def test_what_is_no_matrix_is_refused_in_one_sentence(thing):
    X, Y = small_problem(DiSMEC())
    model = DiSMEC().fit(X, Y)
    for ask in (
        model.predict,
        model.explain,
        lambda x: DiSMEC().fit(x, Y),
        as_csr,
        lambda x: evaluate(Y, Y_score=x),
        lambda x: ranked(x, 1),
    ):
        with pytest.raises(InputError, match=r"^[A-Z].*\.$"):
            ask(thing)


def test_labels_beyond_all_bounds_are_refused():
    with pytest.raises(InputError, match="more than the 2\\^31 - 1 labels allowed"):
        DiSMEC().fit(np.eye(3), sp.csr_array((3, 2**40)))


def test_names_that_no_text_has_are_refused():
    with pytest.raises(InputError, match="surrogate"):
        DiSMEC().fit(np.eye(2), [["a"], ["\ud800"]])
