"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
collect_ignore = ["preloaded.py"]
LONG_RUN = 1000  # tests
LIMIT = 0.01  # minutes that a method of `all_compared` may take by its own account


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a base class decides is exhaustive for all methods but the representatives."""
    from tests.instances import AT_THE_DOOR, REPRESENTATIVES

    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        given = parameters.get("classifier", parameters.get("estimator"))
        check = getattr(parameters.get("check"), "func", None)
        at_the_door = check is not None and check.__name__ in AT_THE_DOOR
        decided = at_the_door or item.get_closest_marker("base_decides") is not None
        if decided and getattr(given, "method", None) not in {None, *REPRESENTATIVES}:
            item.add_marker(pytest.mark.exhaustive)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Compile a share of the kernels, and keep the heap out of later collections of garbage: there
    are thousands of tests and the compiler's records, and measuring memory collects each time."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None and len(session.items) > LONG_RUN:
        from tests.compiling import compile_share

        compile_share(int(worker.removeprefix("gw")))
    gc.collect()
    gc.freeze()


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, for tests that bring hundreds of files to the disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="longtail-test-", dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real benchmark sets: LONGTAIL_DATA, or `shared/data` beside the project."""
    folder = Path(os.environ.get("LONGTAIL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no benchmark sets at {folder}; set LONGTAIL_DATA to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def all_compared(tmp_path_factory) -> tuple[Any, Path]:
    """What `compare --methods all` says of tiny data, and its page."""
    from longtail.data import make_longtail, save
    from tests.cli.conftest import call

    folder = tmp_path_factory.mktemp("all")
    save(make_longtail(150, 60, 12, labels_per_sample=2, random_state=0), folder / "data.txt")
    words = ["compare", folder / "data.txt", "-m", "all", "--time-limit", LIMIT, "-q"]
    outcome = call(*words, "--json", "--report", folder / "out.html")
    assert outcome.code == 0
    return outcome.json, folder / "out.html"
