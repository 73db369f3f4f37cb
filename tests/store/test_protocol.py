"""A file names what it holds; only tables, entry points and imported modules say what that is."""

from __future__ import annotations

import sys
import types

import pytest

from longtail.errors import ModelError, ParameterError
from longtail.store import (
    Storable,
    StoredEstimator,
    add_finder,
    find_class,
    pack,
    protocol,
    register,
    unpack,
)
from longtail.store.protocol import import_class, stored_name
from tests.store.states import Thing


class Base:
    def __init__(self, x=0):
        self.x = x

    def to_state(self):
        return {"x": self.x}

    @classmethod
    def from_state(cls, state):
        return cls(**state)


def named(name, module=__name__):
    """A new class under a name, as if it were defined in a module."""
    return type("Named", (Base,), {"stored_as": name, "__module__": module})


@pytest.fixture
def finders(monkeypatch):
    """The finders, and the classes they found, as they were before the test."""
    monkeypatch.setattr(protocol, "_finders", list(protocol._finders))
    monkeypatch.setattr(protocol, "_classes", dict(protocol._classes))


def test_two_classes_cannot_share_a_name():
    with pytest.raises(ValueError, match=r"'example-thing' is already that of .*Thing; choose"):
        register(named("example-thing", "elsewhere"))


def test_a_class_may_be_defined_again():
    first, second = register(named("example-again")), register(named("example-again"))
    assert first is not second
    assert find_class("example-again") is second
    assert stored_name(first) is None


@pytest.mark.parametrize("cls", [int, Base, named(""), named(3), types.SimpleNamespace])
def test_a_class_without_name_and_methods_cannot_be_registered(cls):
    with pytest.raises(TypeError, match=r"stored_as, and the methods to_state and from_state"):
        register(cls)
    assert stored_name(cls) is None


def test_a_subclass_is_not_registered_with_its_base():
    class Special(Thing):
        pass

    with pytest.raises(ModelError, match=r"Special cannot be stored .* a name of its own"):
        pack({"part": Special()})


def test_a_subclass_of_an_estimator_is_stored_under_a_name_of_its_own_only():
    class Centre(StoredEstimator):
        stored_as = "example-centre-of-a-test"

    class Moved(Centre):
        pass

    class Renamed(Centre):
        stored_as = "example-renamed"

    assert isinstance(Centre(), Storable)
    assert type(unpack(*pack(Centre()))) is Centre
    assert type(unpack(*pack(Renamed()))) is Renamed
    with pytest.raises(ModelError, match=r"Moved cannot be stored .* a name of its own"):
        pack(Moved())


@pytest.mark.parametrize(
    "name", ["", "os.system", "antigravity", "a" * 5000, "longtail.tagger", "tests\n", "../x", "é"]
)
def test_a_foreign_name_imports_nothing(name, monkeypatch):
    def refuse(module, package=None):
        raise AssertionError(f"{module} was imported")

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(ModelError, match="nothing here is called") as caught:
        find_class(name)
    assert len(str(caught.value)) < 250


def test_finders_are_asked_in_turn_and_only_for_what_is_not_known(finders):
    found, asked = named("example-found"), []
    add_finder(lambda name: asked.append(("first", name)))
    add_finder(lambda name: asked.append(("second", name)) or found)
    add_finder(lambda name: asked.append(("third", name)))
    for _ in range(2):
        assert find_class("example-found") is found
    assert asked == [("first", "example-found"), ("second", "example-found")]
    assert type(unpack(*pack(found(3)))) is found
    assert find_class("example-thing") is Thing
    assert len(asked) == 2


def test_a_package_that_cannot_be_imported_is_named(finders):
    add_finder(lambda name: import_class(name, "no_such_package:Model"))
    with pytest.raises(ModelError, match=r"'theirs' cannot be imported from no_such_package:Model"):
        find_class("theirs")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("raise RuntimeError('no GPU')", r"RuntimeError: no GPU"),
        ("", r"AttributeError"),
        ("Model = 3", "no class that the store can keep"),
        ("class Model: stored_as = 'theirs'", "no class that the store can keep"),
        (
            "class Model:\n stored_as = 'other'\n to_state = from_state = print",
            "no class that the store can keep under this name",
        ),
    ],
)
def test_what_an_entry_point_leads_to_is_looked_at(content, says, tmp_path, monkeypatch):
    (tmp_path / "their_package.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_package", raising=False)
    with pytest.raises(ParameterError, match=says):
        import_class("theirs", "their_package:Model")
