"""Help, version, methods and inspection."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import longtail
from longtail.cli import app
from longtail.data import read_dataset
from longtail.labels import algebraic_connectivity, tail_statistics
from longtail.methods.registry import methods

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def test_commands():
    assert COMMANDS == [
        "demo", "inspect", "train", "extend", "predict", "evaluate", "tail", "compare",
        "reproduce", "methods",
    ]  # fmt: skip


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_shows_an_example(call, command):
    outcome = call(*([] if command is None else [command]), "--help")
    assert outcome.code == 0
    assert "Example" in outcome.out
    assert f"longtail {command or 'train'}" in outcome.out


def test_exit_codes_are_documented(call):
    out = " ".join(call("--help").out.split())
    assert "0 done" in out
    assert "1 refused" in out
    assert "2 wrong usage" in out
    assert "130 interrupted" in out


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["methods", "proxml"]])
def test_version_and_help_import_nothing_heavy(words):
    code = (
        f"import sys\nsys.argv = ['longtail', *{words}]\nfrom longtail.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'polars', 'matplotlib', 'joblib', 'igraph',"
        " 'safetensors', 'threadpoolctl', 'torch', 'lightgbm', 'faiss', 'pandas'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    words = [sys.executable, "-m", "longtail", "--version"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout == f"longtail {longtail.__version__}\n"


def test_methods_have_a_line_each(call):
    outcome = call("methods")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    for name, method in methods().items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert method.paper.split()[0] in line
    listed = call("methods", "--json").json
    assert [entry["method"] for entry in listed] == list(methods())
    assert all(entry["paper"] and entry["summary"] for entry in listed)


@pytest.mark.parametrize("name", list(methods()))
def test_parameters_come_from_the_estimator(call, name):
    estimator = methods()[name].estimator
    described = call("methods", name, "--json").json
    signature = inspect.signature(estimator)
    assert [p["name"] for p in described["parameters"]] == list(signature.parameters)
    for parameter in described["parameters"]:
        default = signature.parameters[parameter["name"]].default
        assert parameter["default"] == (list(default) if isinstance(default, tuple) else default)
        assert parameter["about"], parameter  # every parameter is documented
        assert parameter["type"], parameter
    out = call("methods", name).out
    assert all(f"--set {parameter}=" in out for parameter in signature.parameters)


class TestInspect:
    def test_data(self, call, files):
        found = call("inspect", files / "train.jsonl", "--json").json
        data = read_dataset(files / "train.jsonl")
        assert found["points"] == len(data)
        assert found["labels"] == data.n_labels
        assert found["tail"] == tail_statistics(data.Y).to_dict()
        assert found["graph"]["connectivity"] == algebraic_connectivity(data.Y)
        assert {hub["label"] for hub in found["graph"]["hubs"]} <= set(data.classes.tolist())
        shown = call("inspect", files / "train.jsonl").out
        assert f"{len(data):,}" in shown
        assert "Algebraic connectivity" in shown
        assert found["graph"]["hubs"][0]["label"] in shown

    def test_features_and_no_graph(self, call, files):
        found = call("inspect", files / "features", "--json", "--no-graph").json
        assert found["graph"] is None
        assert found["features"] == 400
        assert found["smallest_value"] > 0
        assert "Label graph" not in call("inspect", files / "features", "--no-graph").out
        test = call("inspect", files / "features", "--part", "test", "--json").json
        assert test["points"] != found["points"]

    @pytest.mark.parametrize("suffix", ["png", "svg"])
    def test_plot(self, call, files, tmp_path, suffix):
        path = tmp_path / f"labels.{suffix}"
        outcome = call("inspect", files / "train.jsonl", "--plot", path, "--json")
        assert outcome.json["points"]
        assert outcome.err == f"The plot is in {path}.\n"
        assert path.read_bytes().startswith(b"\x89PNG" if suffix == "png" else b"<?xml")

    def test_model(self, call, text_model):
        found = call("inspect", text_model, "--json").json
        model = longtail.load(text_model)
        assert found["method"] == "dismec"
        assert found["takes"] == "texts"
        assert found["labels"] == len(model.classes_)
        assert found["training points"] == model.n_points_
        assert found["weights"] == model.classifier_.weights_.nnz
        assert found["parameters"]["C"] == 1
        shown = call("inspect", text_model).out
        assert "dismec" in shown
        assert "train.jsonl" in shown

    def test_names_cannot_play_tricks_on_the_terminal(self, call, tmp_path):
        rows = [{"text": "a b", "labels": ["\x1b[2J[red]x", "two\nlines"]} for _ in range(3)]
        path = tmp_path / "tricky.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        shown = call("inspect", path).out
        assert "\x1b" not in shown
        assert "\\x1b[2J[red]x" in shown
        assert "two lines" in shown
