"""The map of the code: every part speaks to the others by their public names alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache

import pytest

import longtail
from longtail.methods.registry import OURS, methods
from tests.conftest import ROOT

SOURCE = ROOT / "src" / "longtail"
FILES = sorted(SOURCE.rglob("*.py"))
FAMILIES = {home.partition(":")[0] for home in OURS.values()}
LARGEST = 500  # lines of a file; most have fewer than 400


def folder_of(path):
    """The folder that a file lies in, as words; a file beside the folders is one of its own."""
    words = ("longtail", *path.relative_to(SOURCE).with_suffix("").parts)
    return words if len(words) == 2 else words[:-1]


def owner_of(name):
    """The folder whose own a dotted name is, or None: that of its first private word.

    A private name in a module is the own of the module's folder.
    """
    at = next((at for at, word in enumerate(name) if re.match(r"_(?!_)", word)), None)
    if at is None or name[0] != "longtail":
        return None
    module = SOURCE.joinpath(*name[1:at]).with_suffix(".py")
    return folder_of(module) if at > 1 and module.is_file() else tuple(name[:at])


def is_inside(path, folder):
    """Whether a file lies in a folder, or below it."""
    return folder_of(path)[: len(folder)] == folder


def private_imports(path, text):
    """Imports of what is private to a folder that the file does not lie in, as (line, what)."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            named = [[*(node.module or "").split("."), alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            named = [alias.name.split(".") for alias in node.names]
        else:
            continue
        for name in named:
            owner = owner_of(name)
            if owner is not None and not is_inside(path, owner):
                found.append((node.lineno, ".".join(name)))
    return found


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("from longtail.solvers._growing import Growth", True),
        ("from longtail.solvers.linear.fit import _fit", True),
        ("import longtail.solvers.linear._loss_kernels", True),
        ("from longtail.base import _plain", True),
        ("from longtail.methods.linear._ccd_labels import Settings", True),
        ("from longtail.methods.linear.proxml import _checked", True),
        ("from longtail.methods._linear import LinearClassifier", False),
        ("from longtail.methods.registry import _known", False),
        ("from longtail.methods.pairs._counts import as_counts", False),
        ("from longtail._sparse import ranked", False),
        ("from longtail import __version__", False),
        ("from numpy import _core", False),
    ],
)
def test_private_imports_are_seen(line, refused):
    assert bool(private_imports(SOURCE / "methods" / "pairs" / "x.py", line)) is refused


def test_no_folder_imports_what_is_private_to_another():
    found = {str(path): private_imports(path, path.read_text()) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_files_say_what_they_are_for_and_are_of_a_size_to_read():
    for path in FILES:
        text = path.read_text()
        assert ast.get_docstring(ast.parse(text)), path
        assert len(text.splitlines()) <= LARGEST, path


PARTS = {
    path.stem
    for path in SOURCE.iterdir()
    if not path.name.startswith("_") and path.suffix in ("", ".py")
}


def test_the_page_shows_every_part():
    page = (ROOT / "docs" / "architecture.md").read_text()
    shown = set(re.findall(r"`([a-z_]+)(?:/|\.py)`", page))
    assert PARTS - shown == set()
    assert shown >= FAMILIES


def test_every_part_is_there_after_the_import():
    script = (
        "import sys, longtail\n"
        "for part in sys.argv[1:]:\n"
        "    assert getattr(longtail, part).__name__ == f'longtail.{part}', part\n"
        "    assert part in dir(longtail), part\n"
    )
    subprocess.run([sys.executable, "-c", script, *sorted(PARTS)], check=True)


def test_every_name_of_longtail_is_there_and_known_to_type_checkers():
    for name in longtail.__all__:
        assert getattr(longtail, name) is not None
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {alias.name for line in block.body for alias in line.names}
    assert told == set(longtail.__all__) - {"__version__"}


def test_every_classifier_can_be_imported_from_longtail():
    assert {method.estimator.__name__ for method in methods().values()} <= set(longtail.__all__)


NAMED_TUPLES = {"_asdict", "_fields", "_replace"}  # public, as Python documents them


def private_uses(path):
    """Private attributes of other objects that no file defines whose folder this one lies in;
    classifiers have those of their base as well."""
    own = set(NAMED_TUPLES)
    for each in FILES:
        is_base = each == SOURCE / "base.py" and is_inside(path, ("longtail", "methods"))
        if is_base or is_inside(path, folder_of(each)):
            own |= _defined(each)
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            mine |= ast.unparse(node.value) == "super()"
            if not mine and node.attr not in own:
                found.append((node.lineno, ast.unparse(node)))
    return found


@cache
def _defined(path):
    """Names with an underscore that a file defines: functions, attributes, classes, values."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def test_no_folder_calls_what_is_private_to_another():
    found = {str(path): private_uses(path) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_page_of_the_solvers_names_every_method():
    page = (ROOT / "docs" / "solvers.md").read_text("utf-8")
    table = page.partition("## Which methods stand on it")[2].partition("\n## ")[0]
    assert set(methods()) <= set(re.findall(r"`([\w-]+)`", table))


def test_one_look_up_imports_one_family():
    script = (
        "import sys\n"
        "from longtail.methods import find_method\n"
        "find_method('proxml').estimator\n"
        "print(*sorted({name.split('.')[2] for name in sys.modules\n"
        "               if name.startswith('longtail.methods.') and '._' not in name}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["linear", "registry"]


def test_the_registry_names_its_methods_and_no_class_is_forgotten():
    for name, method in methods().items():
        assert method.estimator.method == name
    found = set()
    for path in (SOURCE / "methods").rglob("*.py"):
        found |= set(re.findall(r'^    method: ClassVar\[str\] = "(.+)"$', path.read_text(), re.M))
    assert found == set(OURS)
