"""Model folders come back whole, or are refused with the name of the file and the reason."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from longtail.errors import ModelError
from longtail.store import (
    FORMAT,
    check_target,
    is_model,
    pack,
    read,
    read_meta,
    register,
    write,
)
from longtail.store.atomic import _exchange
from tests.resealing import reseal
from tests.store.states import Thing, assert_same, states

GOLDEN = Path(__file__).parent / "golden"
JSON, ARRAYS = "model.json", "arrays.safetensors"


@register
class Estimator(BaseEstimator):
    stored_as = "example-estimator"

    def __init__(self, C=1.0, weights=None, kind="l2"):
        self.C = C
        self.weights = weights
        self.kind = kind

    def to_state(self):
        return {"params": self.get_params(deep=False), "coef": self.coef_}

    @classmethod
    def from_state(cls, state):
        out = cls(**state["params"])
        out.coef_ = state["coef"]
        return out


def example():
    model = Estimator(C=float("inf"), weights=np.ones(3))
    model.coef_ = sp.csr_array(np.array([[0, 1.5, 0], [2.5, 0, -1]]))
    return Thing(model=model, names=np.array(["sea", "été", "山"]), flags=np.array([True, False]))


@pytest.fixture
def model(tmp_path):
    write(tmp_path / "model", example(), meta={"rows": 12})
    return tmp_path / "model"


@given(states)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_state_comes_back_exactly(fast_folder, state):
    write(fast_folder / "model", state)
    assert_same(state, read(fast_folder / "model"))


def test_an_object_within_an_object_comes_back(model):
    back = read(model)
    assert isinstance(back, Thing)
    inner = back.parts["model"]
    assert isinstance(inner, Estimator)
    assert np.isposinf(inner.C)
    assert inner.coef_.toarray().tolist() == [[0, 1.5, 0], [2.5, 0, -1]]
    assert back.parts["names"].tolist() == ["sea", "été", "山"]


def test_the_folder_holds_two_files_and_nothing_else_is_left(model):
    assert sorted(os.listdir(model)) == [ARRAYS, JSON]
    assert os.listdir(model.parent) == ["model"]


def test_the_same_model_gives_the_same_bytes(tmp_path, model):
    write(tmp_path / "again", example(), meta={"rows": 12})
    for name in (JSON, ARRAYS):
        assert (model / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_files_are_for_those_whom_the_umask_lets_read_them(tmp_path):
    umask = os.umask(0o027)
    try:
        write(tmp_path / "model", {"w": np.ones(3)})
    finally:
        os.umask(umask)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o750
    for name in (JSON, ARRAYS):
        assert (tmp_path / "model" / name).stat().st_mode & 0o777 == 0o640


def test_arrays_are_read_only_views_of_the_mapped_file(tmp_path):
    write(tmp_path / "model", {"w": np.arange(6.0).reshape(2, 3), "m": sp.csc_matrix(np.eye(3))})
    back = read(tmp_path / "model")
    for array in (back["w"], back["m"].data, back["m"].indices, back["m"].indptr):
        base = array
        while base.base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
        assert not array.flags.writeable
        assert array.flags.aligned


def test_meta_tells_what_the_model_is_without_its_arrays(tmp_path):
    estimator = Estimator(C=2.0, weights=np.ones((2, 3)))
    estimator.coef_ = None
    write(tmp_path / "model", estimator, meta={"rows": 12, "share": float("nan"), "who": ["me"]})
    (tmp_path / "model" / ARRAYS).unlink()
    description = read_meta(tmp_path / "model")
    assert description.format == FORMAT
    assert description.stored_as == "example-estimator"
    assert description.meta["rows"] == 12
    assert np.isnan(description.meta["share"])
    assert description.meta["who"] == ["me"]
    assert description.versions["numpy"] == np.__version__


@pytest.mark.parametrize("meta", [{"x": np.ones(2)}, {"x": print}, {1: {2}}, [1]])
def test_meta_must_be_plain(tmp_path, meta):
    with pytest.raises(ModelError, match="meta"):
        write(tmp_path / "model", 1, meta=meta)
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_model(model):
    with pytest.raises(ModelError, match="callback: a value of type"):
        write(model, Thing(callback=print))
    assert os.listdir(model.parent) == ["model"]
    assert isinstance(read(model), Thing)


def test_the_golden_model_reads_and_is_written_the_same(tmp_path):
    (folder,) = GOLDEN.iterdir()
    assert folder.name == f"v{FORMAT}"
    assert_same(golden(), read(folder))
    assert read_meta(folder).meta == NOTE
    write(tmp_path / "again", golden(), meta=NOTE)
    assert (folder / ARRAYS).read_bytes() == (tmp_path / "again" / ARRAYS).read_bytes()
    there, here = (json.loads((at / JSON).read_text()) for at in (folder, tmp_path / "again"))
    assert there["state"] == here["state"]


NOTE = {"note": "a model of this format, made when the format was"}


def golden():
    """What the folder in `golden/` holds."""
    objects = np.array(["a", 1, None, ("b", 2.5), 2**70, np.float32(0.5)], dtype=object)
    return Thing(
        plain=[None, True, -3, 2**70, 0.1, float("-inf"), "été", "\ud800", (1, (2,))],
        table={"a": 1, "$": {"b": []}},
        keys={3: "a", ("b", 1): None},
        long=list(range(300)),
        pairs=[("a", "b")] * 300,
        scalars=[np.float32(0.1), np.int8(-5), np.True_],
        arrays=[np.arange(6).astype(d).reshape(2, 3) for d in ("?", "i1", "u8", "f2", "f8")],
        fortran=np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        text=np.array(["sea", "été", "山", "😀"]),
        objects=objects,
        csr=sp.csr_array(np.array([[0, 1.5], [2.5, 0]])),
        csc=sp.csc_matrix(np.array([[0, 1], [2, 0]], dtype=np.int16)),
        inner=Thing(weights=np.ones(2)),
    )


def flipped(data, position):
    return data[:position] + bytes([data[position] ^ 0x20]) + data[position + 1 :]


@pytest.mark.parametrize("name", [JSON, ARRAYS])
def test_any_flipped_byte_is_refused(model, name):
    good = (model / name).read_bytes()
    for position in range(0, len(good), 1 if len(good) < 1500 else 7):
        (model / name).write_bytes(flipped(good, position))
        with pytest.raises(ModelError, match=str(model)):
            read(model)


@pytest.mark.parametrize("name", [JSON, ARRAYS])
def test_any_cut_is_refused_even_without_checksums(model, name):
    good = (model / name).read_bytes()
    for length in range(0, len(good), 7):
        (model / name).write_bytes(good[:length])
        with pytest.raises(ModelError, match=str(model / name)):
            read(model, verify=False)


@given(data=st.data())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_change_of_a_file_is_refused_or_changes_nothing(model, data):
    name = data.draw(st.sampled_from([JSON, ARRAYS]))
    good = (model / name).read_bytes()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 30)))
    changed = good[:start] + data.draw(st.binary(max_size=30)) + good[end:]
    (model / name).write_bytes(changed)
    try:
        if name == JSON and changed != good:
            with pytest.raises(ModelError):
                read(model)
            with pytest.raises(ModelError):
                read_meta(model)
            return
        with contextlib.suppress(*() if changed == good else (ModelError,)):
            # the header of the arrays may be spelt otherwise, but what comes back is the same
            assert_same(pack(example())[1], dict(pack(read(model))[1]))
    finally:
        (model / name).write_bytes(good)


@given(data=st.data())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whoever_alters_arrays_without_their_checksum_gets_a_model_or_an_error(model, data):
    good = {name: (model / name).read_bytes() for name in (JSON, ARRAYS)}
    altered = good[ARRAYS]
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(altered) - 1))
        byte = bytes([data.draw(st.integers(0, 255))])
        altered = altered[:position] + byte + altered[position + 1 :]
    try:
        (model / ARRAYS).write_bytes(altered)
        with contextlib.suppress(ModelError):
            matrix = read(model, verify=False).parts["model"].coef_
            _ = matrix @ np.ones(matrix.shape[1])
    finally:
        for name, content in good.items():
            (model / name).write_bytes(content)


def remove(name):
    return lambda folder: (folder / name).unlink()


def put(name, content=b"x"):
    return lambda folder: (folder / name).write_bytes(content)


def link(name):
    def change(folder):
        shutil.move(folder / name, folder.parent / name)
        (folder / name).symlink_to(folder.parent / name)

    return change


def make_folder(name):
    def change(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return change


def make_pipe(name):
    def change(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def seal(**changes):
    return lambda folder: reseal(folder, **changes)


def sparse_file(name, size):
    def change(folder):
        with open(folder / name, "wb") as file:
            file.truncate(size)

    return change


def swap_arrays(folder):
    write(folder.parent / "other", {"w": np.ones(3)})
    shutil.copy(folder.parent / "other" / ARRAYS, folder / ARRAYS)


def grow_arrays(folder):
    with open(folder / ARRAYS, "ab") as file:
        file.write(b"\0" * 8)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "{model}: there is no such folder."),
        (remove(JSON), "{model}: holds no model.json, so it is not a longtail model folder."),
        (remove(ARRAYS), "{model}/arrays.safetensors: is missing."),
        (put(JSON, b""), "{model}/model.json: cannot be read: it is not JSON"),
        (put(JSON, b"\xff\xfe"), "{model}/model.json: cannot be read: byte 0 is not text"),
        (put(JSON, b"[" * 10**6), "{model}/model.json: cannot be read: it is nested too deeply"),
        (put(JSON, b"[]"), "{model}/model.json: is not the description of a longtail model."),
        (put(JSON, b'{"kind": "other"}'), "{model}/model.json: is not the description"),
        (put(JSON, b'{"kind": "longtail model"}'), "{model}/model.json: has no valid format"),
        (
            put(JSON, b'{"kind": "longtail model", "format": 1}'),
            "{model}/model.json: does not match its checksum",
        ),
        (sparse_file(JSON, 2**33), "{model}/model.json: is 8589934592 bytes long, more than"),
        (
            seal(format=7),
            "{model}: was written by a newer longtail (format 7; this one reads up to 1): "
            "upgrade longtail.",
        ),
        (
            put(JSON, b'{"kind": "longtail model", "format": 7, "sealed": "otherwise"}'),
            "{model}: was written by a newer longtail (format 7; this one reads up to 1)",
        ),
        (seal(format=0), "{model}/model.json: has no valid format number"),
        (seal(format=True), "{model}/model.json: has no valid format number"),
        (seal(format="1"), "{model}/model.json: has no valid format number"),
        (seal(kind="sketch"), "{model}/model.json: is not the description of a longtail model."),
        (seal(state=...), "{model}/model.json: does not describe a model of format 1."),
        (seal(arrays=...), "{model}/arrays.safetensors: is not the file that model.json was"),
        (seal(arrays="0" * 64), "{model}/arrays.safetensors: is not the file that model.json was"),
        (seal(state={"$": "array", "data": "x"}), "{model}/model.json: the value: names an array"),
        (seal(state=[]), "{model}/model.json: the value: does not use the array"),
        (
            seal(state={"$": "object", "as": "their-model", "state": {}}),
            "{model}/model.json: the value: nothing here is called 'their-model'; install the "
            "package that brings it, or import the module that defines it, and try again.",
        ),
        (swap_arrays, "{model}/arrays.safetensors: is not the file that model.json was written"),
        (grow_arrays, "{model}/arrays.safetensors: holds "),
        (put(ARRAYS, b""), "{model}/arrays.safetensors: is 0 bytes long, too short for its header"),
        (put("notes.txt"), "{model}/notes.txt: is not part of the model; move it elsewhere."),
        (make_folder("more"), "{model}/more: is not part of the model"),
        (make_folder(ARRAYS), "{model}/arrays.safetensors: is not a plain file."),
        (make_folder(JSON), "{model}/model.json: is not a plain file."),
        (make_pipe(ARRAYS), "{model}/arrays.safetensors: is not a plain file."),
        (make_pipe(JSON), "{model}/model.json: is not a plain file."),
        (link(ARRAYS), "{model}/arrays.safetensors: is a symbolic link"),
        (link(JSON), "{model}/model.json: is a symbolic link"),
    ],
)
def test_a_damaged_folder_is_refused_with_the_file_and_the_reason(model, damage, message):
    damage(model)
    for verify in (True, False):
        with pytest.raises(ModelError) as caught:
            read(model, verify=verify)
        assert message.replace("{model}", str(model)) in str(caught.value)


def test_other_files_are_no_model_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match="is a file, not a model folder"):
        read(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"holds no model\.json"):
        read(tmp_path / "empty")
    assert not is_model(tmp_path / "empty")


def test_altered_arrays_are_noticed_by_the_checksum_only(model):
    data = (model / ARRAYS).read_bytes()
    (model / ARRAYS).write_bytes(data.replace(b"sea", b"tea"))
    assert read(model, verify=False).parts["names"][0] == "tea"
    with pytest.raises(ModelError, match=r"arrays\.safetensors: does not match its checksum;"):
        read(model)


def test_what_the_system_hides_in_a_folder_does_no_harm(model):
    (model / ".DS_Store").write_bytes(b"x")
    assert isinstance(read(model), Thing)
    assert is_model(model)


def test_a_link_to_a_model_folder_is_read_and_written_through(tmp_path, model):
    (tmp_path / "current").symlink_to("model")
    assert isinstance(read(tmp_path / "current"), Thing)
    write(tmp_path / "current", [1, 2])
    assert (tmp_path / "current").is_symlink()
    assert read(model) == [1, 2]


def test_what_is_not_a_model_is_not_overwritten(tmp_path, model):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / JSON).write_text('{"kind": "theirs"}')
    (model / "thesis.txt").write_text("mine")
    for name, reason in [
        ("file", "is a file and is not overwritten"),
        ("folder", "not empty and not a longtail model"),
        ("other", "not empty and not a longtail model"),
        ("model", "it holds 'thesis.txt' beside the model"),
    ]:
        for action in (check_target, lambda path: write(path, 1)):
            with pytest.raises(ModelError, match=f"{tmp_path / name}: .*{reason}"):
                action(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "folder" / "thesis.txt").read_text() == "mine"
    assert (model / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("damage", [remove(ARRAYS), put(ARRAYS), seal(format=9)])
def test_damaged_and_newer_models_may_be_replaced(model, damage):
    damage(model)
    check_target(model)
    write(model, [1])
    assert read(model) == [1]


def test_a_target_that_cannot_be_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "model", tmp_path / "file" / "a" / "b"):
        with pytest.raises(ModelError, match=f"{path}: cannot be written"):
            check_target(path)
        with pytest.raises(ModelError, match=f"{path}: cannot be written"):
            write(path, 1)
    with pytest.raises(ModelError, match="not a usable path"):
        write("a\0b", 1)
    check_target(tmp_path / "new" / "er")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_forbidden_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    for action in (check_target, lambda path: write(path, 1)):
        with pytest.raises(ModelError, match="model: cannot be written"):
            action(tmp_path / "model")
    tmp_path.chmod(0o700)


def test_readers_never_see_a_mixture_while_a_writer_works(fast_folder):
    place = fast_folder / "model"
    write(place, {"number": 0, "array": np.full(2000, 0)})
    stop, wrong = threading.Event(), []

    def watch(verify):
        while not stop.is_set():
            try:
                model = read(place, verify=verify)
                if not (model["array"] == model["number"]).all():
                    wrong.append(model)
            except Exception as error:
                wrong.append(error)

    readers = [threading.Thread(target=watch, args=(verify,)) for verify in (True, False)]
    for reader in readers:
        reader.start()
    for number in range(1, 80):
        write(place, {"number": number, "array": np.full(2000, number)})
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_reader_succeeds_while_the_model_is_replaced_without_pause(fast_folder):
    """Whole folders change places as fast as the system can, more than a thousand times a second.

    Every model is slower to read than to replace: it has many small parts.
    """
    place, other = fast_folder / "model", fast_folder / "other"
    for target, number in ((place, 0), (other, 1)):
        parts = {f"part {part}": np.full(3, number) for part in range(300)}
        write(target, {"number": number, **parts})
    stop = threading.Event()

    def replace():
        for time in range(1, 10**9):
            if stop.wait(1e-4):
                return
            os.utime(other / JSON, ns=(time, time))  # as another model has another time
            assert _exchange(other, place)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for verify in (True, False) * 20:
            model = read(place, verify=verify)
            number = model.pop("number")
            assert all((part == number).all() for part in model.values())
    finally:
        stop.set()
        writer.join()


def test_writers_do_not_disturb_each_other(fast_folder):
    place = fast_folder / "model"
    wrong = []

    def work(number):
        try:
            for _ in range(15):
                write(place, {"number": number, "array": np.full(1000, number)})
        except Exception as error:
            wrong.append(error)

    writers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert wrong == []
    model = read(place)
    assert (model["array"] == model["number"]).all()
    assert os.listdir(fast_folder) == ["model"]


def test_loading_does_not_allocate_the_model(tmp_path):
    n = 25_000_000
    rows = 1000
    matrix = sp.csr_array((rows, 50_000_000), dtype=np.float32)
    matrix.indptr = np.linspace(0, n, rows + 1).astype(np.int32)
    matrix.indices = np.arange(n, dtype=np.int32)
    matrix.data = np.ones(n, dtype=np.float32)
    write(tmp_path / "model", {"weights": matrix})
    assert (tmp_path / "model" / ARRAYS).stat().st_size > 200_000_000
    script = """
import sys, tracemalloc
from pathlib import Path
from longtail.store import read

def anonymous():
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

before = anonymous()
tracemalloc.start()
model = read(sys.argv[1])
print(tracemalloc.get_traced_memory()[1], anonymous() - before, model["weights"].nnz)
"""
    command = [sys.executable, "-c", script, tmp_path / "model"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    traced, grown, stored = map(int, out.split())
    assert stored == n
    assert traced < 4 * 2**20
    assert grown < 16 * 2**20
