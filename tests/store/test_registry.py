"""Only registered classes come out of a file, and a file imports nothing but longtail's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from longtail.errors import ModelError
from longtail.store import pack, register, unpack
from longtail.store.registry import full_name, registered_class
from tests.store.states import Thing


class Base:
    def __init__(self, x=0):
        self.x = x

    def _to_state(self):
        return {"x": self.x}

    @classmethod
    def _from_state(cls, state):
        return cls(**state)


def test_a_moved_class_is_found_under_its_former_name():
    @register(formerly=("example.old.Moved", "example.older.Moved"))
    class Moved(Base):
        pass

    tree, arrays = pack(Moved(3))
    assert tree["class"] == full_name(Moved)
    for name in (full_name(Moved), "example.old.Moved", "example.older.Moved"):
        back = unpack(tree | {"class": name}, arrays)
        assert type(back) is Moved
        assert back.x == 3


def test_two_classes_cannot_share_a_name():
    with pytest.raises(ValueError, match=r"'example\.Thing' is already that of .*Thing"):
        register(name="example.Thing")(Base)


def test_a_class_may_be_defined_again():
    def define():
        @register
        class Again(Base):
            pass

        return Again

    first, second = define(), define()
    assert registered_class(full_name(first)) is second


def test_a_class_without_the_methods_cannot_be_registered():
    with pytest.raises(TypeError, match="int has no method _to_state"):
        register(int)


def test_a_subclass_is_not_registered_with_its_base():
    class Special(Thing):
        pass

    with pytest.raises(ModelError, match=r"Special cannot be stored .* register its class"):
        pack({"part": Special()})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "os.system",
        "antigravity.x",
        "a" * 5000,
        "longtail",
        "longtail\n.a",
        "longtail.a\n",
        "longtail..b",
        ".longtail.b",
        "longtailx.a",
        "xlongtail.a.B",
        "longtail.a/../b.C",
        "longtail.é.x",
        "longtail." * 50 + "x",
        "longtail.__main__.x",
        "longtail.cli.__main__.x",
        "longtail.store.__init__.x",
    ],
)
def test_a_foreign_name_imports_nothing(name, monkeypatch):
    def refuse(module, package=None):
        raise AssertionError(f"{module} was imported")

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(ModelError, match="import the module that defines it first"):
        registered_class(name)


@pytest.mark.parametrize(
    "name", ["longtail.errors.ModelError", "longtail.store.no_such.Thing", "longtail.nowhere.x.Y"]
)
def test_a_name_of_ours_that_is_not_registered_is_refused(name):
    with pytest.raises(ModelError, match="not one that this longtail stores"):
        registered_class(name)


def test_a_class_of_ours_is_found_by_importing_its_module(tmp_path):
    script = """
import sys, types, importlib.abc, importlib.machinery
import longtail
from longtail.store import unpack

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "longtail.example":
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec('''
from longtail.store import register
class Outer:
    @register
    class Inner:
        def _to_state(self): return {}
        @classmethod
        def _from_state(cls, state): return cls()
''', module.__dict__)

sys.meta_path.append(Finder())
value = unpack({"$": "object", "class": "longtail.example.Outer.Inner", "state": {}}, {})
print(type(value).__qualname__)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "Outer.Inner"


def test_a_missing_dependency_of_ours_is_named(monkeypatch):
    def fail(module, package=None):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(ModelError, match="needs torch, which is not installed"):
        registered_class("longtail.methods.prototypes.Deep")
