"""One language: the page with all constructors is what the code says, and no parameter is idle."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import longtail
from longtail.cli._docstrings import parameter_docs
from longtail.comparison import Limits
from longtail.methods import methods
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "signatures.md").read_text()
SYNONYMS = {
    "n_jobs": {"jobs", "n_threads", "num_threads", "workers", "n_workers", "threads"},
    "random_state": {"seed", "rng", "random_seed"},
    "strength": {"lam", "lambda_", "reg", "regularization", "penalty_weight", "l1", "l2"},
    "tol": {"eps", "epsilon", "tolerance"},
    "max_iter": {"n_iter", "max_steps", "iterations", "n_iterations", "max_iterations"},
    "max_rounds": {"n_rounds", "epochs", "n_epochs", "max_epochs"},
    "n_neighbors": {"n_neighbours", "neighbors", "neighbours", "k"},
    "folds": {"cv", "n_splits", "n_folds"},
    "validation": {"val", "val_size", "validation_fraction", "validation_size", "held_out"},
    "memory_limit": {"max_memory", "memory", "bytes", "max_bytes", "gigabytes"},
    "time_limit": {"max_time", "minutes", "timeout"},
    "propensity_constants": {"constants", "a", "b"},
    "code_size": {"n_codes", "n_projections", "code_length"},
    "threshold": {"cutoff", "cut", "min_score"},
}
"""The word of this library -> words that others have for the same."""


def used_by_default():
    """parameter -> default -> methods."""
    found = defaultdict(lambda: defaultdict(list))
    for name, method in methods().items():
        for parameter, given in method.parameters.items():
            found[parameter][_spelled(given.default)].append(name)
    return found


def _spelled(value):
    return f"{value:g}" if isinstance(value, float) else repr(value)


def rows_of_page():
    """parameter -> its default -> methods, and its meaning, as the tables have them."""
    rows = {}
    for line in PAGE.splitlines():
        cells = re.fullmatch(r"\| `(\w+)` \| (`.+`.*?) \| (.+) \|", line)
        if cells:
            assert cells[1] not in rows, f"{cells[1]} is told twice"
            told = {}
            for part in cells[2].split("; "):
                default, where = re.fullmatch(r"`(.+?)`(?: in (.+))?", part).groups()
                told[default] = where.split(", ") if where else sorted(methods())
            rows[cells[1]] = (told, cells[3])
    return rows


def test_every_parameter_stands_on_the_page_with_its_defaults():
    rows = rows_of_page()
    assert sorted(rows) == sorted(used_by_default())
    for parameter, defaults in used_by_default().items():
        told, meaning = rows[parameter]
        assert told == defaults, parameter
        assert len(meaning.split()) >= 3, parameter


def test_every_constructor_stands_on_the_page():
    for name, method in methods().items():
        arguments = ", ".join(
            f"{parameter}={_spelled(given.default)}"
            for parameter, given in method.parameters.items()
        )
        shown = f"{name}: {method.estimator.__name__}({arguments})"
        assert shown in re.sub(r"\n {4,}", " ", PAGE), shown


def test_the_example_of_the_page_runs():
    code = re.search(r"```python\n(.*?)```", PAGE, flags=re.S).group(1)
    exec(compile(code, "signatures.md", "exec"), {})


def test_options_of_the_command_line_have_the_names_of_parameters():
    used = set()
    for path in (ROOT / "src" / "longtail" / "cli").glob("*.py"):
        used |= set(re.findall(r"\"--([a-z-]+)\"", path.read_text()))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                used |= {
                    argument.arg.replace("_", "-")
                    for argument in node.args.args
                    if "typer.Option(help" in ast.unparse(argument)
                }
    assert {"n-jobs", "random-state", "memory-limit", "test-size"} <= used
    strange = set().union(*SYNONYMS.values()) - {"k", "l1", "l2"}
    assert not {word.replace("-", "_") for word in used} & strange


def test_every_parameter_is_told_in_the_docstring():
    for method in methods().values():
        told = parameter_docs(method.estimator)
        assert all(told[name].about for name in method.parameters), method.name


def test_parameters_are_keywords_with_defaults_and_types():
    for method in methods().values():
        for name, given in method.parameters.items():
            assert given.kind is given.KEYWORD_ONLY, (method.name, name)
            assert given.default is not given.empty, (method.name, name)
            assert given.annotation is not given.empty, (method.name, name)


def test_shared_parameters_have_one_type():
    kinds = defaultdict(set)
    for method in methods().values():
        for name, given in method.parameters.items():
            kinds[name].add(given.annotation)
    for name in ("n_jobs", "random_state", "tol", "max_iter", "max_rounds", "validation", "folds"):
        assert len(kinds[name]) == 1, (name, kinds[name])


@pytest.mark.parametrize("word", SYNONYMS)
def test_there_is_one_word_for_one_thing(word):
    used = {name for method in methods().values() for name in method.parameters}
    assert not used & SYNONYMS[word]


def public_names():
    """(package, name, what it is) of all that a package of the library offers."""
    for found in (None, *pkgutil.iter_modules(longtail.__path__)):
        if found is None or not (found.name.startswith("_") or found.name == "cli"):
            name = "longtail" if found is None else f"longtail.{found.name}"
            module = importlib.import_module(name)
            for public in getattr(module, "__all__", ()):
                yield name, public, getattr(module, public)


def test_public_functions_speak_the_same_language():
    """`k` is the length of a ranking, so only what looks for neighbours may not have it."""
    words = ("n_jobs", "random_state", "tol", "memory_limit", "time_limit", "propensity_constants")
    strange = set().union(*(SYNONYMS[word] for word in words))
    seen = set()
    for module, name, public in public_names():
        if not inspect.isfunction(public):
            continue
        given = set(inspect.signature(public).parameters)
        seen |= given
        drawn = {"seed"} if module == "longtail.published" else set()  # a paper's trial by number
        assert not given & strange - drawn, (module, name)
        if module in ("longtail.neighbors", "longtail.prototypes"):
            assert not given & SYNONYMS["n_neighbors"], (module, name)
    assert set(words) - {"time_limit", "memory_limit"} <= seen
    assert set(inspect.signature(Limits).parameters) == {"time_limit", "memory_limit"}


def test_a_public_name_is_one_thing():
    meanings = defaultdict(dict)
    for module, name, public in public_names():
        meanings[name][id(public)] = module
    twice = {name: set(found.values()) for name, found in meanings.items() if len(found) > 1}
    assert twice.pop("load") >= {"longtail.data"}  # data there, models everywhere else
    assert set(twice) <= {"Choice", "Scorer"}, twice


NOT_USE = {"__init__", "_check_parameters", "_estimate", "_estimate_of", "_needed"}
"""Functions that store a parameter, check it, or say what it will cost."""


def names_read(cls):
    """Attributes of itself that a class reads where it does not merely store or check them, or say
    what they will cost, and what is read of settings that it hands on whole."""
    read, hands_on = set(), False
    for base in cls.__mro__:
        if not base.__module__.startswith("longtail"):
            continue
        tree = ast.parse(inspect.getsource(sys.modules[base.__module__]))
        own = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == base.__name__)
        for function in own.body:
            if not isinstance(function, ast.FunctionDef):
                continue
            if function.name in NOT_USE:
                continue
            read |= {word for thing, word in _reads(function) if thing == "self"}
            hands_on |= "Settings(**self.get_params" in ast.unparse(function)
    if hands_on:
        folder = Path(inspect.getfile(cls)).parent
        for path in folder.glob("*.py"):
            read |= {
                word for thing, word in _reads(ast.parse(path.read_text())) if thing == "settings"
            }
    return read


def _reads(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            thing = ast.unparse(node.value)
            yield ("settings" if thing.endswith("settings") else thing), node.attr


def test_no_parameter_is_idle():
    for name, method in methods().items():
        idle = set(method.parameters) - names_read(method.estimator)
        # given on by name, such as getattr(self, name) for name in a tuple of names
        text = inspect.getsource(sys.modules[method.estimator.__module__])
        named = {word for word in idle if f'"{word}"' in text.partition("class ")[0]}
        assert idle <= named, (name, idle - named)
