"""`longtail reproduce`: the paper's figures beside ours, on a small stand-in of a benchmark set."""

from __future__ import annotations

import pytest

from longtail.data import Dataset, make_longtail, save
from longtail.methods.linear import DiSMEC
from longtail.papers import FigureNote, Paper, PublishedTable, Trial, find_paper


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory):
    """A folder in which tiny sets have the names of real ones."""
    folder = tmp_path_factory.mktemp("benchmarks")
    for seed, name in enumerate(("bibtex", "mediamill")):
        (folder / name).mkdir()
        data = make_longtail(240, 120, 15, labels_per_sample=2, random_state=seed)
        for part, points in zip(("train", "test"), data.split(random_state=0), strict=True):
            save(Dataset(points.X, points.Y), folder / name / f"{part}.txt.gz")
    return folder


def _grown(n_classes, folder, seed):
    """One class a point, learnable."""
    data = make_longtail(120, 60, n_classes, labels_per_sample=1, random_state=seed)
    first = [[row[0]] for row in data.label_sets() if row]
    rows = [number for number, row in enumerate(data.label_sets()) if row]
    train, test = Dataset(data.X[rows], first).split(random_state=0)
    return train, test, {"accuracy": 0.9}


@pytest.fixture
def grown(monkeypatch):
    """A paper whose trials have several seeds and numbers of classes."""
    trials = tuple(
        Trial(
            f"Made-{n}",
            "made",
            make=lambda folder, seed, n=n: _grown(n, folder, seed),
            seeds=(0, 1, 2),
            made_up=True,
            n_classes=n,
            about="Made up.",
        )
        for n in (4, 8)
    )
    values = {"Made-8": {name: {"accuracy": 0.75} for name in ("Ours", "Theirs", "Unknown")}}
    paper = Paper(
        "grown",
        "A title",
        "a source",
        {"Ours": "dismec", "Theirs": "br", "Unknown": "magic", "Elsewhere": "knn"},
        (PublishedTable("2", "section 1", values, scale=1.0, digits=3),),
        trials,
        also=("maf1",),
        notes=(FigureNote("elsewhere it is 0.8", dataset="Made-8"),),
        counts_parameters=True,
    )
    monkeypatch.setattr("longtail.papers.registry.papers", lambda: {"grown": paper})
    return paper


def test_several_seeds(call, grown, monkeypatch, tmp_path):
    """Without a folder of data: means, deviations, tests over the seeds, a plot."""
    monkeypatch.delenv("LONGTAIL_DATA", raising=False)
    words = ["reproduce", "grown", "-q", "--n-jobs", 1]
    found = call(*words, "--json", "--plot", tmp_path / "curves.svg").json
    assert [trial["dataset"] for trial in found["trials"]] == ["Made-4", "Made-8"]
    for trial in found["trials"]:
        assert trial["seeds"] == [0, 1, 2]
        assert trial["best_possible"] == {"accuracy": pytest.approx(0.9)}
        ours, *_ = trial["rows"]
        assert len(ours["results"]) == 3
        ran = [row["method"] for row in trial["rows"]]
        assert ("Elsewhere" in ran) is (trial["dataset"] == "Made-4")  # which no table has
        tested = {(each["other"], each["metric"]): each for each in trial["differences"]}
        assert ("Theirs", "maf1") in tested
        for each in tested.values():
            assert 0.049 < each["p"] <= 1
            assert each["own"] == "Ours"
    cell = found["trials"][1]["rows"][0]["cells"][0]
    assert (cell["table"], cell["metric"], cell["paper"]) == ("2", "accuracy", 0.75)
    assert cell["ours"] == pytest.approx(sum(cell["values"]) / 3)
    assert "Unknown" not in (tmp_path / "curves.svg").read_text("utf-8")

    shown = call(*words, "--only", "made-8").out
    assert "Mean ± standard deviation over 3 seeds; the sizes are those of the first." in shown
    assert "The best that is possible on average: accuracy 90.00." in shown
    line, _ = [line for line in shown.splitlines() if line.startswith("Table 2 accuracy")]
    wanted = [
        "0.750", f"{cell['ours']:.4f}", "±", f"{cell['deviation']:.4f}",
        f"{cell['difference']:+.4f}",
    ]  # fmt: skip
    assert line.split()[3:] == wanted
    assert " parameters\n" in shown
    assert "Wilcoxon rank sum over 3 seeds (p is 0.05 at least)" in shown
    assert "\n  Theirs  maf1" in shown
    assert "Note on Made-8: elsewhere it is 0.8." in shown
    assert "Left out: Unknown (not built yet)." in shown


def test_fewer_seeds(call, grown):
    words = ["reproduce", "grown", "-q", "--n-jobs", 1, "--only", "made-4", "-m", "dismec,br"]
    two = call(*words, "--seeds", 2, "--json").json["trials"][0]
    assert (two["seeds"], two["differences"]) == ([0, 1], [])
    shown = call(*words, "--seeds", 1).out
    assert "±" not in shown
    assert "Wilcoxon" not in shown
    assert call(*words, "--seeds", 0).code == 2


def test_trials_of_one_folder_go_together(call, grown):
    words = ["reproduce", "grown", "-q", "--n-jobs", 1, "-m", "dismec", "--seeds", 1, "--json"]
    found = call(*words, "--only", "made").json["trials"]
    assert [trial["dataset"] for trial in found] == ["Made-4", "Made-8"]


def test_no_plot_without_results(call, grown, tmp_path):
    words = ["reproduce", "grown", "--only", "made-4", "-m", "magic", "--plot", tmp_path / "a.png"]
    outcome = call(*words)
    assert outcome.code == 0
    assert "No method finished, so there is no plot." in outcome.err
    assert not (tmp_path / "a.png").exists()


def test_figures_stand_side_by_side(call, benchmarks):
    words = ["reproduce", "proxml", "--data", benchmarks, "--only", "bibtex", "-q"]
    found = call(*words, "--methods", "dismec,sleec", "--json").json
    assert found["paper"] == "proxml"
    (trial,) = found["trials"]
    assert (trial["dataset"], trial["test_points"]) == ("Bibtex", 60)
    row, missing = trial["rows"]
    assert (row["method"], row["result"]["method"]) == ("DiSMEC", "dismec")
    published = find_paper("proxml").table("5").values["Bibtex"]["DiSMEC"]
    cells = {(cell["table"], cell["metric"]): cell for cell in row["cells"]}
    assert len(cells) == 15  # 6 of Table 4, 3 of 5, 3 of 6, 3 of coverage
    for metric, figure in published.items():
        cell = cells["5", metric]
        assert cell["paper"] == figure
        assert cell["ours"] == pytest.approx(100 * row["result"]["metrics"][metric])
        assert cell["difference"] == pytest.approx(cell["ours"] - figure)
    assert cells["", "C@5"]["paper"] is None
    assert cells["", "C@5"]["ours"] == pytest.approx(100 * row["result"]["metrics"]["C@5"])
    assert (missing["method"], missing["left_out"]) == ("SLEEC", "not built yet")
    shown = call(*words, "--methods", "DiSMEC,sleec").out
    assert "Bibtex: 180 + 60 points, 15 labels, 120 features" in shown
    cell = cells["5", "P@1"]
    (line,) = [line for line in shown.splitlines() if line.startswith("Table 5 P ")]
    assert line.split()[3:6] == ["64.5", f"{cell['ours']:.2f}", f"{cell['difference']:+.2f}"]
    assert "Left out: SLEEC (not built yet)." in shown


def test_the_papers_own_method_with_a_tail_weight(call, benchmarks):
    words = ["reproduce", "proxml", "--data", benchmarks, "--only", "bibtex", "-m", "proxml", "-q"]
    plain, chosen = call(*words, "--json").json["trials"][0]["rows"]
    assert plain["variant"] == ""
    assert chosen["variant"].startswith("tail weight")
    assert chosen["variant"].endswith("chosen on training data")
    assert plain["result"]["parameters"]["strength"] == chosen["result"]["parameters"]["strength"]
    given = call(*words, "--tail", 3, "--json").json["trials"][0]["rows"][1]
    assert given["variant"] == "tail weight 3.0"
    assert given["result"]["metrics"] != plain["result"]["metrics"]
    assert len(call(*words, "--tail", 0, "--json").json["trials"][0]["rows"]) == 1


def test_slow_methods_wait_to_be_asked(call, benchmarks):
    words = ["reproduce", "proxml", "--data", benchmarks, "--only", "mediamill", "-m", "ccd-l1"]
    (row,) = call(*words, "--json", "-q").json["trials"][0]["rows"]
    assert row["left_out"] == "takes long here; --slow runs it"
    shown = call(*words, "--slow", "-q", "--n-jobs", 1).out
    assert "CCD-L1: trained in" in shown
    assert "* PSnDCG@1, PSP@1 of the paper must be equal, but are 63.6 and 63.9" in shown


def test_settings_chosen_anew(call, benchmarks):
    words = ["reproduce", "proxml", "--data", benchmarks, "--only", "bibtex", "-m", "proxml"]
    (trial,) = call(*words, "--choose", "--tail", 0, "--json", "-q").json["trials"]
    choice = find_paper("proxml").trial("bibtex").choice
    assert [each["value"] for each in trial["candidates"]] == [
        value for _ in choice.features for value in choice.values
    ]
    best = max(trial["candidates"], key=lambda each: each["score"])
    assert trial["parameters"]["ProXML"]["strength"] == best["value"]
    assert trial["features"] == best["features"]
    assert trial["rows"][0]["result"]["parameters"]["strength"] == best["value"]
    shown = call(*words, "--choose", "--tail", 0, "-q").out
    assert shown.count("  strength ") == len(trial["candidates"])


def test_failures_and_interruptions(call, benchmarks, monkeypatch):
    words = ["reproduce", "proxml", "--data", benchmarks, "--only", "bibtex", "-m", "dismec", "-q"]

    def fail(*_):
        raise RuntimeError("no luck")

    monkeypatch.setattr(DiSMEC, "_fit", fail)
    outcome = call(*words)
    assert outcome.code == 0
    assert "Left out: DiSMEC (failed: It stopped with RuntimeError: no luck)." in outcome.out

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DiSMEC, "_fit", interrupt)
    outcome = call(*words, "--json")
    assert outcome.code == 130
    assert outcome.err == "Interrupted: 0 rows were finished.\n"
    assert outcome.json["interrupted"] is True


def test_the_folder_may_come_from_the_environment(call, benchmarks, monkeypatch):
    words = ["reproduce", "proxml", "--only", "bibtex", "-m", "dismec", "-q"]
    monkeypatch.delenv("LONGTAIL_DATA", raising=False)
    outcome = call(*words)
    assert outcome.code == 1
    assert "name their folder by --data or in the environment variable" in outcome.err
    monkeypatch.setenv("LONGTAIL_DATA", str(benchmarks))
    assert call(*words).code == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["magic"], "no paper 'magic'; choose among cbm, dbpc, mrb, proxml"),
        (["proxml", "--only", "magic"], "no data set 'magic'"),
        (["proxml", "--methods", "magic"], "no method 'magic'"),
        (["proxml", "--tail", "-1"], "must be zero or a positive"),
        (["proxml", "--plot", "a.png"], "the same in the trials of proxml; leave it out"),
        (["mrb", "--plot", "a.xyz"], "png, svg, pdf or jpg"),
        (["mrb"], "WordNet-100 is not here: it needs a folder wordnet-hypernyms with its data"),
        (["proxml"], "EURLex-4K is not here: it needs a folder eurlex-4k"),
    ],
)
def test_refused(call, benchmarks, words, part):
    outcome = call("reproduce", *words, "--data", benchmarks)
    assert (outcome.code, outcome.out) == (1, "")
    assert part in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_without_a_paper_all_are_listed(call):
    listed = [each["paper"] for each in call("reproduce", "--json").json]
    assert listed == ["cbm", "dbpc", "mrb", "proxml"]
    assert "\nproxml  Data scarcity, robustness" in call("reproduce").out
