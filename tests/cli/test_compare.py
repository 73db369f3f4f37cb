"""`longtail compare`: the same split for all methods, a row for each, whatever becomes of one."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import longtail
from longtail import Tagger
from longtail.cli.compare import compare
from longtail.cli.train import train
from longtail.data import Dataset, read_dataset, save
from longtail.methods.linear import BinaryRelevance, DiSMEC
from longtail.metrics import accuracy, covered_classes, evaluate, maf1
from tests.cli.files import N_LABELS
from tests.conftest import ROOT


def rows_of(out):
    """The lines of the first table by the name of the method."""
    table = out.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert table[0].startswith("method")
    assert set(table[1]) == {"─"}
    return {line.split()[0]: line for line in table[2:]}


@pytest.fixture(scope="module")
def compared(call, files):
    outcome = call(
        "compare", files / "features", "-m", "dismec,br", "--set", "br.C=10", "--json", "-q"
    )
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.json


class TestResults:
    def test_metrics_are_those_of_train_and_evaluate(self, call, files, compared, tmp_path):
        for result, settings in zip(compared["results"], [[], ["--set", "C=10"]], strict=True):
            model = tmp_path / result["name"]
            words = ["train", files / "features", "--to", model, "-m", result["method"], "-q"]
            assert call(*words, *settings).code == 0
            wanted = call("evaluate", model, files / "features", "--json").json["metrics"]
            assert result["metrics"] == pytest.approx(wanted, abs=1e-12)

    def test_everything_is_told(self, files, compared):
        test = read_dataset(files / "features", part="test")
        assert compared["train_points"] == len(read_dataset(files / "features"))
        assert compared["test_points"] == len(test)
        assert compared["labels"] == N_LABELS
        assert compared["features"] == 400
        assert compared["interrupted"] is None
        assert compared["k"] == [1, 3, 5]
        assert [result["name"] for result in compared["results"]] == ["dismec", "br"]
        for result in compared["results"]:
            assert result["failure"] is None
            assert result["train_seconds"] > 0
            assert result["points_per_second"] == pytest.approx(
                len(test) / result["predict_seconds"]
            )
            assert result["bytes"] > 1000
            assert result["n_parameters"] > N_LABELS
            assert result["peak_bytes"] is None or result["peak_bytes"] >= 0
            assert {"P@1", "nDCG@3", "PSP@5", "C@5", "f1_macro", "subset_accuracy"} <= set(
                result["metrics"]
            )
        assert compared["results"][1]["parameters"]["C"] == 10
        best = compared["best"]["P@3"]
        top = max(compared["results"], key=lambda result: result["metrics"]["P@3"])
        assert top["name"] in best

    def test_size_is_that_of_the_model_train_writes(self, call, files, compared, tmp_path):
        call("train", files / "features", "--to", tmp_path / "m", "-m", "dismec", "-q")
        size = sum(file.stat().st_size for file in (tmp_path / "m").iterdir())
        assert compared["results"][0]["bytes"] == pytest.approx(size, rel=0.05)

    def test_the_tables_say_the_same(self, call, files, compared):
        outcome = call("compare", files / "features", "-m", "dismec,br", "--set", "br.C=10")
        assert outcome.code == 0
        rows = rows_of(outcome.out)
        for result in compared["results"]:
            shown = [float(word) for word in rows[result["name"]].split()[1:7]]
            names = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
            assert shown == [round(100 * result["metrics"][name], 2) for name in names]
            for name in ("nDCG@3", "C@5", "f1_macro", "subset_accuracy"):
                assert f"{100 * result['metrics'][name]:.2f}" in outcome.out
        assert re.search(r"^Best: (dismec|br|all equal) at P@", outcome.out, re.M)
        assert "Training br (2 of 2)" in outcome.err

    def test_texts_are_split(self, call, files):
        words = ["compare", files / "train.jsonl", "-m", "dismec", "--json", "-q"]
        usual = call(*words).json
        whole = len(read_dataset(files / "train.jsonl"))
        assert usual["test_points"] == round(0.2 * whole)
        assert usual["train_points"] == whole - usual["test_points"]
        by_number = call(*words, "--test-size", 30, "--random-state", 1).json
        assert by_number["test_points"] == 30
        again = call(*words, "--test-size", 30, "--random-state", 1).json
        assert again["results"][0]["metrics"] == by_number["results"][0]["metrics"]
        other = call(*words, "--test-size", 30, "--random-state", 2).json
        assert other["results"][0]["metrics"] != by_number["results"][0]["metrics"]

    def test_test_data_of_its_own(self, call, files, text_model, tmp_path):
        words = ["compare", files / "train.jsonl", "-m", "dismec", "--json", "-q"]
        found = call(*words, "--test", files / "test.jsonl").json["results"][0]["metrics"]
        wanted = call("evaluate", text_model, files / "test.jsonl", "--json").json["metrics"]
        assert found == pytest.approx(wanted, abs=1e-12)
        lines = (files / "test.jsonl").read_text(encoding="utf-8").splitlines()
        points = [json.loads(line) for line in lines]
        for point in points:
            point["labels"].append("never seen")
        more = tmp_path / "more.jsonl"
        more.write_text("".join(json.dumps(point) + "\n" for point in points))
        outcome = call(*words[:-2], "--test", more)
        assert "1 label is in the test part only and counted as missed." in outcome.out
        unknown = call(*words, "--test", more).json
        assert unknown["unknown_labels"] == 1
        assert unknown["results"][0]["metrics"]["subset_accuracy"] == 0
        assert unknown["results"][0]["metrics"]["P@1"] == wanted["P@1"]

    def test_feature_options(self, call, files):
        words = ["compare", files / "train.jsonl", "-m", "dismec", "--json", "-q"]
        usual, fewer = call(*words).json, call(*words, "--max-features", 50).json
        assert (usual["features"] > 50, fewer["features"]) == (True, 50)

    def test_tail_weight(self, call, files, compared):
        words = ["compare", files / "features", "-m", "dismec,br", "--set", "br.C=10", "-q"]
        found = call(*words, "--tail", 2, "--json").json
        assert found["tail"] == 2
        train_part, test = (
            read_dataset(files / "features"),
            read_dataset(files / "features", part="test"),
        )
        features = longtail.RowScaler().fit(train_part.X)
        model = DiSMEC().fit(features.transform(train_part.X), train_part.Y)
        wanted = evaluate(
            test.Y,
            Y_score=model.predict_topk(features.transform(test.X), 5, tail=2),
            Y_train=train_part.Y,
        )
        metrics = found["results"][0]["metrics"]
        assert {name: metrics[name] for name in wanted} == pytest.approx(wanted.to_dict())
        assert metrics["PSP@5"] != compared["results"][0]["metrics"]["PSP@5"]
        assert metrics["f1_micro"] == compared["results"][0]["metrics"]["f1_micro"]
        assert "tail weight 2" in call(*words, "--tail", 2).out.splitlines()[0]

    def test_ranks_and_constants(self, call, files, compared):
        words = ["compare", files / "features", "-m", "dismec", "-q"]
        assert call(*words, "-k", "2,4", "--json").json["results"][0]["metrics"]["PSP@4"] > 0
        assert "PSP@4" in call(*words, "-k", "2,4").out
        found = call(*words, "--propensity-constants", "Amazon-670K", "--json").json
        assert found["results"][0]["metrics"]["PSP@1"] != compared["results"][0]["metrics"]["PSP@1"]


class TestKindsOfFeatures:
    @pytest.fixture(autouse=True)
    def known(self, monkeypatch):
        method = longtail.methods.Method("counts-only", "tests.counting:CountsOnly")
        found = {"dismec": longtail.methods.registry.methods()["dismec"], "counts-only": method}
        monkeypatch.setattr("longtail.methods.registry.methods", lambda: found)

    def test_every_method_gets_its_own(self, call, files):
        for data in (files / "features", files / "train.jsonl"):
            found = call("compare", data, "-m", "counts-only,dismec", "--json", "-q").json
            assert [result["failure"] for result in found["results"]] == [None, None]

    def test_options_hold_for_all_and_the_method_says_what_it_cannot_use(self, call, files):
        words = ["compare", files / "train.jsonl", "-m", "counts-only,dismec", "--json", "-q"]
        found = call(*words, "--max-features", 50).json
        assert found["features"] == 50
        assert [result["failure"] for result in found["results"]] == [None, None]
        for option in (["--norm", "l2"], ["--idf"], ["--damping", "sqrt"]):
            counts, scaled = call(*words, *option).json["results"]
            assert counts["failure"].startswith("counts-only takes whole numbers")
            assert scaled["failure"] is None

    def test_train_does_the_same(self, call, files, tmp_path):
        words = ["train", files / "train.jsonl", "-m", "counts-only", "-q", "--to", tmp_path / "m"]
        assert call(*words).code == 0
        assert longtail.load(tmp_path / "m").features_.get_params()["idf"] is False
        outcome = call(*words[:-1], tmp_path / "other", "--idf")
        assert outcome.code == 1
        assert outcome.err.endswith(
            "counts-only takes whole numbers; give counts without a norm.\n"
        )
        assert not (tmp_path / "other").exists()


def test_one_class_a_point(call, tmp_path):
    """Accuracy, MaF1 and covered classes of the class that ranks first."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 5, size=200)
    X = np.eye(5)[kinds] + 0.5 * rng.random((200, 5))
    names = np.array(["ant", "bee", "cat", "dog", "elk"])
    save(Dataset(X, [(name,) for name in names[kinds]]), tmp_path / "data.txt")
    words = ["compare", tmp_path / "data.txt", "-m", "dismec,br", "-q"]
    found = call(*words, "--json").json["results"]
    train_part, test = read_dataset(tmp_path / "data.txt").split(test_size=0.2, random_state=0)
    truth = [row[0] for row in test.label_sets()]
    model = Tagger(classifier=DiSMEC()).fit(
        train_part.X, [row[0] for row in train_part.label_sets()]
    )
    guess = model.predict(test.X)
    assert found[0]["metrics"]["accuracy"] == pytest.approx(accuracy(truth, guess))
    assert found[0]["metrics"]["maf1"] == pytest.approx(maf1(truth, guess))
    assert found[0]["metrics"]["covered_classes"] == pytest.approx(covered_classes(truth, guess))
    assert found[0]["metrics"]["accuracy"] == pytest.approx(found[0]["metrics"]["P@1"])
    tailed = call(*words, "--json", "--tail", 5).json["results"]
    assert tailed[0]["metrics"]["maf1"] == found[0]["metrics"]["maf1"]
    shown = call(*words).out
    assert "\nClasses, %\nmethod  accuracy   MaF1  covered\n" in shown


class TestMethods:
    def test_all(self, call, files, monkeypatch):
        known = {name: longtail.methods.registry.methods()[name] for name in ("br", "dismec")}
        monkeypatch.setattr("longtail.methods.registry.methods", lambda: known)
        found = call("compare", files / "features", "-m", "all", "--json", "-q").json
        assert [result["name"] for result in found["results"]] == ["br", "dismec"]

    @pytest.mark.exhaustive
    def test_really_all(self, all_compared):
        """Every method there is has figures, or the reason why not."""
        found, page = all_compared
        assert [result["name"] for result in found["results"]] == list(
            longtail.methods.registry.methods()
        )
        text = page.read_text("utf-8")
        figures = text.partition("<h2>Left out</h2>")[0]
        for result in found["results"]:
            if result["failure"] is None:
                assert 0 <= result["metrics"]["P@1"] <= 1
                assert result["train_seconds"] > 0
                assert result["bytes"] > 0
                assert f'<th scope="row">{result["name"]}</th>' in figures
            else:
                assert result["metrics"] is None
                assert re.match(r"Not tried: it takes about .*, and the limit", result["failure"])
        assert sum(result["failure"] is None for result in found["results"]) > 20

    def test_all_that_fit(self, call, files, monkeypatch):
        """Methods that would need too much are not tried, and their rows say why."""
        known = {name: longtail.methods.registry.methods()[name] for name in ("br", "dismec")}
        monkeypatch.setattr("longtail.methods.registry.methods", lambda: known)
        usual = DiSMEC._estimate
        needed = {"seconds": 700.0, "peak_bytes": 10**6}

        def estimate(self, X, Y):
            return replace(usual(self, X, Y), reason="it is made up", **needed)

        monkeypatch.setattr(DiSMEC, "_estimate", estimate)
        words = ["compare", files / "features", "-q"]
        outcome = call(*words, "-m", "all")
        assert outcome.code == 0
        assert rows_of(outcome.out)["dismec"] == (
            "dismec  Not tried: it takes about 12 minutes, and the limit is 10 minutes: it is made "
            "up."
        )
        assert float(rows_of(outcome.out)["br"].split()[1]) > 50
        assert float(rows_of(call(*words, "-m", "dismec").out)["dismec"].split()[1]) > 50
        refused = call(*words, "-m", "dismec", "--time-limit", 11)
        assert refused.code == 1
        assert "the limit is 11 minutes" in refused.out
        assert "Not tried" not in call(*words, "-m", "all", "--time-limit", 12).out
        needed.update(seconds=1.0, peak_bytes=10**15)
        free = call(*words, "-m", "dismec", "--json").json["results"][0]["failure"]
        assert re.fullmatch(r"Not tried: it needs about 1000000 GB of memory, and .*", free)
        assert "Not tried" not in call(*words, "-m", "dismec", "--memory-limit", 2e6).out

    def test_one_method_under_two_names(self, call, files, tmp_path):
        outcome = call(
            "compare", files / "features", "-m", "dismec, loose=dismec", "--set", "loose.C=0.001",
            "--json", "-q", "--keep", tmp_path / "models", "--n-jobs", 1,
        )  # fmt: skip
        usual, loose = outcome.json["results"]
        assert (loose["name"], loose["method"]) == ("loose", "dismec")
        assert (usual["parameters"]["C"], loose["parameters"]["C"]) == (1, 0.001)
        assert usual["parameters"]["n_jobs"] == 1
        assert loose["metrics"]["P@5"] < usual["metrics"]["P@5"]

    def test_kept_models_are_whole(self, call, files, tmp_path):
        words = [
            "compare",
            files / "features",
            "-m",
            "dismec,br",
            "-q",
            "--keep",
            tmp_path / "kept",
        ]
        found = call(*words, "--json").json
        assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["br", "dismec"]
        for result in found["results"]:
            place = tmp_path / "kept" / result["name"]
            assert sum(file.stat().st_size for file in place.iterdir()) == result["bytes"]
            measured = call("evaluate", place, files / "features", "--json").json
            assert measured["metrics"] == pytest.approx(result["metrics"], abs=1e-12)
            tagger = longtail.load(place)
            assert isinstance(tagger, longtail.Tagger)
            assert tagger.classifier.get_params() == tagger.classifier_.get_params()
            assert tagger.features.get_params() == tagger.features_.get_params()
            label = read_dataset(files / "features").label_sets()[0][0]
            assert tagger.explain(read_dataset(files / "features").X[[0]], label).parts["feature"][
                0
            ]
        assert call(*words).code == 0  # and replaced by the next
        shutil.rmtree(tmp_path / "kept" / "br")
        (tmp_path / "kept" / "br").mkdir()
        (tmp_path / "kept" / "br" / "mine").write_text("mine")
        outcome = call(*words)
        assert outcome.code == 1
        assert "not empty and not a longtail model" in outcome.err

    def test_nothing_is_left_behind(self, call, files, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        assert call("compare", files / "features", "-m", "dismec", "-q").code == 0
        assert list(tmp_path.iterdir()) == []


class TestReport:
    def test_everything_is_on_the_page(self, call, files, tmp_path):
        words = ["compare", files / "features", "--n-jobs", 1, "-m", "dismec,loose=dismec,br,ovo"]
        words += ["--set", "loose.C=0.1", "--report", tmp_path / "a report.html"]
        outcome = call(*words)
        assert outcome.code == 0
        assert f"The report is in {tmp_path / 'a report.html'}.\n" in outcome.err
        page = (tmp_path / "a report.html").read_text("utf-8")
        rows = rows_of(outcome.out)
        for name in ("dismec", "loose", "br", "ovo"):
            cells = re.search(rf'<tr><th scope="row">{name}</th>(.*)</tr>', page)[1]
            shown = re.findall(r"<td[^>]*>([^<]*)</td>", cells)
            assert shown == rows[name].split()[1:]
        headings = re.findall(r"<h2>(.*)</h2>", page)
        assert headings == [
            "Results", "Accuracy against time, size and tail", "What a tail weight would bring",
            "Head, torso and tail", "The data", "Settings", "How it was made",
        ]  # fmt: skip
        assert page.count("<svg ") == 7
        assert "-m dismec,loose=dismec,br,ovo --set loose.C=0.1 --report &#39;" in page
        assert "<td>dismec</td><td>C=0.1</td>" in page
        assert f"longtail {longtail.__version__}, python" in page

    def test_json_stays_json(self, call, files, tmp_path):
        words = ["compare", files / "features", "-m", "dismec", "--json", "-q"]
        found = call(*words, "--report", tmp_path / "out.html")
        assert (tmp_path / "out.html").read_text("utf-8").startswith("<!DOCTYPE html>")
        assert found.json["results"][0]["tail_curve"][0]["tail"] == 0
        assert found.json["results"][0]["milliseconds_per_point"] > 0
        assert call(*words).json["results"][0]["tail_curve"] is None

    def test_an_extra_that_is_not_installed(self, call, files, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "torch", None)
        words = ["compare", files / "features", "-m", "dbpc,dismec", "-q"]
        assert call(*words, "--report", tmp_path / "out.html").code == 0
        page = (tmp_path / "out.html").read_text("utf-8")
        left_out = page.partition("<h2>Left out</h2>")[2].partition("</table>")[0]
        assert "dbpc" in left_out
        assert "pip install &#34;longtail[deep]&#34;" in left_out

    def test_methods_without_a_result(self, call, files, tmp_path):
        """One refuses data with several labels a point, another has nothing to say of itself."""
        words = ["compare", files / "features", "-m", "dismec,msvm", "-q", "--memory-limit", "1e-9"]
        outcome = call(*words, "--report", tmp_path / "out.html")
        assert outcome.code == 1
        page = (tmp_path / "out.html").read_text("utf-8")
        left_out = page.partition("<h2>Left out</h2>")[2].partition("</table>")[0]
        assert re.findall(r'<th scope="row">(\w+)</th>', left_out) == ["dismec", "msvm"]
        assert left_out.count("Not tried: it needs about") == 2


class TestFailures:
    def test_one_method_fails(self, call, files, monkeypatch, tmp_path):
        def fail(*_):
            raise RuntimeError("the sky\nfell down")

        monkeypatch.setattr(BinaryRelevance, "_fit", fail)
        words = ["compare", files / "features", "-m", "br,dismec", "--keep", tmp_path / "kept"]
        outcome = call(*words, "--plot", tmp_path / "plot.png")
        assert outcome.code == 0
        rows = rows_of(outcome.out)
        assert rows["br"] == "br      It stopped with RuntimeError: the sky fell down"
        assert float(rows["dismec"].split()[1]) > 50
        assert [path.name for path in (tmp_path / "kept").iterdir()] == ["dismec"]
        assert (tmp_path / "plot.png").exists()
        found = call(*words, "--json", "-q").json
        assert found["results"][0]["failure"].endswith("the sky fell down")
        assert found["results"][0]["metrics"] is None
        assert found["results"][1]["metrics"]["P@1"] > 0.5
        assert all(names == ["dismec"] for names in found["best"].values())

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_all_methods_fail(self, call, files, monkeypatch, options):
        def fail(*_):
            raise MemoryError

        monkeypatch.setattr(BinaryRelevance, "_fit", fail)
        outcome = call("compare", files / "features", "-m", "br", "-q", *options)
        assert outcome.code == 1
        assert "There is not enough memory to train" in outcome.out

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_interrupted(self, call, files, monkeypatch, options):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(BinaryRelevance, "_fit", interrupt)
        outcome = call("compare", files / "features", "-m", "dismec,br", "-q", *options)
        assert outcome.code == 130
        assert outcome.err == "Interrupted during br: 1 of 2 methods were finished.\n"
        if options:
            assert outcome.json["interrupted"] == "br"
            assert [result["name"] for result in outcome.json["results"]] == ["dismec"]
        else:
            assert list(rows_of(outcome.out)) == ["dismec"]
            assert "Label sets, %" in outcome.out

    def test_interrupted_report(self, call, files, monkeypatch, tmp_path):
        """What was finished is in the report, and it says that there would have been more."""

        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(BinaryRelevance, "_fit", interrupt)
        words = ["compare", files / "features", "-q", "--report", tmp_path / "out.html"]
        outcome = call(*words, "-m", "dismec,br,ova")
        assert outcome.code == 130
        page = (tmp_path / "out.html").read_text("utf-8")
        assert "Interrupted during br: 1 method was through before" in page
        assert '<th scope="row">dismec</th>' in page
        assert '<th scope="row">br</th>' not in page
        assert call(*words, "-m", "br").code == 130
        assert "No method finished." in (tmp_path / "out.html").read_text("utf-8")

    def test_an_interrupted_writer_leaves_the_old_report(self, call, files, monkeypatch, tmp_path):
        (tmp_path / "out.html").write_text("old")
        whole = longtail.store.output_file

        @contextmanager
        def interrupted(path):
            def write(content):
                file.write(content[: len(content) // 2])
                raise KeyboardInterrupt

            with whole(path) as file:
                yield SimpleNamespace(write=write)

        monkeypatch.setattr(longtail.store, "output_file", interrupted)
        words = ["compare", files / "features", "-m", "dismec", "-q"]
        outcome = call(*words, "--report", tmp_path / "out.html")
        assert (outcome.code, outcome.err) == (130, "Interrupted.\n")
        assert "Label sets, %" in outcome.out
        assert (tmp_path / "out.html").read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["out.html"]

    def test_a_model_that_cannot_be_saved(self, call, files, monkeypatch):
        def fail(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("longtail.store.write", fail)
        outcome = call("compare", files / "features", "-m", "dismec", "--json", "-q")
        assert outcome.code == 0
        assert outcome.err.startswith(
            "Warning: dismec could not be saved, so its size is not known"
        )
        assert outcome.json["results"][0]["bytes"] is None
        assert outcome.json["results"][0]["metrics"]["P@1"] > 0.5

    @pytest.mark.parametrize(
        ("words", "parts"),
        [
            (["-m", "magic"], ["no method 'magic'", "br"]),
            (["-m", ","], ["no method to compare"]),
            (["-m", "a=dismec,a=br"], ["Two methods are called 'a'"]),
            (["-m", "../a=br"], ["'../a' cannot be the name"]),
            (["-m", "br", "--set", "C=1"], ["METHOD.NAME=VALUE"]),
            (["-m", "br", "--set", "dismec.C=1"], ["not among the methods compared: br"]),
            (["-m", "br", "--set", "br.D=1"], ["br has no parameter 'D'"]),
            (["-m", "br", "--set", "br.C=-1"], ["C must be a positive"]),
            (["-m", "br", "--tail", "-1"], ["must be zero or a positive"]),
            (["-m", "br", "--plot", "plot.xyz"], ["plot.xyz", "png"]),
            (["-m", "br", "--report", "out.pdf"], ["out.pdf", "html"]),
            (["-m", "br", "--time-limit", "0"], ["--time-limit must be a positive"]),
            (["-m", "all", "--memory-limit", "-1"], ["--memory-limit must be a positive"]),
            (["-m", "br", "--test", "DATA", "--test-size", "0.5"], ["give one"]),
            (["-m", "br", "--test", "nowhere"], ["nowhere: there is no such file; check the path"]),
            (["-m", "br", "--test", "TEXTS"], ["features, but the test part has only texts"]),
            (["-m", "br", "--ngram-range", "1,2"], ["--ngram-range is for texts", "leave it out"]),
            (["-m", "br", "--norm", "l7"], ["--norm must be 'l2'"]),
            (["-m", "br", "--test-size", "7.5"], ["--test-size is a share"]),
            (["-m", "br", "--propensity-constants", "X"], ["No propensity constants"]),
        ],
        ids=lambda value: " ".join(value),
    )
    def test_refused(self, call, files, tmp_path, monkeypatch, words, parts):
        monkeypatch.chdir(tmp_path)
        places = {"DATA": files / "features", "TEXTS": files / "test.jsonl"}
        outcome = call(
            "compare", files / "features", "-q", *(places.get(word, word) for word in words)
        )
        assert outcome.code == 1
        assert outcome.out == ""
        assert len(outcome.err.splitlines()) == 1
        for part in parts:
            assert part in outcome.err
        assert list(tmp_path.iterdir()) == []

    def test_methods_must_be_named(self, call, files):
        assert call("compare", files / "features").code == 2


def test_feature_and_reading_options_are_those_of_train():
    ours, theirs = (inspect.signature(each).parameters for each in (compare, train))
    shared = list(theirs)[list(theirs).index("analyzer") :]
    assert [name for name in ours if name in shared] == shared
    for name in shared:
        assert ours[name].default == theirs[name].default


PAGE = ROOT / "docs" / "comparing.md"


def test_the_page_names_only_options_that_exist(call):
    text = PAGE.read_text("utf-8")
    there = {
        command: set(re.findall(r"--[a-z][a-z-]+", call(command, "--help").out))
        for command in ("compare", "reproduce")
    }
    lines = re.findall(r"^\$ longtail (compare|reproduce)(.*)$", text, re.M)
    assert len(lines) == 8
    for command, line in lines:
        assert set(re.findall(r"--[a-z][a-z-]+", line)) <= there[command]
    assert set(re.findall(r"`(--[a-z][a-z-]+)", text)) <= there["compare"] | there["reproduce"]
