"""Data files, trained models and a way to call the command line, for all its tests."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from longtail.cli import app
from tests.cli.files import write_docs, write_features


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


APART = {name: False for name in inspect.signature(CliRunner).parameters if name == "mix_stderr"}
"""What keeps output and errors apart: click below 8.2 has to be told."""


def call(*words: object, stdin: str | bytes | None = None) -> Outcome:
    result = CliRunner(**APART).invoke(app, [str(word) for word in words], input=stdin)
    unexpected = result.exception
    if unexpected is not None and not isinstance(unexpected, SystemExit):
        raise unexpected
    return Outcome(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="session", name="call")
def call_fixture():
    return call


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """A folder with the same points as texts and as features, in a training and a test part."""
    folder = tmp_path_factory.mktemp("data")
    write_docs(folder / "train.jsonl", folder / "test.jsonl")
    (folder / "features").mkdir()
    write_features(folder / "features" / "train.txt", folder / "features" / "test.txt")
    return folder


@pytest.fixture(scope="session")
def text_model(files) -> Path:
    outcome = call(
        "train", files / "train.jsonl", "--to", files / "text-model", "-q", "-m", "dismec"
    )
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    return files / "text-model"


@pytest.fixture(scope="session")
def matrix_model(files) -> Path:
    outcome = call(
        "train", files / "features", "--to", files / "matrix-model", "-m", "br", "-q",
        "--set", "C=10", "--damping", "sqrt",
    )  # fmt: skip
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    return files / "matrix-model"
