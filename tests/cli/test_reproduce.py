"""`longtail reproduce`: the paper's figures beside ours, on a small stand-in of a benchmark set."""

from __future__ import annotations

import pytest

from longtail.data import Dataset, make_longtail, save
from longtail.one_vs_rest import DiSMEC
from longtail.published import find_paper


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
    shown = call(*words, "--slow", "-q", "--jobs", 1).out
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
        (["magic"], "no paper 'magic'; choose among cbm, proxml"),
        (["proxml", "--only", "magic"], "no data set 'magic'"),
        (["proxml", "--methods", "magic"], "no method 'magic'"),
        (["proxml", "--tail", "-1"], "must be zero or a positive"),
        (["proxml"], "EURLex-4K is not here: it needs a folder eurlex-4k"),
    ],
)
def test_refused(call, benchmarks, words, part):
    outcome = call("reproduce", *words, "--data", benchmarks)
    assert (outcome.code, outcome.out) == (1, "")
    assert part in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_without_a_paper_all_are_listed(call):
    assert [each["paper"] for each in call("reproduce", "--json").json] == ["cbm", "proxml"]
    assert "\nproxml  Data scarcity, robustness" in call("reproduce").out
