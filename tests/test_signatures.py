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

import griffe
import pytest

import longtail
from longtail.choosing import Limits
from longtail.data import make_longtail, make_mixture, train_test_split
from longtail.errors import ParameterError
from longtail.features import RowScaler, TextFeatures
from longtail.methods.catalogue import FILE, START, catalogue_text, page_text
from longtail.methods.codes import RobustBloom
from longtail.methods.registry import methods
from longtail.parameters import declared
from longtail.tagger import Tagger
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
    "k": {"top", "topk", "top_k", "n_top", "n_best", "ranks"},
    "decoding": {"way"},
    "target": {"measure"},
    "max_cluster_size": {"max_size"},
    "numbers_of_components": {"sizes", "n_components_list"},
    "Y_score": {"scores", "y_score"},
    "Y_pred": {"predicted", "y_pred"},
}
"""The word of this library -> words that others have for the same."""


def test_the_page_is_what_the_classes_declare():
    assert PAGE.partition(START)[2].strip() == page_text().strip(), "run make signatures"


def test_the_catalogue_is_what_the_classes_declare():
    assert FILE.read_text() == catalogue_text(), "run make signatures"


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


@pytest.mark.parametrize("owner", [*methods(), TextFeatures, RowScaler, Tagger])
def test_every_parameter_is_told_in_the_docstring(owner):
    owner = methods()[owner].estimator if isinstance(owner, str) else owner
    told = inspect.getdoc(owner)
    assert told.count("\nParameters\n") == 1
    section = " ".join(told.partition("\nParameters\n")[2].partition("\nAttributes\n")[0].split())
    for name, parameter in declared(owner).items():
        assert len(parameter.sentence.split()) >= 2, name
        assert f" {name} : {parameter.kind.removeprefix('a ')}, default" in section, name
        assert " ".join(parameter.sentence.split()) in section, name


def test_parameters_are_keywords_with_defaults_and_types():
    for method in methods().values():
        for name, given in inspect.signature(method.estimator).parameters.items():
            assert given.kind is given.KEYWORD_ONLY, (method.name, name)
            assert given.default is not given.empty, (method.name, name)
            assert given.annotation is not given.empty, (method.name, name)


def test_every_default_is_allowed_and_everything_is_checked():
    class Nothing:
        """Of no kind that a parameter may have."""

    for method in methods().values():
        for name, parameter in method.parameters.items():
            parameter.check(parameter.default)
            if name in ("encoder", "decoder"):  # a network of one's own is checked in training
                continue
            with pytest.raises(ParameterError, match=f"^{name} must be .*, not <"):
                parameter.check(Nothing())


def test_shared_parameters_have_one_type():
    kinds = defaultdict(set)
    for method in methods().values():
        for name, parameter in method.parameters.items():
            kinds[name].add(parameter.hint)
    for name in ("n_jobs", "random_state", "tol", "max_iter", "max_rounds", "validation", "folds"):
        assert len(kinds[name]) == 1, (name, kinds[name])


def test_the_reference_page_shows_them():
    extensions = griffe.load_extensions(ROOT / "docs" / "_docstrings.py")
    module = griffe.load("longtail.methods.linear.dismec", extensions=extensions)
    assert "\nParameters\n" in module["DiSMEC"].docstring.value


@pytest.mark.parametrize("word", SYNONYMS)
def test_there_is_one_word_for_one_thing(word):
    used = {name for method in methods().values() for name in method.parameters}
    assert not used & SYNONYMS[word]


def test_what_was_learned_is_named_after_the_parameter():
    """`C_` and `Cs_` are of the methods with a C, `strength_` and `strengths_` of those with it."""
    seen = set()
    for name, method in methods().items():
        learned = {
            word for base in method.estimator.__mro__ for word in inspect.get_annotations(base)
        }
        for parameter in ("C", "strength"):
            found = learned & {f"{parameter}_", f"{parameter}s_"}
            seen |= found
            given = {parameter, f"{parameter}s"} & set(method.parameters)
            assert not found or given, (name, found)
    assert seen >= {"C_", "Cs_", "strength_"}


def public_names():
    """(package, name, what it is) of all that a package of the library offers."""
    packages = [info.name for info in pkgutil.walk_packages(longtail.__path__, "longtail.")]
    for name in ("longtail", *packages):
        if not any(part.startswith("_") or part == "cli" for part in name.split(".")):
            module = importlib.import_module(name)
            for public in getattr(module, "__all__", ()):
                yield name, public, getattr(module, public)


def test_public_functions_speak_the_same_language():
    """`k` is the length of a ranking, so only what looks for neighbours may not have it."""
    words = (
        "n_jobs", "random_state", "tol", "memory_limit", "time_limit", "propensity_constants", "k",
    )  # fmt: skip
    strange = set().union(*(SYNONYMS[word] for word in words))
    seen = set()
    for module, name, public in public_names():
        if not inspect.isfunction(public):
            continue
        given = set(inspect.signature(public).parameters)
        seen |= given
        drawn = {"seed"} if module == "longtail.papers" else set()  # a paper's trial by number
        assert not given & strange - drawn, (module, name)
        if module != "longtail.report":  # which draws any measure, and the sizes of any sets
            others = ("decoding", "target", "max_cluster_size", "numbers_of_components")
            assert not given & set().union(*map(SYNONYMS.get, others)), (module, name)
        if "Y_true" in given:
            assert not given & (SYNONYMS["Y_score"] | SYNONYMS["Y_pred"]), (module, name)
        if module in ("longtail.methods.neighbors", "longtail.methods.prototypes"):
            assert not given & SYNONYMS["n_neighbors"], (module, name)
    assert set(words) - {"time_limit", "memory_limit"} <= seen
    assert {"decoding", "target", "max_cluster_size", "Y_score", "Y_pred"} <= seen
    assert set(inspect.signature(Limits).parameters) == {"time_limit", "memory_limit"}


def test_a_random_state_is_never_left_to_chance():
    seen = set()
    for module, name, public in public_names():
        inside = inspect.getmembers(public, inspect.isfunction) if inspect.isclass(public) else ()
        for within, function in [("", public), *inside]:
            made = inspect.isclass(function) and "__init__" in vars(function)
            if inspect.isroutine(function) or made:
                given = inspect.signature(function).parameters.get("random_state")
                if given is not None and given.default is not given.empty:
                    seen.add(f"{name}.{within}".rstrip("."))
                    assert given.default == 0, (module, name, within)
    assert {"make_longtail", "make_mixture", "train_test_split", "Dataset.split"} <= seen


@pytest.mark.parametrize("wrong", [True, -1, 0.5, "0"])
def test_every_random_state_is_refused_in_one_sentence(wrong):
    data = make_longtail(60, 40, 10)
    for call in (
        lambda: make_longtail(60, 40, 10, random_state=wrong),
        lambda: make_mixture(20, random_state=wrong),
        lambda: train_test_split(data, random_state=wrong),
        lambda: data.split(random_state=wrong),
        lambda: RobustBloom(random_state=wrong).fit(data.X, data.Y),
    ):
        with pytest.raises(ParameterError, match="random_state must be a whole number from 0"):
            call()


def test_whole_numbers_are_refused_in_one_place():
    sources = (ROOT / "src" / "longtail").rglob("*.py")
    said = [path.name for path in sources if "a whole number from {" in path.read_text()]
    assert said == ["parameters.py"]


def test_a_public_name_is_one_thing():
    meanings = defaultdict(dict)
    for module, name, public in public_names():
        meanings[name][id(public)] = module
    twice = {name: set(found.values()) for name, found in meanings.items() if len(found) > 1}
    assert not twice, twice


NOT_USE = re.compile(r"_check_\w+|_estimate|_estimate_of|_needed|_identity")
"""Functions that check a parameter, say what it will cost, or name a checkpoint by it."""


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
            if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
                continue
            if not NOT_USE.fullmatch(function.name):
                read |= _reads(function, "self")
                hands_on |= any(_is_given(node, "self") for node in ast.walk(function))
    if hands_on:
        for path in Path(inspect.getfile(cls)).parent.glob("*.py"):
            read |= _settings_read(ast.parse(path.read_text()), cls.__name__)
    return read


def _settings_read(tree, name):
    """What functions read of a `settings` that is such a classifier, or that their object has."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or NOT_USE.fullmatch(node.name):
            continue
        taken = {word.arg for word in node.args.args if _is_named(word.annotation, name)}
        for part in ast.walk(node):  # settings = self.settings, also as one of several
            if isinstance(part, ast.Assign) and "self.settings" in ast.unparse(part.value):
                taken |= {"settings"}
        for thing in ("self.settings", *taken):
            found |= _reads(node, thing)
    return found


def _is_named(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _is_given(node, name):
    """Whether this is a call of a training that gets the whole classifier."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith("train_")
        and any(_is_named(argument, name) for argument in node.args)
    )


def _reads(tree, thing):
    """The attributes of a thing that are read."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node.value) == thing
    }


def test_no_parameter_is_idle():
    for name, method in methods().items():
        idle = set(method.parameters) - names_read(method.estimator)
        # given on by name, such as getattr(self, name) for name in a tuple of names
        text = inspect.getsource(sys.modules[method.estimator.__module__])
        named = {word for word in idle if f'"{word}"' in text.partition("class ")[0]}
        assert idle <= named, (name, idle - named)
