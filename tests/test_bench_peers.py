"""The comparison with other programs, on small sets: what is kept, taken up and left out."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.exhaustive
SCRIPT = Path(__file__).parents[1] / "benchmarks" / "bench_peers.py"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Runs the benchmark on a small set, where no peer is installed, with its files in a folder."""
    folder = tmp_path_factory.mktemp("peers")
    (folder / "none" / "pecos").mkdir(parents=True)
    (folder / "none" / "pecos" / "failed.txt").write_text("WARNING: old\nERROR: No such numpy\n")
    small = ["--sets", "generated-1", "--part", "2000", "--environments", folder / "none"]

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
    assert "ProXML's training / Omikuji's | <= 3.00 | – | not measured |" in page
    assert "napkinXC" not in page  # which was not asked for


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


def test_what_is_too_slow_for_a_set_is_left_out(bench):
    words = [
        "--methods",
        "logistic",
        "--part",
        250,
        "--repeats",
        1,
        "--json",
        bench.folder / "d.json",
    ]
    done = bench(*words, "--markdown", bench.folder / "d.md")
    assert done.returncode == 0, done.stderr
    reason = "left out: 1.5 million features × labels; by default it is measured up to 1 million"
    assert f"scikit-learn LR  {reason}" in done.stdout
    assert f"- scikit-learn LR: {reason}" in (bench.folder / "d.md").read_text()
    assert "it is not installed" in bench(*words, "--all").stdout


def test_the_exponent_is_that_of_the_times(bench):
    words = ["--sets", "generated-1,generated-2,generated-3", "--methods", "proxml,omikuji"]
    file = bench.folder / "e.json"
    done = bench(*words, "--repeats", 1, "--json", file, "--markdown", bench.folder / "e.md")
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(file.read_text())["rows"] if row["method"] == "proxml"]
    points = [row["of"]["shape"][0] for row in rows]
    assert points == [220, 441, 882]  # nine tenths of 490,449 / 2,000, and twice and four times it
    seconds = [row["turns"][0]["train"] for row in rows]
    slope = np.polyfit(np.log(points), np.log(seconds), 1)[0]
    page = (bench.folder / "e.md").read_text()
    (line,) = [
        line for line in page.splitlines() if line.startswith("| ProXML") and line.count("|") == 6
    ]
    assert float(line.split("|")[-2]) == pytest.approx(slope, abs=0.006)
    assert "| method | 220 | 441 | 882 | exponent |" in page
    assert "Generated: exponent of ProXML's training | <= 1.25 |" in page
