"""`PairRanker`: what it learns, refuses, explains and keeps."""

from __future__ import annotations

import re
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import longtail
from longtail import Tagger, ranked
from longtail.errors import InputError, LongtailWarning, ModelError, ParameterError
from longtail.features import TextFeatures
from longtail.methods.pairs import (
    SIMILARITY_NAMES,
    ClassProfiles,
    PairRanker,
    TransformedSet,
    similarities,
)
from longtail.methods.pairs import pair_ranker as module
from longtail.methods.pairs._training import scale_of_scores
from longtail.methods.pairs.explanation import word_parts
from tests.methods.pairs._dense import all_features


def documents(n=120, n_classes=8, n_words=60, seed=0, several=False):
    """Counts of words, where each class has words of its own beside those of all."""
    rng = np.random.default_rng(seed)
    Y = np.eye(n_classes, dtype=int)[np.arange(n) % n_classes]
    if several:
        Y |= rng.random(Y.shape) < 0.1
    chances = np.full((n_classes, n_words), 0.03)
    for c in range(n_classes):
        chances[c, rng.choice(n_words, 5, replace=False)] = 0.9
    return sp.csr_array(rng.poisson(np.minimum(Y @ chances, 2)).astype(float)), Y


@pytest.fixture(scope="module")
def one_each():
    X, Y = documents()
    return X, np.array([f"class {c}" for c in Y.argmax(axis=1)])


@pytest.fixture(scope="module")
def fitted(one_each):
    return PairRanker().fit(*one_each)


class TestTraining:
    def test_learns(self, fitted):
        new, labels = documents(400, seed=0)
        y = np.array([f"class {c}" for c in labels.argmax(axis=1)])
        assert (fitted.predict(new[120:]) == y[120:]).mean() > 0.8
        assert fitted.weights_.shape == (10,)
        assert fitted.violation_ <= 1e-7
        assert fitted.gap_ < 1e-9

    def test_c_is_chosen_by_held_out_documents(self, one_each, fitted):
        table = fitted.choice_table()
        assert isinstance(table, pl.DataFrame)
        assert table["C"].to_list() == pytest.approx([10.0**e for e in range(-3, 4)])
        assert fitted.accuracy_.shape == (7, 3)
        totals = (40 * fitted.accuracy_).round().sum(axis=1)  # 120 documents: folds of 40
        best = np.flatnonzero(totals == totals.max())[0]
        assert fitted.Cs_[best] == fitted.C_
        given = PairRanker(C=fitted.C_).fit(*one_each)
        assert given.weights_ == pytest.approx(fitted.weights_, rel=1e-4, abs=1e-6)
        assert given.choice_table().is_empty()

    def test_held_out_accuracy_is_that_of_weights_learned_without_the_fold(self, one_each):
        X, y = one_each
        model = PairRanker(random_state=5).fit(X, y)
        profiles = ClassProfiles.of(X, np.eye(8)[[int(name[-1]) for name in y]])
        pairs = TransformedSet(profiles)
        order = np.random.default_rng(5).permutation(120)
        fold_of = np.empty(120, dtype=int)
        fold_of[order] = np.arange(120) % 3
        from longtail.solvers.streamed import fit_streamed

        _, width = pairs.normalisation()
        stream = pairs.stream(width, fold_of=fold_of)
        fit = fit_streamed(stream, 10, Cs=[model.Cs_[3]], folds=3)
        hits = 0
        for document in np.flatnonzero(fold_of == 1):
            scores = all_features(pairs, document) / width @ fit.weights[0, 1]
            hits += scores.argmax() == profiles.members[[document]].indices[0]
        assert model.accuracy_[3, 1] == pytest.approx(hits / 40)

    @pytest.mark.parametrize("pairs", ["all", "uniform", "adversarial"])
    def test_threads_change_no_bit(self, one_each, pairs):
        one = PairRanker(pairs=pairs, n_pairs=3, n_jobs=1).fit(*one_each)
        two = PairRanker(pairs=pairs, n_pairs=3, n_jobs=2).fit(*one_each)
        assert one.weights_.tobytes() == two.weights_.tobytes()
        assert one.C_ == two.C_
        first, second = (model.predict_topk(one_each[0], 4) for model in (one, two))
        assert first.data.tobytes() == second.data.tobytes()

    def test_samples_of_pairs_come_near_to_all(self, one_each):
        X, y = one_each
        exact = PairRanker(C=1.0, pairs="all").fit(X, y)
        sampled = PairRanker(C=1.0, pairs="uniform", n_pairs=3).fit(X, y)
        hardest = PairRanker(C=1.0, pairs="adversarial", n_pairs=2).fit(X, y)
        assert (exact.pairs_, sampled.pairs_) == ("all", "uniform")
        assert not np.array_equal(exact.weights_, sampled.weights_)
        for model in (sampled, hardest):
            assert (model.predict(X) == exact.predict(X)).mean() > 0.9

    def test_auto_takes_all_pairs_while_they_are_few(self, one_each, monkeypatch):
        assert PairRanker(C=1.0).fit(*one_each).pairs_ == "all"
        monkeypatch.setattr(module, "MOST_PAIRS", 100)
        assert PairRanker(C=1.0).fit(*one_each).pairs_ == "uniform"

    def test_leave_one_out_matters(self, one_each):
        """The literal version separates every training pair by the document's own words."""
        X, y = one_each
        literal = PairRanker(C=1.0, leave_one_out=False).fit(X, y)
        honest = PairRanker(C=1.0).fit(X, y)
        assert literal.objective_ < honest.objective_

    def test_classes_with_one_document_are_left_out_of_training(self, one_each):
        X, y = one_each
        y = y.copy()
        y[:2] = ["lone", "alone"]
        model = PairRanker(C=1.0).fit(X, y)
        assert model.n_left_out_ == 2
        assert model.n_pairs_ == 118 * 9
        assert {"lone", "alone"} <= set(model.classes_)
        assert model.predict_topk(X[:2], 10).nnz == 20

    def test_without_any_pair_the_weights_are_fixed_and_that_is_said(self):
        with pytest.warns(LongtailWarning, match="no pair to learn from"):
            model = PairRanker().fit(np.eye(3), ["a", "b", "c"])
        assert model.pairs_ == "none"
        assert model.weights_.tolist() == [1.0] * 8 + [-1.0] * 2
        assert model.predict(np.eye(3)).tolist() == ["a", "b", "c"]

    def test_one_class_is_always_predicted(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = PairRanker().fit([[1, 0], [0, 1]], ["a", "a"])
        assert model.predict([[0, 5], [0, 0]]).tolist() == ["a", "a"]
        assert "runner-up none" in str(model.explain([[1, 0]]))

    def test_two_documents(self):
        model = PairRanker().fit([[1, 0, 0], [1, 1, 0], [0, 0, 1]], ["a", "a", "b"])
        assert model.predict([[1, 0, 0], [0, 0, 1]]).tolist() == ["a", "b"]


class TestInput:
    def test_documents_without_known_words(self, one_each):
        X, y = one_each
        X = X.tolil()
        X[:3] = 0
        X[:, 59] = 0
        model = PairRanker(C=1.0).fit(X.tocsr(), y)
        unknown = sp.csr_array(([1.0], ([1], [59])), shape=(2, 60))
        top = model.predict_topk(unknown, 3)
        assert np.isfinite(top.data).all()
        labels, scores = ranked(top, 3)
        assert labels.tolist() == [[0, 1, 2]] * 2
        assert len(np.unique(scores)) == 1
        as_sets = PairRanker(C=1.0).fit(X.tocsr(), [[name] for name in y])
        assert as_sets.predict(unknown) == [("class 0",)] * 2
        some = PairRanker(C=1.0).fit(X.tocsr(), [[name] for name in y[:-1]] + [[]])
        assert some.predict(unknown) == [(), ()]

    def test_fractions_are_refused_with_the_remedy(self, one_each):
        X, y = one_each
        with pytest.raises(InputError, match=r"term counts.*0\.5.*TextFeatures.*term_weights"):
            PairRanker().fit(X * 0.5, y)
        model = PairRanker(C=1.0).fit(X, y)
        with pytest.raises(InputError, match="term counts"):
            model.predict(X * 0.5)

    @pytest.mark.parametrize("term_weights", [False, True])
    def test_negative_values_are_refused(self, one_each, term_weights):
        X, y = one_each
        with pytest.raises(InputError, match=r"holds -1.*embeddings") as caught:
            PairRanker(term_weights=term_weights).fit(-X, y)
        assert "\n" not in str(caught.value)

    def test_term_weights_are_counts_in_small_units(self, one_each):
        X, y = one_each
        plain = PairRanker(C=1.0).fit(X, y)
        whole = PairRanker(C=1.0, term_weights=True).fit(X, y)
        assert whole.unit_ == 1.0
        assert np.array_equal(plain.weights_, whole.weights_)
        halves = PairRanker(C=1.0, term_weights=True).fit(X * 0.5, y)
        assert halves.unit_ == 2.0**-11
        assert (halves.predict(X * 0.5) == plain.predict(X)).mean() > 0.95
        tiny = sp.csr_array(([1e-9], ([0], [0])), shape=(1, 60))
        assert np.isfinite(halves.predict_topk(tiny, 3).data).all()

    @pytest.mark.parametrize(
        ("settings", "cause"),
        [
            ({"C": 0.0}, "C must be"),
            ({"C": "1"}, "C must be"),
            ({"folds": 1}, "folds must be"),
            ({"pairs": "some"}, "pairs must be 'auto', 'all'"),
            ({"n_pairs": 0}, "n_pairs must be"),
            ({"leave_one_out": None}, "leave_one_out must be"),
            ({"term_weights": 1}, "term_weights must be"),
            ({"random_state": -1}, "random_state must"),
            ({"n_jobs": 0}, "n_jobs must"),
        ],
    )
    def test_odd_parameters_are_refused(self, one_each, settings, cause):
        with pytest.raises(ParameterError, match=cause):
            PairRanker(**settings).fit(*one_each)


class TestPrediction:
    def test_scores_are_weights_times_normalised_features(self, one_each, fitted):
        X, _ = one_each
        profiles = ClassProfiles.from_arrays(fitted.profiles_)
        found = similarities(profiles, X[:20])
        scores = np.tile((found.absent - fitted.lowest_) / fitted.range_ @ fitted.weights_, (20, 8))
        rows = np.repeat(np.arange(20), np.diff(found.indptr))
        normalised = (found.values - fitted.lowest_) / fitted.range_
        scores[rows, found.classes] = normalised @ fitted.weights_
        assert fitted.predict_topk(X[:20], 8).toarray() == pytest.approx(scores)
        assert fitted.predict(X[:20]).tolist() == fitted.classes_[scores.argmax(axis=1)].tolist()

    def test_labels_within_the_margin_of_the_best_are_predicted(self):
        X, Y = documents(200, several=True, seed=3)
        model = PairRanker(C=1.0).fit(X, Y)
        assert model.margin_ > 0
        scores = model.predict_topk(X, 8).toarray()
        near = scores >= scores.max(axis=1, keepdims=True) - model.margin_
        met = (X @ sp.csr_array(ClassProfiles.from_arrays(model.profiles_).index)).toarray() > 0
        assert np.array_equal(model.predict(X), (near & met).astype(int))
        assert ((model.predict(X) * Y).sum() / Y.sum()) > 0.6

    def test_blocks_of_rows_change_nothing(self, monkeypatch):
        monkeypatch.setattr(module, "BLOCK_ROWS", 3)
        X, Y = documents(200, several=True, seed=3)
        model = PairRanker(C=1.0).fit(X, Y)
        few = model.predict(X)
        monkeypatch.undo()
        assert np.array_equal(few, model.predict(X))

    def test_the_margin_is_the_best_for_f1_under_leave_one_out(self):
        X, Y = documents(60, several=True, seed=4)
        model = PairRanker(C=1.0).fit(X, Y)
        pairs = TransformedSet(ClassProfiles.of(X, Y))
        weights = model.weights_ / model.range_
        assert model.margin_ == scale_of_scores(pairs, weights, several=True, seed=0)[0]

        scores = np.array([all_features(pairs, document) @ weights for document in range(60)])
        listed = np.zeros((60, 8), dtype=bool)
        for document in range(60):
            listed[document, pairs.similarities(document, document + 1).classes] = True

        def f1(margin):
            chosen = listed & (scores >= scores.max(axis=1, keepdims=True) - margin - 1e-12)
            hits = (chosen & (Y > 0)).sum(axis=1)
            return np.mean(2 * hits / (chosen.sum(axis=1) + Y.sum(axis=1)))

        best = f1(model.margin_)
        assert all(best >= f1(m) - 1e-9 for m in np.linspace(0, 3 * model.margin_, 40))

    def test_one_label_a_row_needs_no_margin(self):
        X, Y = documents()
        model = PairRanker(C=1.0).fit(X, Y)
        assert model.margin_ == 0.0
        assert (model.predict(X).sum(axis=1) == 1).all()


class TestNewClasses:
    @pytest.fixture
    def model(self, one_each):
        return PairRanker(C=1.0).fit(*one_each)

    @pytest.fixture(scope="class")
    @staticmethod
    def fog():
        """Documents of a class with words of its own."""
        X = np.zeros((3, 60))
        X[:, [0, 7, 9, 30]] = [[2, 1, 1, 3]] * 3
        return X

    def test_new_classes_are_found_without_training(self, model, one_each, fog):
        before = model.predict_topk(one_each[0], 8)
        weights = model.weights_.copy()
        assert model.add_classes(fog, ["fog"] * 3) is model
        assert np.array_equal(weights, model.weights_)
        assert model.predict(fog).tolist() == ["fog"] * 3
        assert model.classes_[-1] == "fog"
        assert model.label_counts_.tolist() == [15] * 8 + [3]
        assert model.n_points_ == 123
        after = model.predict_topk(one_each[0], 9)[:, :8]
        assert after.toarray() == pytest.approx(before.toarray())

    def test_new_classes_are_kept(self, model, fog, tmp_path):
        model.add_classes(fog, ["fog"] * 3).save(tmp_path / "model")
        assert longtail.load(tmp_path / "model").predict(fog).tolist() == ["fog"] * 3

    def test_forms(self, one_each, fog):
        X, y = one_each
        by_name = PairRanker(C=1.0).fit(X, [[name] for name in y])
        by_name.add_labels(fog, [["fog"], ["fog", "mist"], []], progress=False)
        assert by_name.classes_[-2:].tolist() == ["fog", "mist"]
        assert by_name.n_points_ == 122
        numbered = PairRanker(C=1.0).fit(*documents())
        assert numbered.add_classes(fog, np.ones((3, 1), dtype=int)).classes_[-1] == 8
        named = PairRanker(C=1.0).fit(X, y)
        named.add_labels(fog, sp.csr_array(np.ones((3, 1))), label_names=["fog"])
        assert named.classes_[-1] == "fog"

    def test_known_classes_and_misfits_are_refused(self, model, fog):
        for y, options, cause in [
            (["fog", "class 1", "fog"], {}, "label 'class 1' already"),
            (np.ones((3, 1)), {}, "label_names"),
            (["fog"] * 2, {}, "3 rows"),
            ([["fog", "mist"]] * 3, {}, "several new labels"),
            (np.ones((3, 0)), {}, "no new class"),
        ]:
            with pytest.raises(InputError, match=cause):
                model.add_classes(fog, y, **options)
        with pytest.raises(InputError, match="features"):
            model.add_classes(fog[:, :5], ["fog"] * 3)
        assert len(model.classes_) == 8

    def test_classes_can_be_dropped(self, model, one_each):
        before = model.predict_topk(one_each[0], 8).toarray()
        assert model.drop_labels(["class 0", "class 3"]) is model
        after = model.predict_topk(one_each[0], 6).toarray()
        assert after == pytest.approx(before[:, [1, 2, 4, 5, 6, 7]])
        with pytest.raises(InputError, match="every label"):
            model.drop_labels(model.classes_.tolist())
        with pytest.raises(InputError, match="no label 'moon'"):
            model.drop_labels(["moon"])
        with pytest.raises(InputError, match="list of label names"):
            model.drop_labels("class 1")

    def test_a_tagger_passes_them_on(self):
        texts = ["waves and sand", "sand castles", "deep snow", "snow and ice"]
        counts = TextFeatures(sublinear_tf=False, idf=False, norm=None)
        tagger = Tagger(features=counts, classifier=PairRanker(C=1.0))
        tagger.fit(texts, [["sea"], ["sea"], ["winter"], ["winter"]])
        tagger.add_labels(["deep castles"], [["ruin"]])
        assert tagger.predict(["castles deep", "sand", "ice"]) == [("ruin",), ("sea",), ("winter",)]


class TestExplanation:
    def test_it_adds_up(self, one_each, fitted):
        X, _ = one_each
        for row in range(10):
            why = fitted.explain(X[[row]], n=60)
            labels, scores = ranked(fitted.predict_topk(X[[row]], 2), 2)
            assert why.label == fitted.classes_[labels[0, 0]]
            assert why.summary["runner-up"] == fitted.classes_[labels[0, 1]]
            assert why.score == pytest.approx(scores[0, 0])
            assert why.summary["its score"] == pytest.approx(scores[0, 1])
            table = why.table("similarities")
            assert table["contribution to runner-up"].sum() == pytest.approx(scores[0, 1])
            assert table["similarity"].to_list() == list(SIMILARITY_NAMES)
            assert table["difference"].sum() == pytest.approx(scores[0, 0] - scores[0, 1])
            assert table["contribution"].sum() == pytest.approx(why.score)
            assert why.bias + why.parts["contribution"].sum() == pytest.approx(why.score)
            parts = why.parts["value"] * why.parts["weight"]
            assert parts.to_list() == pytest.approx(why.parts["contribution"].to_list())
            for raw, normalised in (
                ("raw", "normalised"), ("raw of runner-up", "normalised of runner-up"),
            ):  # fmt: skip
                scaled = table[normalised].to_numpy() * fitted.range_ + fitted.lowest_
                assert table[raw].to_numpy() == pytest.approx(scaled)

    def test_words_are_shared_words(self, one_each, fitted):
        X, y = one_each
        names = [f"word {t}" for t in range(60)]
        why = fitted.explain(X[[0]], "class 0", n=60, feature_names=names)
        ours = np.unique(X[y == "class 0"].indices)
        theirs = np.unique(X[y == why.summary["runner-up"]].indices)
        shared = set(X[[0]].indices) & (set(ours) | set(theirs))
        words = why.table("words")
        assert set(words["feature"]) == {names[t] for t in shared}
        assert words.columns == ["feature", "contribution", "to the runner-up"]
        both = words.filter(words["contribution"] != 0).select("feature", "contribution")
        assert both.equals(why.parts.select("feature", "contribution"))
        assert len(fitted.explain(X[[0]], n=2).parts) == 2

    def test_word_parts_add_up_to_the_first_eight_features(self, one_each, fitted):
        X, _ = one_each
        profiles = ClassProfiles.from_arrays(fitted.profiles_)
        found = similarities(profiles, X[[1]])
        for place, column in enumerate(found.classes.tolist()):
            parts = word_parts(profiles, X[[1]].indices, column)
            assert parts.sum(axis=0) == pytest.approx(found.values[place, :8])

    def test_the_text_says_what_matters(self, one_each, fitted):
        X, _ = one_each
        text = str(fitted.explain(X[[0]], feature_names=[f"word {t}" for t in range(60)]))
        lines = text.splitlines()
        assert re.match(r"class \d: [+-][\d.]+ = bias [+-][\d.]+, word \d+ [+-]", lines[0])
        assert re.match(r"runner-up class \d, its score [\d.-]+, lead [\d.]+", lines[1])
        assert all(name in text for name in SIMILARITY_NAMES)
        assert "to the runner-up" in text

    def test_a_class_that_shares_nothing(self, fitted):
        why = fitted.explain(np.zeros((1, 60)), "class 3")
        assert why.summary["runner-up"] == "class 0"
        assert len(why.parts) == 0
        assert "words: none" in str(why)


class TestStorage:
    def test_saved_models_predict_the_same(self, fitted, one_each, tmp_path):
        fitted.save(tmp_path / "model")
        loaded = longtail.load(tmp_path / "model")
        here, there = (model.predict_topk(one_each[0], 5) for model in (fitted, loaded))
        assert here.data.tobytes() == there.data.tobytes()
        assert np.array_equal(here.indices, there.indices)
        assert loaded.choice_table().equals(fitted.choice_table())
        assert str(loaded.explain(one_each[0][[0]])) == str(fitted.explain(one_each[0][[0]]))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("weights_", np.zeros(9)),
            ("weights_", np.full(10, np.nan)),
            ("weights_", np.zeros(10, dtype=np.float32)),
            ("lowest_", [0.0] * 10),
            ("range_", np.zeros(10)),
            ("margin_", -1.0),
            ("margin_", float("nan")),
            ("centre_", "0"),
            ("unit_", 0.0),
            ("profiles_", {}),
            ("pairs", "bogus"),
            ("classes_", np.arange(7)),
        ],
    )
    def test_altered_parts_are_refused(self, one_each, tmp_path, name, value):
        model = PairRanker(C=1.0).fit(*one_each)
        setattr(model, name, value)
        if name == "classes_":
            model.label_counts_ = np.zeros(7, dtype=int)
        model.save(tmp_path / "model")
        with pytest.raises(ModelError):
            longtail.load(tmp_path / "model")

    def test_altered_profiles_are_refused(self, one_each, tmp_path):
        model = PairRanker(C=1.0).fit(*one_each)
        profiles = dict(model.profiles_)
        profiles["members"] = sp.csr_array(profiles["members"][:-1])
        model.profiles_ = profiles
        model.save(tmp_path / "model")
        with pytest.raises(ModelError):
            longtail.load(tmp_path / "model")

    def test_interrupted_training_goes_on(self, one_each, tmp_path):
        undisturbed = PairRanker(pairs="adversarial", n_pairs=2).fit(*one_each)
        stops = iter([3, 9, 14])

        class StopError(Exception):
            pass

        for at in stops:
            seen = []

            def stop(what, done, total, seen=seen, at=at):
                seen.append(done)
                if len(seen) == at:
                    raise StopError

            with pytest.raises(StopError):
                PairRanker(pairs="adversarial", n_pairs=2).fit(
                    *one_each, checkpoint=tmp_path / "c", progress=stop
                )
        model = PairRanker(pairs="adversarial", n_pairs=2)
        model.fit(*one_each, checkpoint=tmp_path / "c")
        assert model.weights_.tobytes() == undisturbed.weights_.tobytes()


class TestCommitments:
    def test_one_class_a_row_gives_one_label_whatever_the_form_of_y(self):
        X = np.array([[2, 0, 0], [2, 0, 0], [0, 2, 0], [0, 1, 0], [0, 2, 0], [0, 1, 0]])
        Y = np.eye(3, dtype=int)[[0, 0, 1, 1, 2, 2]]  # two classes with the same documents
        model = PairRanker(C=1.0).fit(X, Y)
        assert model.one_class_
        assert model.predict(np.vstack([X, np.zeros((1, 3))])).sum(axis=1).tolist() == [1] * 7

    def test_sets_are_the_labels_within_the_margin_that_share_a_word(self):
        X, Y = documents(several=True)
        model = PairRanker(C=1.0).fit(X, Y)
        assert not model.one_class_
        predicted = model.predict(X).astype(bool)
        scores = model.predict_topk(X, Y.shape[1]).toarray()
        words = X.toarray() > 0
        shared = words.astype(int) @ (Y.T @ words > 0).astype(int).T > 0
        near = scores >= scores.max(axis=1, keepdims=True) - model.margin_ - 1e-9
        assert (predicted == (near & shared)).mean() > 0.999

    def test_sets_need_no_array_of_all_labels(self):
        import tracemalloc

        n, n_labels = 400, 2000
        X = sp.csr_array(np.ones((n_labels, 1)))
        Y = sp.csr_array(np.eye(n_labels)[:, :n_labels])
        Y = sp.csr_array(sp.vstack([Y, sp.csr_array(np.ones((1, n_labels)))]))
        X = sp.csr_array(sp.vstack([sp.hstack([X, 0 * X]), sp.csr_array([[0.0, 1.0]])]))
        model = PairRanker(C=1.0).fit(X, Y)
        model.predict(X[:2])
        tracemalloc.start()
        found = model.predict(sp.csr_array((n, 2)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.nnz == 0
        assert peak < n * n_labels * 8 / 2

    def test_no_label_at_all_is_refused(self):
        with pytest.raises(InputError, match="No row of Y has a label"):
            PairRanker().fit(np.ones((4, 2)), np.zeros((4, 3), dtype=int))

    def test_labels_without_documents_have_no_reasons(self):
        X, y = np.array([[1, 0], [2, 0], [0, 1], [0, 2]]), [0, 0, 1, 1]
        model = PairRanker(C=1.0).fit(X, np.eye(3, dtype=int)[y])
        with pytest.raises(InputError, match="has no training document"):
            model.explain(X[0], 2)

    def test_new_classes_of_unknown_words_are_told(self):
        X = np.array([[1, 0], [2, 0], [0, 1], [0, 2]])
        model = PairRanker(C=1.0).fit(X, ["a", "a", "b", "b"])
        with pytest.warns(LongtailWarning, match="1 of the new classes, such as 'c'"):
            model.add_classes([[0, 0], [1, 1]], ["c", "d"])

    def test_the_literal_version_chooses_its_c_on_unseen_documents(self, one_each):
        X, y = one_each
        model = PairRanker(leave_one_out=False, folds=2).fit(X, y)
        assert model.accuracy_.min() < 1.0
