"""The built-in data set: what the docstrings of numpy, scipy and scikit-learn are about.

Every public function, class, method and property of the three installed packages that has a
docstring of its own gives one text. Its labels are the modules it lives in (``scipy``,
``scipy.sparse``, ``scipy.sparse.linalg``) and the public objects that its "See Also" section
names. The section itself is cut out of the text, and so is every word that is the last part of
some label's name (`…` stands in their place), so that a label has to be found from what the text
says.

Nothing is downloaded. The result depends on the versions of the three packages only; it is kept in
a cache folder under a name that holds them.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

from longtail.data.dataset import Dataset
from longtail.data.tables import read_jsonl, write_jsonl
from longtail.errors import DataError, LongtailError
from longtail.labels import names_to_matrix

PACKAGES = ("numpy", "scipy", "sklearn")
MIN_COUNT = 2
"""A label that occurs less often is left out."""

_MIN_WORDS = 3
_FORMAT = 2
_NOT_API = {
    *("conftest", "core", "distutils", "estimator_checks", "experimental"),
    *("externals", "f2py", "setup", "test", "tests", "typing"),
}
"""Modules that are tests, tools or vendored code, or whose import switches something on."""

_SEE_ALSO = re.compile(
    r"^See [Aa]lso:?[ \t]*\n-{3,}[ \t]*\n(.*?)(?=^\S[^\n]*\n[-=]{3,}[ \t]*$|\Z)", re.M | re.S
)
_NAME = r"(?::[\w:]+:)?`?~?\.?([A-Za-z_][\w.]*)`?(?:\(\))?"
_NAMES_LINE = re.compile(rf"({_NAME}(?:\s*,\s*{_NAME})*)\s*,?\s*(?::(?:\s.*)?)?$")
_PRINTED_SET = re.compile(r"``\{('\w+'(?:, '\w+')*)\}``")
_DOTTED = re.compile(r"\w+(?:\.\w+)*")
_WORD = re.compile(r"[^\W\d_]{2,}")


def load_api_docs(*, refresh: bool = False) -> Dataset:
    """Docstrings of numpy, scipy and scikit-learn with the modules and names they belong to.

    About 5,000 texts and 1,400 labels, most of them rare; the exact numbers depend on the
    installed versions. The first call collects the texts, which takes some seconds and imports
    the public modules of the three packages; later calls read the cache.

    Parameters
    ----------
    refresh : bool, default False
        Collect again even if the cache has the texts.

    Returns
    -------
    Dataset
        With `texts`, `Y` and `label_names`; `X` is None.

    Notes
    -----
    The cache is the folder named by the environment variable ``LONGTAIL_CACHE``, or else
    ``longtail`` in ``XDG_CACHE_HOME``, or else in the user's cache folder. A cache that cannot be
    read is made again; if it cannot be written, there is none.

    Labels below two occurrences are left out, so a text may have fewer labels than its docstring
    names. Objects that are reachable under several paths, and docstrings that several objects
    share, give one text, under the shortest path.

    Examples
    --------
    >>> from longtail.data import load_api_docs
    >>> docs = load_api_docs()
    >>> len(docs.texts) == docs.Y.shape[0] > 1000
    True
    >>> "scipy.sparse" in docs.label_names
    True
    """
    path = cache_folder() / _cache_name()
    if not refresh:
        with suppress(DataError):
            return replace(read_jsonl(path), name="api-docs")
    rows = collect_rows(PACKAGES)
    Y, names = names_to_matrix(labels for _, labels in rows)
    data = Dataset(None, Y, label_names=names, texts=[text for text, _ in rows], name="api-docs")
    with suppress(LongtailError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(data, path)
    return data


@dataclass(frozen=True)
class _Documented:
    """A public object's docstring, where it is found and in which module."""

    path: str
    module: str
    doc: str


def collect_rows(packages: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Texts with their labels, ordered by the objects' paths. Seconds; O(total text)."""
    modules = [module for package in packages for module in _public_modules(package)]
    objects, canonical = _documented_objects(modules, frozenset(packages))
    labels: dict[str, list[str]] = {}
    for found in objects:
        parts = found.module.split(".")
        prefixes = [".".join(parts[: i + 1]) for i in range(len(parts))]
        named = [_resolve(name, found, canonical) for name in _see_also_names(found.doc)]
        labels[found.path] = sorted({*prefixes, *named})
    frequent = _frequent(labels.values())
    removed = {label.rpartition(".")[2].casefold() for label in frequent} | {"scikit"}
    rows = []
    for found in objects:
        own = {part.casefold() for part in found.module.split(".")}
        text = _without_words(_SEE_ALSO.sub("", found.doc), removed | own)
        if len(_WORD.findall(text)) >= _MIN_WORDS:
            rows.append((text, labels[found.path]))
    frequent = _frequent(kept for _, kept in rows)
    return [(text, [label for label in row if label in frequent]) for text, row in rows]


def _frequent(rows: Iterable[Iterable[str]]) -> set[str]:
    counts = Counter(label for row in rows for label in row)
    return {label for label, count in counts.items() if count >= MIN_COUNT}


def _public_modules(package: str) -> Iterator[ModuleType]:
    """The package and every public module in it that can be imported, parents first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = importlib.import_module(package)
        except KeyboardInterrupt:
            raise
        except BaseException:  # platform-specific modules, missing extras, scripts that exit
            return
        inside = sorted(info.name for info in pkgutil.iter_modules(getattr(module, "__path__", ())))
    yield module
    for name in filter(_is_public, inside):
        yield from _public_modules(f"{package}.{name}")


def _is_public(name: Any) -> bool:
    return isinstance(name, str) and not name.startswith("_") and name not in _NOT_API


def _documented_objects(
    modules: list[ModuleType], packages: frozenset[str]
) -> tuple[list[_Documented], dict[str, str]]:
    """The documented objects by shortest path, and for each public path that shortest one."""
    places: dict[int, list[tuple[str, str]]] = {}
    objects: dict[int, Any] = {}  # keeps them alive, so that their ids stay theirs

    def put(thing: Any, path: str, module: str) -> None:
        objects[id(thing)] = thing
        places.setdefault(id(thing), []).append((path, module))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # access to a deprecated name warns: not part of the API
        for module in modules:
            for name, thing in _public_names(module, packages):
                put(thing, f"{module.__name__}.{name}", module.__name__)
        classes = {id(thing) for thing in objects.values() if inspect.isclass(thing)}
        for number in sorted(classes, key=lambda number: min(places[number])):
            for path, module_name in list(places[number]):
                for name, member in _members(objects[number], classes, packages):
                    put(member, f"{path}.{name}", module_name)
        docs = {number: _own_doc(thing) for number, thing in objects.items()}

    canonical: dict[str, str] = {}
    by_doc: dict[str, _Documented] = {}
    for number, where in places.items():
        best, module_name = min(where, key=lambda place: _shortness(place[0]))
        canonical.update((path, best) for path, _ in where)
        doc = docs[number]
        if doc and (doc not in by_doc or _shortness(best) < _shortness(by_doc[doc].path)):
            by_doc[doc] = _Documented(best, module_name, doc)
    return sorted(by_doc.values(), key=lambda found: found.path), canonical


def _shortness(path: str) -> tuple[int, int, str]:
    return path.count("."), len(path), path


def _public_names(module: ModuleType, packages: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Functions, classes and other callables that a module offers as its own."""
    listed = getattr(module, "__all__", None)
    for name in sorted(filter(_is_public, dir(module) if listed is None else listed)):
        if _is_behind_a_switch(module, name):
            continue
        try:
            thing = getattr(module, name)
            home = getattr(thing, "__module__", None) or type(thing).__module__
        except Exception:
            continue
        if inspect.ismodule(thing) or not callable(thing) or not isinstance(home, str):
            continue
        if home.partition(".")[0] not in packages or (listed is None and home != module.__name__):
            continue
        yield name, _unbound(thing)


def _is_behind_a_switch(module: ModuleType, name: str) -> bool:
    """Whether a name is there only after another import, such as those in `sklearn.experimental`.

    Without that import the module itself refuses the name with an ImportError, so what is
    collected does not depend on what the process has imported before.
    """
    refuse = vars(module).get("__getattr__")
    if refuse is None:
        return False
    try:
        refuse(name)
    except ImportError:
        return True
    except Exception:
        return False
    return False


def _members(cls: type, classes: set[int], packages: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class adds to those of its public bases."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if base is not cls and id(base) in classes:
            seen.update(*map(vars, base.__mro__))
        elif base.__module__.partition(".")[0] in packages:
            for name, member in vars(base).items():
                if not name.startswith("_") and name not in seen:
                    seen.add(name)
                    if callable(member) or hasattr(member, "__get__"):
                        yield name, _unbound(member)


def _unbound(thing: Any) -> Any:
    """The function behind a bound, static or class method, which is one object in every class."""
    return thing.__func__ if isinstance(thing, staticmethod | classmethod | MethodType) else thing


def _own_doc(thing: Any) -> str:
    """The docstring without indentation, empty where it is only that of the object's type.

    Some docstrings are made on import. What differs from run to run in them, printed sets and
    results that "may vary", is put in order or left out.
    """
    try:
        doc, of_type = thing.__doc__, type(thing).__doc__
    except Exception:
        return ""
    if not isinstance(doc, str) or doc == of_type or doc.startswith("Alias for field number"):
        return ""
    doc = _PRINTED_SET.sub(lambda found: f"``{{{', '.join(sorted(found[1].split(', ')))}}}``", doc)
    lines = inspect.cleandoc(doc).splitlines()
    return "\n".join(line for line in lines if "# may vary" not in line).strip()


def _see_also_names(doc: str) -> list[str]:
    """Names listed in a numpydoc "See Also" section, as written.

    Examples
    --------
    >>> _see_also_names("Norm.\\n\\nSee Also\\n--------\\ndet, `linalg.svd` : Two\\n    words.\\n")
    ['det', 'linalg.svd']
    """
    names = []
    for section in _SEE_ALSO.findall(doc):
        for line in section.splitlines():
            entry = _NAMES_LINE.match(line)
            if entry:
                names += [name.rstrip(".") for name in re.findall(_NAME, entry.group(1))]
    return names


def _resolve(name: str, found: _Documented, canonical: dict[str, str]) -> str:
    """The shortest public path of what a docstring calls `name`, or the name where none is known.

    Names are looked up from the inside out: in the object itself, its class, its module, the
    modules around it, then as a full path and in numpy.
    """
    scope = found.path
    while scope:
        if f"{scope}.{name}" in canonical:
            return canonical[f"{scope}.{name}"]
        scope = scope.rpartition(".")[0]
    return canonical.get(name) or canonical.get(f"numpy.{name}") or name


def _without_words(text: str, words: set[str]) -> str:
    """The text with `…` for some words, however written, which dotted names just lose.

    Examples
    --------
    >>> _without_words("Like scipy.linalg.eigh, but Sparse.", {"scipy", "linalg", "sparse"})
    'Like eigh, but ….'
    """

    def keep(match: re.Match[str]) -> str:
        parts = [part for part in match[0].split(".") if part.casefold() not in words]
        return ".".join(parts) or "…"

    text = _DOTTED.sub(keep, text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<=\S)[ \t]+", " ", text)).strip()


def cache_folder() -> Path:
    """Where longtail keeps what it can make again."""
    chosen = os.environ.get("LONGTAIL_CACHE")
    if chosen:
        return Path(chosen)
    default = Path.home() / ".cache"
    if sys.platform == "darwin":
        default = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        default = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "longtail"


def _cache_name() -> str:
    versions = (f"{name}-{importlib.import_module(name).__version__}" for name in PACKAGES)
    return re.sub(r"[^\w.+-]", "_", f"api-docs-{_FORMAT}-{'-'.join(versions)}") + ".jsonl.gz"
