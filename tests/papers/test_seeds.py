"""Trials that are run once for each seed: what is averaged, what is kept, and tests over seeds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev

import pytest
from scipy.stats import mannwhitneyu, ranksums

from longtail.data import make_longtail
from longtail.errors import DataError, ParameterError
from longtail.methods.linear import DiSMEC
from longtail.papers import (
    Cell,
    Paper,
    PublishedTable,
    Reproduced,
    Trial,
    differences,
    least_p,
    place_of,
    prepare_trial,
    read_trial,
    reproduce,
    run_method,
)

SEEDS = (3, 5, 8, 9)
SIZES = {3: 120, 5: 140, 8: 160, 9: 180}


def _data(seed):
    return make_longtail(SIZES[seed], 60, 8, labels_per_sample=2, random_state=seed)


def made(folder, seed):
    train, test = _data(seed).split(random_state=0)
    return train, test, {"P@1": seed / 10}


TRIAL = Trial("Tiny", "tiny", make=made, seeds=SEEDS, made_up=True, about="tiny")
PAPER = Paper(
    key="tiny",
    title="t",
    source="s",
    methods={"Ours": "dismec", "Theirs": "br", "Unknown": "magic"},
    tables=(PublishedTable("1", "here", {"Tiny": {"Ours": {"P@1": 50.0}}}),),
    trials=(TRIAL,),
    also=("P", "subset_accuracy"),
)


@pytest.fixture(scope="module")
def rows():
    methods = ("Ours", "Theirs", "Unknown")
    return list(reproduce(PAPER, "nowhere", methods=methods, n_jobs=1, progress=False))


def test_unless_told_otherwise_the_methods_of_the_tables_are_run(monkeypatch):
    ran = []
    monkeypatch.setattr(
        "longtail.papers.reproducing.run_method",
        lambda prepared, method, **_: iter([ran.append(method)]),
    )
    list(reproduce(PAPER, "nowhere", n_seeds=1))
    assert ran == ["Ours"]


def test_rows_are_means_over_the_seeds(rows):
    ours, theirs, unknown = rows
    assert ours.seeds == theirs.seeds == SEEDS
    assert [result.test_points for result in ours.results] == [n // 4 for n in SIZES.values()]
    for row in (ours, theirs):
        for cell in row.cells:
            values = [100 * result.evaluation[cell.metric] for result in row.results]
            assert cell.values == pytest.approx(values)
            assert cell.ours == pytest.approx(fmean(values))
            assert cell.deviation == pytest.approx(stdev(values))
        for name in ("train_seconds", "predict_seconds"):
            seconds = [getattr(result, name) for result in row.results]
            assert getattr(row.result, name) == pytest.approx(fmean(seconds))
    assert len(set(ours.cells[-1].values)) > 1, "the seeds made the same data"
    assert (ours.cells[0].table, ours.cells[0].paper) == ("1", 50.0)
    assert ours.cells[0].difference == pytest.approx(ours.cells[0].ours - 50)
    assert [cell.metric for cell in theirs.cells] == ["P@1", "P@3", "P@5", "subset_accuracy"]
    assert (unknown.left_out, unknown.result) == ("not built yet", None)
    plain = ours.to_dict()
    assert plain["cells"][0]["values"] == list(ours.cells[0].values)
    assert plain["cells"][0]["deviation"] == ours.cells[0].deviation
    assert [each["metrics"] for each in plain["results"]] == [
        result.evaluation.to_dict() for result in ours.results
    ]
    assert plain["seeds"] == list(SEEDS)


def test_each_seed_is_what_it_would_be_alone(rows):
    for place, seed in enumerate(SEEDS):
        alone = replace(TRIAL, seeds=(seed,))
        (row,) = run_method(prepare_trial(PAPER, alone, "."), "Ours", n_jobs=1, progress=False)
        assert row.results == ()
        assert row.cells[0].deviation is None
        for cell, wanted in zip(row.cells, rows[0].cells, strict=True):
            assert cell.ours == pytest.approx(wanted.values[place])


def test_the_first_so_many_seeds_and_the_best_possible():
    prepared = prepare_trial(PAPER, TRIAL, ".", n_seeds=2)
    assert prepared.seeds == (3, 5)
    assert prepared.best == {"P@1": pytest.approx(0.4)}
    assert [dict(best) for best in prepared.bests] == [{"P@1": 0.3}, {"P@1": 0.5}]
    assert prepare_trial(PAPER, TRIAL, ".", n_seeds=99).seeds == SEEDS
    with pytest.raises(ParameterError, match="at least one seed, not 0"):
        prepare_trial(PAPER, TRIAL, ".", n_seeds=0)
    train, _ = read_trial(TRIAL, ".")
    assert len(train) == 90
    train, _ = read_trial(TRIAL, ".", seed=9)
    assert len(train) == 135


def test_sampled_data_need_their_folder(tmp_path):
    given = []

    def sampled(place, seed):
        given.append((place, seed))
        return made(place, seed)

    trial = replace(TRIAL, make=sampled, made_up=False)
    with pytest.raises(DataError, match="it needs a folder tiny with its data"):
        place_of(trial, tmp_path)
    (tmp_path / "tiny").mkdir()
    prepare_trial(PAPER, trial, tmp_path, n_seeds=2)
    assert given == [(tmp_path / "tiny", 3), (tmp_path / "tiny", 5)]


def test_a_failure_with_one_seed_leaves_no_mean(monkeypatch):
    fit = DiSMEC._fit

    def fail_on_some(self, X, Y, run):
        if X.shape[0] == 105:
            raise RuntimeError("no luck")
        return fit(self, X, Y, run)

    monkeypatch.setattr(DiSMEC, "_fit", fail_on_some)
    (row,) = run_method(prepare_trial(PAPER, TRIAL, "."), "Ours", n_jobs=1, progress=False)
    assert row.left_out == "failed with seed 5: It stopped with RuntimeError: no luck"
    assert row.result is None


def test_tail_weights_over_seeds():
    paper = replace(PAPER, with_tail=("Ours",))
    prepared = prepare_trial(paper, TRIAL, ".", n_seeds=2)
    plain, tailed = run_method(prepared, "Ours", tail=2.0, n_jobs=1, progress=False)
    assert (plain.variant, tailed.variant) == ("", "tail weight 2.0")
    assert len(tailed.results) == 2
    assert tailed.result.bytes == plain.result.bytes
    assert differences(paper, [plain, tailed]) == []


class TestDifferences:
    @staticmethod
    def row(method, values, dataset="Tiny", seeds=None, variant=""):
        cells = tuple(Cell("", metric, None, None, None, given) for metric, given in values.items())
        length = len(next(iter(values.values())))
        return Reproduced(
            dataset, method, variant, None, None, cells, (), seeds or tuple(range(length))
        )

    def test_every_other_method_and_metric_is_tested(self, rows):
        found = differences(PAPER, rows)
        assert [(each.other, each.metric) for each in found] == [
            ("Theirs", metric) for metric in ("P@1", "P@3", "P@5", "subset_accuracy")
        ]
        ours, theirs = ({cell.metric: cell.values for cell in row.cells} for row in rows[:2])
        for each in found:
            assert each.p == ranksums(ours[each.metric], theirs[each.metric]).pvalue
            assert each.own_mean == pytest.approx(fmean(ours[each.metric]))
            assert (each.own, each.n_seeds) == ("Ours", 4)

    def test_what_cannot_be_tested(self):
        ours = self.row("Ours", {"P@1": (1.0, 2.0, 3.0)})
        theirs = self.row("Theirs", {"P@1": (4.0, 5.0, 6.0)})
        assert len(differences(PAPER, [ours, theirs])) == 1
        assert differences(PAPER, [theirs]) == []
        for other in (
            self.row("Theirs", {"P@1": (4.0, 5.0)}),
            self.row("Theirs", {"P@1": (4.0, 5.0, 6.0)}, seeds=(7, 8, 9)),
            self.row("Theirs", {"P@1": (4.0, 5.0, 6.0)}, dataset="Other"),
            self.row("Theirs", {"P@1": (4.0, 5.0, 6.0)}, variant="tail weight 1"),
            self.row("Theirs", {"P@3": (4.0, 5.0, 6.0)}),
            self.row("Theirs", {"P@1": ()}, seeds=(0, 1, 2)),
        ):
            assert differences(PAPER, [ours, other]) == []

    @pytest.mark.parametrize("n", [3, 4])
    def test_no_order_of_values_gives_a_smaller_p(self, n):
        """All orders of 2n values; and the exact test is near the approximation."""
        everything = set(range(2 * n))
        least = min(
            ranksums(part, sorted(everything - set(part))).pvalue
            for part in combinations(everything, n)
        )
        assert least_p(n) == pytest.approx(least)
        exact = mannwhitneyu(range(n), range(n, 2 * n), method="exact").pvalue
        assert least_p(n) < exact < 3 * least_p(n)
