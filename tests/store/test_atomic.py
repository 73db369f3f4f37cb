"""Whatever kills a writer, and whenever: the old or the new stands at the target, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from longtail.errors import ModelError
from longtail.store import atomic, atomic_file, atomic_folder, read, write
from longtail.store.atomic import standing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and locks")

KILLED_AT_EVERY_LINE = '''
"""Fork a writer that dies at the n-th line of the store, for every n; look at what is left."""
import os, signal, sys
from pathlib import Path
import numpy as np
from longtail.store import atomic, read, read_arrays, write, write_arrays

what, how, place = sys.argv[1], sys.argv[2], Path(sys.argv[3])
if how == "two steps":
    atomic._exchange = lambda first, second: False
old, new = {"w": np.zeros(50)}, {"w": np.ones(70)}

def save(value):
    write(place, value) if what == "folder" else write_arrays(place, value)

def load():
    return read(place) if what == "folder" else read_arrays(place)[0]

def die_at(line):
    left = line
    def trace(frame, event, argument):
        nonlocal left
        if os.sep + "store" + os.sep not in frame.f_code.co_filename:
            return None
        if Path(frame.f_code.co_filename).name not in ("atomic.py", "folder.py"):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)

seen = {"old": 0, "new": 0}
line = 0
while True:
    save(old)
    assert os.listdir(place.parent) == [place.name], "left-overs were not removed"
    line += 1
    child = os.fork()
    if child == 0:
        die_at(line)
        save(new)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found = load()["w"]
    which = "old" if len(found) == 50 else "new"
    assert np.array_equal(found, (old if which == "old" else new)["w"])
    seen[which] += 1
    if not os.WIFSIGNALED(status):
        assert which == "new" and status == 0
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
print(seen["old"], seen["new"])
'''


@pytest.mark.parametrize(
    ("what", "how"), [("folder", "one step"), ("folder", "two steps"), ("file", "one step")]
)
def test_a_writer_killed_at_any_line_leaves_the_old_or_the_new(fast_folder, what, how):
    command = [sys.executable, "-c", KILLED_AT_EVERY_LINE, what, how, fast_folder / "model"]
    out = subprocess.run(command, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    old, new = map(int, out.stdout.split())
    assert old > 30
    assert new > 1


def test_a_writer_killed_at_any_moment_leaves_the_old_or_the_new(tmp_path):
    script = """
import sys
import numpy as np
from longtail.store import write
print("ready", flush=True)
number = 0
while True:
    number += 1
    write(sys.argv[1], {"number": number, "array": np.full(300_000, number)})
"""
    place = tmp_path / "model"
    write(place, {"number": 0, "array": np.full(300_000, 0)})
    for delay in (0.05, 0.083, 0.131):
        with subprocess.Popen(
            [sys.executable, "-c", script, place], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(delay)
            writer.send_signal(signal.SIGKILL)
        model = read(place)
        assert (model["array"] == model["number"]).all()
    write(place, 1)
    assert os.listdir(tmp_path) == ["model"]


FULL_DISK = """
import resource, signal, sys
import numpy as np
from longtail.errors import ModelError
from longtail.store import write, write_arrays
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for save in (write, write_arrays):
    try:
        save(sys.argv[1] + "/" + save.__name__, {"w": np.ones(100_000)})
    except ModelError as error:
        print(error)
"""


def test_a_full_disk_leaves_the_old_and_an_error_that_names_the_target(tmp_path):
    write(tmp_path / "write", "old")
    command = [sys.executable, "-c", FULL_DISK, tmp_path]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0].startswith(f"{tmp_path}/write/arrays.safetensors: cannot be written: ")
    assert lines[1].startswith(f"{tmp_path}/write_arrays: cannot be written: ")
    assert ".longtail-" not in "".join(lines)
    assert read(tmp_path / "write") == "old"
    assert os.listdir(tmp_path) == ["write"]


def test_an_error_in_the_block_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "file").write_text("old")

    def interrupted_file():
        with atomic_file(tmp_path / "file") as place:
            place.write_text("new")
            raise RuntimeError

    def interrupted_folder():
        with atomic_folder(tmp_path / "folder") as place:
            (place / "x").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(RuntimeError):
        interrupted_file()
    with pytest.raises(KeyboardInterrupt):
        interrupted_folder()
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_folders_within_the_folder_and_missing_parents_are_made(tmp_path):
    target = tmp_path / "a" / "b" / "folder"
    with atomic_folder(target) as place:
        (place / "inner").mkdir()
        (place / "inner" / "x").write_text("1")
    assert (target / "inner" / "x").read_text() == "1"


def test_an_empty_folder_is_filled_and_a_full_one_left_alone(tmp_path):
    (tmp_path / "folder").mkdir()
    with atomic_folder(tmp_path / "folder") as place:
        (place / "x").write_text("1")
    with (
        pytest.raises(ModelError, match="not overwritten because it is not empty"),
        atomic_folder(tmp_path / "folder"),
    ):
        pytest.fail("the block must not run")
    assert (tmp_path / "folder" / "x").read_text() == "1"


def test_a_folder_filled_meanwhile_is_not_lost(tmp_path):
    def overtaken():
        with atomic_folder(tmp_path / "folder") as place:
            (place / "x").write_text("mine")
            (tmp_path / "folder").mkdir()
            (tmp_path / "folder" / "y").write_text("theirs")

    with pytest.raises(ModelError, match="it is not empty"):
        overtaken()
    assert os.listdir(tmp_path / "folder") == ["y"]
    assert os.listdir(tmp_path) == ["folder"]


def test_a_file_cannot_take_the_place_of_a_folder(tmp_path):
    with pytest.raises(ModelError, match="is a folder"), atomic_file(tmp_path):
        pytest.fail("the block must not run")
    with pytest.raises(ModelError, match="cannot be written"), atomic_file(tmp_path / "x"):
        pass


def test_long_names_work(tmp_path):
    name = "é" * 125
    write(tmp_path / name, 1)
    assert read(tmp_path / name) == 1


def left_over(target, suffix, number=1):
    return target.parent / f"{atomic._prefix(target)}{number:016x}.{suffix}"


def test_only_what_a_dead_writer_of_this_target_left_is_removed(tmp_path):
    target = tmp_path / "model"
    dead = left_over(target, "new", 1)
    of_another = left_over(tmp_path / "other", "new", 2)
    a_file = left_over(target, "new", 3)
    elsewhere = tmp_path / "elsewhere"
    for folder in (dead, of_another, elsewhere):
        folder.mkdir()
        (folder / "x").write_text("x")
    a_file.write_text("x")
    a_link = left_over(target, "new", 4)
    a_link.symlink_to(elsewhere)
    similar = tmp_path / (dead.name + ".bak")
    similar.mkdir()
    with atomic._workplace(target) as alive:
        write(target, 1)
        assert alive.exists()
    assert not dead.exists()
    assert all(path.exists() for path in (of_another, a_file, a_link, similar, elsewhere / "x"))


def test_a_model_set_aside_is_read_and_brought_back(tmp_path, monkeypatch):
    target = tmp_path / "model"
    write(target, "old")
    aside = left_over(target, "old")
    os.rename(target, aside)
    assert standing(target) == aside
    assert read(target) == "old"
    with pytest.raises(ModelError, match="a value of type"):
        write(target, print)
    assert read(target) == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_without_the_one_step_exchange_replacement_works_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    for number in range(3):
        write(tmp_path / "model", number)
        assert read(tmp_path / "model") == number
    assert os.listdir(tmp_path) == ["model"]


def test_a_failing_disk_between_the_two_steps_brings_the_old_model_back(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    target = tmp_path / "model"
    write(target, "old")
    rename, aside = os.rename, []

    def failing(source, destination):
        if aside and Path(destination) == target and Path(source).suffix == ".new":
            raise OSError(5, "Input/output error")
        if Path(destination).suffix == ".old":
            aside.append(destination)
        rename(source, destination)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(ModelError, match="model: cannot be written: Input/output error"):
        write(target, "new")
    assert aside
    monkeypatch.undo()
    assert read(target) == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_everything_is_brought_to_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    done = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(descriptor):
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def noted_rename(source, destination):
        done.append("rename")
        rename(source, destination)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to tell which file a descriptor is")
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    write(tmp_path / "model", {"w": np.ones(3)})
    before = done[: done.index("rename")]
    assert {"model.json", "arrays.safetensors"} <= set(before)
    assert any(name.endswith(".new") for name in before)
    assert done[-1] == tmp_path.name
