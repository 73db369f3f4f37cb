"""ProXMLCV: its folds, its path, its choice; and that it is a ProXML at the strength it chose."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import longtail
from longtail.data import make_longtail
from longtail.data.split import fold_of_rows
from longtail.errors import CheckpointError, InputError, ModelError, ParameterError
from longtail.features import RowScaler
from longtail.labels import propensities
from longtail.methods.linear import ProXML, ProXMLCV
from longtail.methods.linear import proxml_cv as module
from longtail.methods.linear._strength_path import chosen, fell_behind
from longtail.metrics import evaluate, scorer
from longtail.solvers import fit_linear

STRENGTHS = (1.5, 0.6, 0.2)

of_one_exponent = partial(ProXMLCV, exponents=(0,))


@pytest.fixture(scope="module")
def data():
    made = make_longtail(160, 120, 25, labels_per_sample=3, random_state=0)
    return RowScaler().fit_transform(made.X), made.Y


@pytest.fixture(scope="module")
def fitted(data):
    return of_one_exponent(strengths=STRENGTHS, folds=3, patience=None).fit(*data)


def same_weights(first, second):
    one, other = first.weights_, second.weights_
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and one.data.tobytes() == other.data.tobytes()
    )


class TestFolds:
    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 10_000), st.integers(2, 4), st.floats(0.05, 0.6))
    def test_no_label_loses_its_last_training_row(self, seed, folds, density):
        rng = np.random.default_rng(seed)
        Y = sp.csr_array((rng.random((30, 8)) < density).astype(np.float32))
        counts = np.asarray(Y.sum(axis=0)).ravel()
        try:
            fold_of = fold_of_rows(Y, folds, seed)
        except InputError:
            return
        assert set(fold_of.tolist()) <= {-1, *range(folds)}
        for fold in range(folds):
            assert (fold_of == fold).any()
            left = np.asarray(Y[fold_of != fold].sum(axis=0)).ravel()
            assert (left[counts > 0] > 0).all()
        # a row stays in training only if some fold cannot spare it
        for row in np.flatnonzero(fold_of < 0):
            labels = Y[[row]].indices
            for fold in range(folds):
                outside = np.asarray(Y[fold_of != fold].sum(axis=0)).ravel()
                assert (outside[labels] < 2).any()
        assert np.array_equal(fold_of, fold_of_rows(Y, folds, seed))

    def test_frequent_labels_make_equal_folds(self):
        Y = sp.csr_array(np.ones((31, 2), dtype=np.float32))
        sizes = np.bincount(fold_of_rows(Y, 3, 0))
        assert sorted(sizes.tolist()) == [10, 10, 11]

    def test_rows_without_labels_are_held_out_too(self):
        assert (fold_of_rows(sp.csr_array((10, 2), dtype=np.float32), 2, 0) >= 0).all()

    def test_data_that_cannot_be_cut(self):
        with pytest.raises(InputError, match="n_samples=2"):
            fold_of_rows(sp.csr_array(np.ones((2, 1))), 3, 0)
        with pytest.raises(InputError, match=r"Only 0 of 4 rows .* settings of your own"):
            fold_of_rows(sp.csr_array(np.eye(4)), 2, 0)


class TestChoice:
    def test_the_model_is_proxml_at_the_strength_that_did_best(self, data, fitted):
        assert isinstance(fitted, ProXML)
        means = fitted.cv_results_["mean_score"]
        assert fitted.strength_ == STRENGTHS[int(np.argmax(means))]
        assert fitted.strength == fitted.strength_
        alone = ProXML(strength=fitted.strength_).fit(*data)
        assert same_weights(fitted, alone)
        assert np.array_equal(fitted.violation_, alone.violation_, equal_nan=True)
        assert np.array_equal(
            fitted.predict_topk(data[0], 5).data, alone.predict_topk(data[0], 5).data
        )

    def test_results_are_those_of_models_trained_one_by_one(self, data):
        """Warm starts change the work, not the outcome."""
        X, Y = data
        model = of_one_exponent(
            strengths=STRENGTHS, folds=2, tol=1e-4, scoring="PSP@3", patience=None
        ).fit(X, Y)
        chances = propensities(Y)
        fold_of = fold_of_rows(Y, 2, 0)
        scores, nonzeros = np.empty((2, 3)), np.empty((2, 3))
        for fold in range(2):
            train, test = fold_of != fold, fold_of == fold
            for number, strength in enumerate(STRENGTHS):
                alone = ProXML(strength=strength, tol=1e-4).fit(X[train], Y[train])
                found = evaluate(
                    Y[test], Y_score=alone.predict_topk(X[test], 5), propensities=chances
                )
                scores[fold, number] = found["PSP@3"]
                nonzeros[fold, number] = alone.weights_.nnz
        results = model.cv_results_
        assert results["strength"].tolist() == list(STRENGTHS)
        assert results["mean_score"] == pytest.approx(scores.mean(axis=0), abs=0.01)
        assert results["std_score"] == pytest.approx(scores.std(axis=0), abs=0.01)
        assert results["nonzeros"] == pytest.approx(nonzeros.mean(axis=0), rel=0.02)
        assert np.array_equal(results["mean_score"], results["mean_PSP@3"])
        assert np.array_equal(
            results["mean_score"], (results["fold0_score"] + results["fold1_score"]) / 2
        )
        assert (results["seconds"] >= 0).all()

    def test_each_step_starts_from_the_one_before(self, data, monkeypatch):
        seen = []

        def watched(X, Y, **options):
            fit = fit_linear(X, Y, **options)
            seen.append((options["strength"], options["warm_start"], fit.weights))
            return fit

        monkeypatch.setattr(module, "fit_linear", watched)
        model = of_one_exponent(strengths=[0.2, 1.5, 0.6], folds=2, patience=None).fit(*data)
        assert [strength for strength, _, _ in seen] == [1.5, 1.5, 0.6, 0.6, 0.2, 0.2]
        for path in (seen[0::2], seen[1::2]):
            assert path[0][1] is None
            assert path[1][1] is path[0][2]
            assert path[2][1] is path[1][2]
        assert model.cv_results_["strength"].tolist() == [1.5, 0.6, 0.2]

    def test_rules(self):
        results = {
            "strength": np.array([4.0, 2.0, 1.0, 0.5]),
            "mean_score": np.array([0.5, 0.79, 0.8, 0.8]),
            "fold0_score": np.array([0.5, 0.79, 0.82, 0.8]),
            "fold1_score": np.array([0.5, 0.79, 0.78, 0.8]),
        }
        assert chosen(results, 2, "best") == 2  # the stronger of equals
        # its standard error is 0.02, so the second will do
        assert chosen(results, 2, "one_standard_error") == 1

    def test_patience(self):
        def tried(*steps):
            return [[{"score": score} for score in folds] for folds in steps]

        best = (0.8, 0.84)  # a standard error of 0.02
        assert not fell_behind(tried(best), 1)
        assert not fell_behind(tried(best, (0.81, 0.81)), 1)
        assert fell_behind(tried(best, (0.79, 0.79)), 1)
        assert not fell_behind(tried(best, (0.79, 0.79)), 2)
        assert fell_behind(tried(best, (0.79, 0.79), (0.5, 0.5)), 2)
        assert not fell_behind(tried(best, (0.79, 0.79), (0.81, 0.81)), 2)
        assert not fell_behind(tried((0.1, 0.1), (0.2, 0.2), (0.3, 0.3)), 1)

    def test_weaker_strengths_are_left_out_once_scores_fall(self, data):
        X, Y = data
        scores = {1.6: 0.5, 0.8: 0.9, 0.4: 0.6, 0.2: 0.7, 0.1: 1.0}

        def scoring(estimator, X, Y):
            return scores[estimator.strength]

        seen = []
        options = {"strengths": tuple(scores), "folds": 2, "scoring": scoring}
        model = of_one_exponent(**options).fit(X, Y, progress=lambda *told: seen.append(told[1:]))
        assert model.cv_results_["strength"].tolist() == [1.6, 0.8, 0.4, 0.2]
        assert model.strength_ == 0.8
        assert seen[-1] == (25 * 11, 25 * 11)
        assert of_one_exponent(**options, patience=None).fit(X, Y).strength_ == 0.1
        assert of_one_exponent(**options, patience=1).fit(X, Y).cv_results_[
            "mean_score"
        ].tolist() == [
            0.5,
            0.9,
            0.6,
        ]

    def test_one_standard_error_never_takes_a_weaker_strength(self, data, fitted):
        model = of_one_exponent(strengths=STRENGTHS, rule="one_standard_error", patience=None).fit(
            *data
        )
        assert model.strength_ >= fitted.strength_
        assert np.array_equal(model.cv_results_["mean_score"], fitted.cv_results_["mean_score"])

    def test_a_number_of_strengths_makes_a_grid_for_the_scale_of_the_features(self, data):
        X, _ = data
        ((exponent, grid),) = of_one_exponent(strengths=5)._grids(X)
        assert exponent == 0.0
        assert grid[0] == 2.0
        assert grid[-1] == 0.1
        assert np.allclose(grid[1:] / grid[:-1], 0.05 ** (1 / 4), rtol=0.01)
        ((_, longer),) = of_one_exponent(strengths=5)._grids(X * 10.0)
        assert longer == pytest.approx(10 * grid, rel=1e-6)
        ((_, alone),) = of_one_exponent(strengths=2)._grids(sp.csr_array((3, 3)))
        assert alone.tolist() == [2.0, 0.1]
        # the strength of a pair goes with the length of the rows by itself
        ((_, short),) = ProXMLCV(strengths=5, exponents=(0.2,))._grids(X)
        ((_, long),) = ProXMLCV(strengths=5, exponents=(0.2,))._grids(X * 10.0)
        assert short.tolist() == long.tolist() == grid.tolist()

    def test_the_estimate_counts_every_fit(self, data):
        few = ProXMLCV(strengths=(1.0, 0.3), exponents=(0,), folds=2).estimate(*data)
        many = ProXMLCV(strengths=(1.0, 0.3), exponents=(0, 0.3), folds=2).estimate(*data)
        assert few.reason.startswith("4 times 25 linear problems")
        assert many.reason.startswith("8 times 25 linear problems")
        assert 0 < few.seconds < many.seconds < np.inf
        assert 0 < few.peak_bytes <= many.peak_bytes

    def test_every_exponent_has_a_path_of_its_own(self, data, monkeypatch):
        X, Y = data
        seen = []

        def watched(X, Y, **options):
            fit = fit_linear(X, Y, **options)
            seen.append((options["strength"], options["warm_start"] is None))
            return fit

        monkeypatch.setattr(module, "fit_linear", watched)
        model = ProXMLCV(strengths=(1.0, 0.3), exponents=(0, 0.3), folds=2, patience=None)
        model.fit(X, Y)
        assert [is_first for _, is_first in seen] == [True, True, False, False] * 2
        fold_of = fold_of_rows(Y, 2, 0)
        for (strength, _), fold in zip(seen[4:], (0, 1, 0, 1), strict=True):
            counts = np.bincount(Y[fold_of != fold].indices, minlength=Y.shape[1])
            assert (counts > 0).all()
            assert np.allclose(strength / strength[0], (counts / counts[0]) ** 0.3, rtol=1e-6)
        assert model.cv_results_["strength"].tolist() == [1.0, 0.3, 1.0, 0.3]
        assert model.cv_results_["exponent"].tolist() == [0.0, 0.0, 0.3, 0.3]

    def test_a_chosen_pair_is_the_strength_of_the_model(self, data, tmp_path):
        X, Y = data

        def scoring(estimator, X, Y):
            return float(estimator.strength == (0.3, 0.2))

        model = ProXMLCV(strengths=(1.0, 0.3), exponents=(0, 0.2), folds=2, scoring=scoring)
        model.fit(X, Y)
        assert (model.strength_, model.exponent_, model.strength) == (0.3, 0.2, (0.3, 0.2))
        assert model.choice_table()["chosen"].to_list() == [False, False, False, True]
        assert same_weights(model, ProXML(strength=(0.3, 0.2)).fit(X, Y))
        model.save(tmp_path / "model")
        assert longtail.load(tmp_path / "model").strength == (0.3, 0.2)

    def test_the_seed_makes_the_folds(self, data):
        def scores(seed):
            return (
                of_one_exponent(strengths=(1.0,), folds=2, random_state=seed).fit(*data).cv_results_
            )

        assert scores(1)["fold0_score"] == scores(1)["fold0_score"]
        assert any(scores(1)["fold0_score"] != scores(seed)["fold0_score"] for seed in (2, 3, 4))

    def test_rare_labels(self):
        """Labels of one row, of two, and of none."""
        rng = np.random.default_rng(0)
        X = rng.random((40, 8))
        Y = np.zeros((40, 5), dtype=int)
        Y[:, 0] = X[:, 0] > 0.5
        Y[0, 1] = Y[1, 2] = Y[2, 2] = 1
        Y[:, 4] = 1
        model = of_one_exponent(strengths=(1.0, 0.3), folds=3).fit(X, Y)
        assert model.label_counts_.tolist() == [int(Y[:, 0].sum()), 1, 2, 0, 40]
        assert not model.predict(X)[:, 3].any()


class TestScoring:
    @pytest.mark.parametrize(
        "name", ["P@1", "P@2", "nDCG@5", "PSP@2", "PSnDCG@3", "R@5", "C@1", "f1_micro", "jaccard",
                 "neg_hamming_loss", "subset_accuracy"],
    )  # fmt: skip
    @pytest.mark.parametrize("form", ["sparse", "dense", "names"])
    def test_named_metrics_agree_for_all_forms_of_labels(self, data, name, form):
        X, Y = data
        wanted = of_one_exponent(strengths=(1.0,), folds=2, scoring=name).fit(X, Y).cv_results_
        if form == "dense":
            Y = Y.toarray()
        elif form == "names":
            names = np.array([f"{j:02d}" for j in range(Y.shape[1])])
            Y = [tuple(names[row.indices]) for row in (Y[[i]] for i in range(Y.shape[0]))]
        model = of_one_exponent(strengths=(1.0,), folds=2, scoring=name).fit(X, Y)
        assert model.label_kind_ == form
        assert model.cv_results_["mean_score"] == pytest.approx(wanted["mean_score"], abs=1e-12)

    @pytest.mark.parametrize("name", ["accuracy", "maf1", "P@1", "f1_macro", "subset_accuracy"])
    def test_one_class_a_row(self, data, name):
        X, Y = data
        y = np.array(["sea", "sun", "snow"])[Y.indices[Y.indptr[:-1]] % 3]
        model = of_one_exponent(strengths=(1.0, 0.3), folds=2, scoring=name).fit(X, y)
        assert model.label_kind_ == "multiclass"
        assert set(model.predict(X)) <= {"sea", "sun", "snow"}
        fold_of = fold_of_rows(longtail.labels.encode_labels(y).matrix, 2, 0)
        alone = ProXML(strength=1.0).fit(X[fold_of != 0], y[fold_of != 0])
        if name in ("accuracy", "P@1", "subset_accuracy"):
            right = (alone.predict(X[fold_of == 0]) == y[fold_of == 0]).mean()
            assert model.cv_results_["fold0_score"][0] == pytest.approx(right)

    def test_functions_see_labels_in_the_form_they_came_in(self, data):
        X, Y = data
        names = [tuple(f"{j:02d}" for j in Y[[i]].indices) for i in range(Y.shape[0])]
        seen = []

        def own(estimator, X, Y):
            forms = [isinstance(form, list) for form in (Y, estimator.predict(X))]
            seen.append((*forms, estimator.classes_.tolist()))
            return scorer("P@1")(estimator, X, Y)

        model = of_one_exponent(strengths=(1.0, 0.5), folds=2, scoring=own).fit(X, names)
        assert seen == [(True, True, model.classes_.tolist())] * 4
        plain = of_one_exponent(strengths=(1.0, 0.5), folds=2).fit(X, names)
        assert np.array_equal(model.cv_results_["mean_score"], plain.cv_results_["mean_score"])
        dense = []
        of_one_exponent(
            strengths=(1.0,), folds=2, scoring=lambda e, X, Y: dense.append(Y) or 0.0
        ).fit(X, Y.toarray())
        assert all(isinstance(each, np.ndarray) for each in dense)

    def test_propensities_by_name(self, data):
        X, Y = data
        chances = dict(enumerate(propensities(Y).tolist()))
        given = scorer("PSP@3", propensities=list(chances.values()))
        model = of_one_exponent(strengths=(1.0, 0.5), folds=2, scoring=given).fit(X, Y)
        plain = of_one_exponent(strengths=(1.0, 0.5), folds=2, scoring="PSP@3").fit(X, Y)
        assert np.allclose(model.cv_results_["mean_score"], plain.cv_results_["mean_score"])

    def test_nothing_finite(self, data):
        with pytest.raises(InputError, match="scoring gave nan"):
            of_one_exponent(strengths=(1.0,), folds=2, scoring=lambda *_: np.nan).fit(*data)


class TestLongWork:
    def test_one_bar_over_all_fits(self, data):
        seen = []
        of_one_exponent(strengths=(1.0, 0.5), folds=2).fit(
            *data, progress=lambda *told: seen.append(told)
        )
        assert {what for what, _, _ in seen} == {"training"}
        assert {total for _, _, total in seen} == {25 * (2 * 2 + 1)}
        done = [done for _, done, _ in seen]
        assert done == sorted(done)
        assert done[-1] == 25 * 5

    def test_every_fit_has_checkpoints_of_its_own(self, data, tmp_path):
        of_one_exponent(strengths=(1.0, 0.5), folds=2).fit(*data, checkpoint=tmp_path / "c")
        assert sorted(
            str(p.parent.relative_to(tmp_path / "c")) for p in tmp_path.rglob("run.json")
        ) == [
            "final",
            "fold-0/strength-0",
            "fold-0/strength-1",
            "fold-1/strength-0",
            "fold-1/strength-1",
        ]

    @pytest.mark.parametrize("fits", [1, 3, 4])
    def test_goes_on_where_it_stopped(self, data, tmp_path, fits):
        X, Y = data
        undisturbed = of_one_exponent(strengths=(1.0, 0.5), folds=2).fit(X, Y)

        def stop(what, done, total):
            if done >= 25 * fits:
                raise KeyboardInterrupt

        model = of_one_exponent(strengths=(1.0, 0.5), folds=2)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y, checkpoint=tmp_path / "c", progress=stop)
        seen = []
        model.fit(X, Y, checkpoint=tmp_path / "c", progress=lambda _, done, __: seen.append(done))
        assert seen[:fits] == [25 * (number + 1) for number in range(fits)]
        assert same_weights(model, undisturbed)
        model.save(tmp_path / "one")
        undisturbed.save(tmp_path / "other")
        for file in (tmp_path / "one").iterdir():
            assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes()

    def test_other_folds_do_not_take_up_the_checkpoints(self, data, tmp_path):
        of_one_exponent(strengths=(1.0, 0.5), folds=2).fit(*data, checkpoint=tmp_path / "c")
        with pytest.raises(CheckpointError):
            of_one_exponent(strengths=(1.0, 0.5), folds=2, random_state=5).fit(
                *data, checkpoint=tmp_path / "c"
            )


class TestEstimator:
    def test_saved_and_loaded(self, data, fitted, tmp_path):
        fitted.save(tmp_path / "model")
        loaded = longtail.load(tmp_path / "model")
        assert isinstance(loaded, ProXMLCV)
        assert loaded.strength_ == fitted.strength_
        assert loaded.get_params() == fitted.get_params()
        assert set(loaded.cv_results_) == set(fitted.cv_results_) - {"seconds"}
        assert loaded.choice_table().equals(fitted.choice_table())
        assert np.array_equal(loaded.predict_topk(data[0]).data, fitted.predict_topk(data[0]).data)

    @pytest.mark.parametrize(
        ("scoring", "stored"),
        [(scorer("P@3"), "P@3"), (lambda *_: 0.0, None), (None, None), ("R@5", "R@5")],
    )
    def test_functions_are_not_stored(self, data, tmp_path, scoring, stored):
        model = of_one_exponent(strengths=(1.0,), folds=2, scoring=scoring).fit(*data)
        model.save(tmp_path / "model")
        assert longtail.load(tmp_path / "model").scoring == stored
        assert model.scoring is scoring

    @pytest.mark.parametrize(
        "change",
        [
            {"strength_": -1.0},
            {"strength_": "much"},
            {"cv_results_": {}},
            {"cv_results_": [1]},
            {"cv_results_": {"strength": np.ones(2)}},
        ],
        ids=str,
    )
    def test_altered_parts_are_refused(self, fitted, change):
        state = fitted.to_state()
        state["learned"].update(change)
        with pytest.raises(ModelError):
            ProXMLCV.from_state(state)

    def test_table(self, fitted):
        table = fitted.choice_table()
        assert table["strength"].to_list() == list(STRENGTHS)
        assert table.filter("chosen")["strength"].to_list() == [fitted.strength_]
        assert table["nonzeros"].to_list() == sorted(table["nonzeros"].to_list())

    def test_another_fit_forgets_the_first(self, data):
        X, Y = data
        model = of_one_exponent(strengths=(1.0, 0.5), folds=2).fit(X, Y)
        model.set_params(strengths=(2.0,)).fit(X, Y)
        assert model.strength_ == 2.0
        assert len(model.cv_results_["strength"]) == 1
        assert math.isnan(clone(model).strength)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"strengths": 1},
            {"strengths": 0},
            {"strengths": True},
            {"strengths": ()},
            {"strengths": 0.5},
            {"strengths": (1.0, 0.0)},
            {"strengths": (1.0, -1.0)},
            {"strengths": (np.inf,)},
            {"strengths": (np.nan,)},
            {"strengths": "many"},
            {"strengths": [[1.0], [2.0, 3.0]]},
            {"exponents": ()},
            {"exponents": (0.1, 0.1)},
            {"exponents": (-0.1,)},
            {"exponents": (1.5,)},
            {"exponents": 0.2},
            {"folds": 1},
            {"folds": 2.0},
            {"scoring": "magic"},
            {"scoring": "hamming_loss"},
            {"scoring": 5},
            {"scoring": "accuracy"},
            {"rule": "worst"},
            {"patience": 0},
            {"patience": 1.5},
            {"start_from": "magic"},
            {"random_state": -1},
            {"random_state": "x"},
            {"tol": 0.0},
            {"prune": -1.0},
        ],
        ids=str,
    )
    def test_senseless_parameters_are_refused_before_any_work(self, data, parameters):
        def never(*_):
            raise AssertionError

        with pytest.raises(ParameterError) as caught:
            ProXMLCV(**parameters).fit(*data, progress=never)
        assert "\n" not in str(caught.value)

    def test_command_line(self, tmp_path):
        from longtail.methods.registry import find_method, parse_settings

        method = find_method("proxml-cv")
        assert method.estimator is ProXMLCV
        words = ["strengths=2,1,0.5", "folds=4", "scoring=PSP@5", "rule=one_standard_error"]
        assert parse_settings(method, [*words, "random_state=3"]) == {
            "strengths": (2, 1, 0.5),
            "folds": 4,
            "scoring": "PSP@5",
            "rule": "one_standard_error",
            "random_state": 3,
        }
        assert parse_settings(method, ["strengths=4"]) == {"strengths": 4}
