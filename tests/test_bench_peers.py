"""The comparison with other programs, on a small set: what is kept, taken up and left out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive
SCRIPT = Path(__file__).parents[1] / "benchmarks" / "bench_peers.py"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Runs the benchmark on a small set, where no peer is installed, with its files in a folder."""
    folder = tmp_path_factory.mktemp("peers")
    (folder / "none" / "pecos").mkdir(parents=True)
    (folder / "none" / "pecos" / "failed.txt").write_text("WARNING: old\nERROR: No such numpy\n")
    small = ["--sets", "generated", "--labels", "200", "--environments", folder / "none"]

    def run(*words):
        return subprocess.run(
            [sys.executable, SCRIPT, *small, *map(str, words)], capture_output=True, text=True
        )

    run.folder = folder
    return run


@pytest.fixture(scope="module")
def first(bench):
    words = ["--methods", "proxml,omikuji,pecos", "--repeats", 1, "--json", bench.folder / "a.json"]
    return bench(*words, "--markdown", bench.folder / "a.md")


def kept(bench):
    return {row["method"]: row for row in json.loads((bench.folder / "a.json").read_text())["rows"]}


def test_figures_are_kept(bench, first):
    assert first.returncode == 0, first.stderr
    (turn,) = kept(bench)["proxml"]["turns"]
    assert turn["metrics"]["P@1"] > 0.5
    assert turn["peak"] > turn["bytes"] > 0
    assert turn["train"] > 0
    assert turn["predict"] > 0
    assert {"longtail", "Python", "numpy"} <= set(turn["versions"])


def test_a_peer_that_is_not_there_is_a_row_that_says_why(bench, first):
    assert "Omikuji, 3 trees  it is not installed; `make bench-peers` does that" in first.stdout
    assert "PECOS XLinear     it cannot be installed: ERROR: No such numpy" in first.stdout
    assert kept(bench)["omikuji"]["turns"] == []
    page = (bench.folder / "a.md").read_text()
    assert "- Omikuji, 3 trees: it is not installed" in page
    rows = [line for line in page.splitlines() if line.startswith(("| method", "| ProXML |"))]
    assert len(rows) == 2
    assert rows[0].count("|") == rows[1].count("|")
    assert "ProXML's training / Omikuji's | <= 1.00 | – | not measured |" in page


def test_a_run_is_taken_up_where_it_ended(bench, first):
    before = kept(bench)["proxml"]["turns"]
    again = bench("--methods", "proxml", "--repeats", 2, "--resume", bench.folder / "a.json")
    assert again.returncode == 0, again.stderr
    assert "turn 1 of 2: ProXML" not in again.stderr
    assert "turn 2 of 2: ProXML" in again.stderr
    after = kept(bench)["proxml"]["turns"]
    assert after[:1] == before
    assert len(after) == 2


def test_what_takes_too_long_is_ended(bench):
    words = ["--methods", "dismec", "--repeats", 1, "--json", bench.folder / "b.json"]
    done = bench(*words, "--time-limit", 0.001)
    assert done.returncode == 0, done.stderr
    assert "DiSMEC  it was ended after 0.001 minutes, the limit" in done.stdout


def test_a_file_that_is_no_run_is_refused(bench):
    (bench.folder / "c.json").write_text("{}")
    done = bench("--resume", bench.folder / "c.json")
    assert done.returncode == 1
    assert "cannot be taken up" in done.stderr
    assert "Traceback" not in done.stderr
