"""What cannot be done gets one line and an exit code, never a traceback."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest

from longtail.cli._partial import Partial

HOSTILE = {
    "empty.jsonl": b"",
    "list.jsonl": b"[1, 2]\n",
    "cut.jsonl": b'{"text": "a", "labels": ["b"]}\n{"text": "a", "lab',
    "latin.jsonl": '{"text": "caf\u00e9", "labels": ["b"]}\n'.encode("latin-1"),
    "no-labels.jsonl": b'{"text": "a"}\n',
    "deep.jsonl": b'{"text": ' + b"[" * 100_000 + b"\n",
    "junk.jsonl": bytes(range(256)) * 10,
    "long-line.jsonl": b'{"text": "' + b"a" * 10_000_000 + b'", "labels": []}\n',
    "escape.csv": b"\x1b[31mtext,labels\nx,y\n",
    "cut.jsonl.gz": gzip.compress(b'{"text": "a", "labels": ["b"]}\n' * 1000)[:-20],
    "negative.txt": b"1 2 2\n-1 0:1\n",
    "nan.txt": b"1 2 2\n0 0:nan\n",
    "huge-id.txt": b"1 2 2\n0 99999999999:1\n",
    "no-value.txt": b"1 2 2\n0 1\n",
    "header.txt": b"1 2\n0 1:1\n",
    "junk.txt": bytes(range(256)),
    "lie.parquet": b"PAR1" + b"\0" * 100,
    "bad.arff": b"@relation x\n@attribute a numeric\n@data\n1,2,3\n",
}


def assert_refused(outcome, *parts):
    assert outcome.code == 1, outcome
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ")
    assert lines[0].isprintable()
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", ["inspect", "train", "evaluate"])
def test_hostile_data(call, text_model, tmp_path, name, command):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    words = {
        "inspect": ["inspect", path],
        "train": ["train", path, "--to", tmp_path / "model", "-q"],
        "evaluate": ["evaluate", text_model, path],
    }[command]
    assert_refused(call(*words), name)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"0 2 2\n", "0 sample"),
        (b"2 0 2\n0 \n1 \n", "0 feature"),
        (b"2 3 0\n 0:1\n 1:1\n", "no labels at all"),
    ],
)
def test_nothing_to_learn_from(call, matrix_model, tmp_path, content, part):
    path = tmp_path / "empty.txt"
    path.write_bytes(content)
    assert call("inspect", path, "--json").code == 0
    assert call("inspect", path).code == 0
    words = ("train", path, "--to", tmp_path / "model", "-q")
    assert_refused(call(*words, "-m", "dismec"), part)
    assert_refused(call(*words))
    if content.startswith(b"0"):
        assert_refused(call("evaluate", matrix_model, path), "no point to measure on")
        assert call("predict", matrix_model, path).out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["empty.txt"]


@pytest.mark.parametrize(
    "stdin",
    [b'{"text": "a"}\n{"text"', b"caf\xe9\n", b'{"body": "a"}\n', b"a" * 9_000_000],
    ids=["cut", "latin", "no text", "long"],
)
def test_hostile_standard_input(call, text_model, stdin):
    outcome = call("predict", text_model, "-", stdin=stdin)
    assert outcome.code == 1
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("Error: standard input, line ")
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["inspect", "nowhere"], ["nowhere: there is no such file; check the path"]),
        (
            ["train", "nowhere", "--to", "m", "-q"],
            ["nowhere: there is no such file; check the path"],
        ),
        (["train", "DATA", "--to", "m", "-m", "magic"], ["no method 'magic'", "br, br-dekel"]),
        (
            ["train", "DATA", "--to", "m", "-m", "dismec", "--set", "D=1"],
            ["no parameter 'D'", "C, prune"],
        ),
        (
            ["train", "DATA", "--to", "m", "-m", "dismec", "--set", "C"],
            ["'C' is not of the form name=value"],
        ),
        (
            ["train", "DATA", "--to", "m", "-m", "dismec", "--set", "C=x"],
            ["C must be a positive, finite number, or a pair (a, b) of ", ", not 'x'"],
        ),
        (["train", "DATA", "--to", "m", "-m", "dismec", "--set", "C=-1"], ["C must be a positive"]),
        (["train", "DATA", "--to", "m", "--set", "C=1"], ["--set is for", "--method"]),
        (["train", "DATA", "--to", "m", "--on-error", "stop"], ["--on-error is raise or skip"]),
        (["train", "DATA", "--to", "DATA", "-q"], ["is a file and is not overwritten"]),
        (["train", "DATA", "--to", "FOLDER", "-q"], ["not empty and not a longtail model"]),
        (["train", "DATA", "--to", "DATA/m", "-q"], ["cannot be written"]),
        (["train", "DATA", "--to", "m", "--ngram-range", "x"], ["--ngram-range must be two"]),
        (
            ["train", "DATA", "--to", "m", "--ngram-range", "3,2"],
            ["two whole numbers from 1 to 20"],
        ),
        (["train", "DATA", "--to", "m", "--min-df", "x"], ["--min-df"]),
        (["train", "DATA", "--to", "m", "--stop-words", "nowhere"], ["--stop-words", "nowhere"]),
        (["train", "DATA", "--to", "m", "--norm", "l7"], ["--norm must be 'l2', 'l1', 'max'"]),
        (["train", "DATA", "--to", "m", "--damping", "x"], ["--damping must be 'sqrt'"]),
        (
            ["train", "XMC", "--to", "m", "--ngram-range", "1,2", "-q"],
            ["--ngram-range is for texts", "leave it out"],
        ),
        (["train", "DATA", "--to", "m", "--test-size", "7.5"], ["--test-size is a share"]),
        (
            ["train", "DATA", "--to", "m", "--n-jobs", "0"],
            ["n_jobs must be a whole number"],
        ),
        (["train", "DATA", "--to", "m", "--format", "xml"], ["format must be one of"]),
        (["train", "DATA", "--to", "m", "--part", "test", "-q"], ["--part 'test' is for folders"]),
        (["train", "DATA", "--to", "m", "--part", "half", "-q"], ["part must be"]),
        (["train", "DATA", "--to", "m", "--read", "x=1", "-q"], ["no option 'x'"]),
        (["train", "DATA", "--to", "m", "--read", "path=1", "-q"], ["--read takes"]),
        (["train", "DATA", "--to", "m", "--text-column", "body", "-q"], ["no 'body'", "line 1"]),
        (
            ["train", "DATA", "--to", "m", "--text-column", "text", "--read", "text_column=body"],
            ["--text-column and --read both say it"],
        ),
        (["predict", "nowhere", "DATA"], ["nowhere: there is no such folder"]),
        (["predict", "DATA", "DATA"], ["is a file, not a model folder"]),
        (["predict", "FOLDER", "DATA"], ["not a longtail model folder"]),
        (["predict", "MODEL", "nowhere"], ["nowhere: there is no such file; check the path"]),
        (["predict", "MODEL", "XMC"], ["takes texts", "--format lines"]),
        (["predict", "MODEL", "XMC", "--format", "xmc"], ["no option 'labels_column'"]),
        (["predict", "MODEL", "DATA", "--proba"], ["dismec has no probabilities"]),
        (["predict", "MODEL", "DATA", "--to", "FOLDER"], ["is a folder"]),
        (["predict", "MODEL", "DATA", "--part", "test"], ["--part is for folders"]),
        (["predict", "MODEL", "-", "--format", "xmc"], ["Standard input holds"]),
        (["predict", "MODEL", "DATA", "--to", "DATA"], ["write over the points in docs.jsonl"]),
        (["predict", "MODEL", "DATA", "--threshold", "nan"], ["--threshold must be a number"]),
        (["predict", "MODEL", "DATA", "--propensity-constants", "EURLex-4K"], ["are for --tail"]),
        (["predict", "MODEL", "DATA", "--tail", "1"], ["say how many", "-k"]),
        (["predict", "MATRIX", "XMC", "--on-error", "skip"], ["row by row"]),
        (["predict", "MATRIX", "-"], ["takes features"]),
        (["predict", "MATRIX", "DATA"], ["takes features, but the data has texts"]),
        (["predict", "MATRIX", "XMC", "--proba", "--threshold", "2"], ["below 1", "leave out"]),
        (["evaluate", "MODEL", "XMC"], ["takes texts, but the data has features"]),
        (["evaluate", "MATRIX", "DATA"], ["takes features, but the data has texts"]),
        (["inspect", "DATA", "--plot", "plot.xyz"], ["plot.xyz", "png"]),
        (["inspect", "MODEL", "--plot", "plot.png"], ["--plot draws the labels of data"]),
        (["inspect", "DATA", "--want", "gold"], ["want must be"]),
        (["tail", "MODEL", "DATA", "--max-loss", "1", "--weight", "1"], ["--max-loss or --weight"]),
        (["methods", "magic"], ["no method 'magic'", "br, br-dekel"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].isalpha() else None,
)
def test_refused(call, files, text_model, matrix_model, tmp_path, monkeypatch, words, parts):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    (tmp_path / "docs.jsonl").symlink_to(files / "train.jsonl")
    places = {
        "DATA": "docs.jsonl",
        "XMC": files / "features" / "train.txt",
        "FOLDER": "folder",
        "MODEL": text_model,
        "MATRIX": matrix_model,
        "DATA/m": "docs.jsonl/m",
    }
    assert_refused(call(*(places.get(word, word) for word in words)), *parts)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["docs.jsonl", "folder"]


@pytest.mark.parametrize("what", ["truncated", "altered"])
@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_a_damaged_model(call, files, text_model, tmp_path, what, command):
    shutil.copytree(text_model, tmp_path / "model")
    file = tmp_path / "model" / "arrays.safetensors"
    data = bytearray(file.read_bytes())
    if what == "truncated":
        del data[-10:]
    else:
        data[-1] ^= 1
    file.write_bytes(data)
    points = [] if command == "inspect" else [files / "test.jsonl"]
    assert_refused(call(command, tmp_path / "model", *points), "arrays.safetensors")


@pytest.mark.parametrize(
    "words",
    [
        ["fly"],
        ["train", "DATA"],
        ["train", "--to", "m"],
        ["predict", "m"],
        ["predict", "m", "d", "-k", "0"],
        ["predict", "m", "d", "-k", "x"],
        ["evaluate", "m", "d", "-k", "0"],
        ["evaluate", "m", "d", "-k", "one"],
        ["train", "DATA", "--to", "m", "--random-state", "-1"],
        ["train", "DATA", "--to", "m", "--test-size", "many"],
        ["inspect", "DATA", "--colour"],
    ],
    ids=" ".join,
)
def test_wrong_usage(call, words):
    outcome = call(*words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Error" in outcome.err
    assert "Traceback" not in outcome.err


def test_missing_matplotlib(call, files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    outcome = call("inspect", files / "train.jsonl", "--plot", tmp_path / "plot.png")
    assert_refused(outcome, 'pip install "longtail[report]"')


def test_not_enough_memory(call, files, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("longtail.data.read_dataset", fail)
    assert_refused(call("inspect", files / "train.jsonl"), "not enough memory")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        type("PanicException", (BaseException,), {})("memory allocation of 80 bytes failed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_memory_ends_in_many_ways(call, files, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("longtail.data.read_dataset", fail)
    assert_refused(call("inspect", files / "train.jsonl"), "not enough memory")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
@pytest.mark.parametrize("gigabytes", [0.3, 0.8, 1.4])
def test_too_few_addresses_end_in_one_sentence(files, gigabytes):
    """As with `ulimit -v`: libraries that cannot be loaded would hang, or end the process."""
    limit = int(gigabytes * 1e9)
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}));"
        "from longtail.cli import main; main()"
    )
    words = [sys.executable, "-c", code, "inspect", str(files / "train.jsonl")]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert f"{gigabytes} GB of addresses" in ended.stderr


def test_what_the_operating_system_refuses(call, files, tmp_path):
    assert_refused(call("inspect", "x" * 5000), "too long")
    assert_refused(call("train", files / "train.jsonl", "--to", "x" * 300, "-q"), "too long")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(call, files, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    words = ["train", files / "train.jsonl", "--to", tmp_path / "closed" / "model", "-q"]
    assert_refused(call(*words), "cannot be written")


def test_warnings_are_one_line_each(call, tmp_path):
    rows = "".join(f"{i % 3} {i % 5}:1\n" for i in range(20))
    (tmp_path / "odd.txt").write_text("20 2 3\n" + rows)
    outcome = call("inspect", tmp_path / "odd.txt", "--json")
    assert outcome.code == 0
    assert outcome.err.startswith("Warning: ")
    assert len(outcome.err.splitlines()) == 1
    assert outcome.json["features"] == 5


def test_unexpected_errors_are_not_hidden(call, files, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("longtail.data.read_dataset", fail)
    with pytest.raises(ZeroDivisionError):
        call("inspect", files / "train.jsonl")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell with pipes")
def test_a_reader_that_goes_away(text_model, tmp_path):
    (tmp_path / "many.jsonl").write_text(json.dumps({"text": "word1 word2"}) + "\n" * 1)
    with open(tmp_path / "many.jsonl", "a") as file:
        file.writelines(json.dumps({"text": f"word{i}"}) + "\n" for i in range(5000))
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "longtail",
            "predict",
            text_model,
            tmp_path / "many.jsonl",
            "-k",
            "5",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert json.loads(process.stdout.readline())["labels"]
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


@pytest.mark.parametrize("command", ["evaluate", "tail"])
def test_points_without_any_label_measure_nothing(call, text_model, tmp_path, command):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"text": "sparse matrix", "labels": []}\n' * 3)
    assert_refused(call(command, text_model, path), "No point has a label")


def test_an_unfinished_training_is_called_so(call, tmp_path):
    Partial(tmp_path / "m", {"method": "br", "data": "docs.jsonl"}).begin()
    assert_refused(call("inspect", tmp_path / "m.partial"), "unfinished training (br on docs")


def test_a_comparison_of_nothing_says_so(call, files):
    outcome = call("compare", files / "features", "-m", "br", "--memory-limit", "1e-6", "-q")
    assert outcome.code == 1
    assert outcome.err.startswith("Error: No method was finished; their rows say why")
