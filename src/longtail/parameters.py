"""Parameters, declared once: in the signature of the constructor that takes them.

    def __init__(
        self,
        *,
        C: Annotated[Positive, "Weight of the errors against the penalty."] = 1.0,
        loss: Annotated[Literal["hinge", "logistic"], "What counts as an error."] = "hinge",
        n_jobs: Jobs = None,
    ) -> None:

The type says of which kind a value is, a `Must` which values are allowed, and a sentence what the
parameter does; words in a `Literal`, and True and False, need no `Must`. Names such as `Positive`
stand for a type with its `Must`, names such as `Jobs` for a whole declaration that many classes
share. `declared` reads what a class declares; checks, docstrings, `--set name=value` and the page
with all constructors are made of it.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

from longtail.errors import ParameterError

# ---- kinds of values -------------------------------------------------------------------------


def is_count(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number from `least` on; True and False are none."""
    return _is_whole(value) and bool(value >= least)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


@dataclass(frozen=True)
class Must:
    """What a value must be.

    Attributes
    ----------
    text : str
        What follows "must be" if it is not.
    allows : callable
        Whether a value is that; without one, nothing is checked.
    remedy : str
        What to do, where the text does not say it.
    """

    text: str
    allows: Callable[[Any], bool] = lambda _: True
    remedy: str = ""


MOST = 10**9
"""The largest count without a limit of its own: more cannot be meant, and kernels count so far."""


def at_least(least: int, most: int = MOST) -> Must:
    """A whole number within bounds.

    What decides how much time or memory a loaded model takes needs a bound of its own, since a
    model folder may come from anyone.

    Examples
    --------
    >>> at_least(2).text, at_least(1, 5).allows(6)
    ('a whole number from 2 to 10**9', False)
    """
    zeros = len(str(most)) - 1
    end = f"10**{zeros}" if most >= 10**5 and most == 10**zeros else f"{most}"
    return Must(
        f"a whole number from {least} to {end}",
        lambda value: is_count(value, least) and value <= most,
    )


def each(kind: Must) -> Must:
    """A list of at least one value, all of a kind."""
    return Must(
        f"a list of at least one value, each {kind.text}",
        lambda values: (
            isinstance(values, list | tuple | np.ndarray)
            and len(values) > 0
            and all(kind.allows(value) for value in values)
        ),
    )


POSITIVE = Must(
    "a positive, finite number", lambda value: is_number(value) and 0 < value < math.inf
)
NOT_NEGATIVE = Must(
    "zero or a positive number", lambda value: is_number(value) and 0 <= value < math.inf
)
LIMIT = Must("a positive number, or inf for no limit", lambda value: is_number(value) and value > 0)
SHARE = Must("a share between 0 and 1", lambda value: is_number(value) and 0 < value < 1)
MOST_JOBS = 1024
JOBS = Must(
    f"a whole number from -{MOST_JOBS} to {MOST_JOBS} other than 0, or None",
    lambda value: value is None or (_is_whole(value) and 0 < abs(value) <= MOST_JOBS),
    "use 1 for one thread or -1 for all cores",
)
SEED = Must(
    "a whole number from 0 to 2**32 - 1", lambda value: is_count(value, 0) and value < 2**32
)

Positive = Annotated[float, POSITIVE]
NotNegative = Annotated[float, NOT_NEGATIVE]
Share = Annotated[float, SHARE]
ShareOrZero = Annotated[
    float,
    Must("a share from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1),
]
UpToOne = Annotated[
    float,
    Must("a number above 0 and at most 1", lambda value: is_number(value) and 0 < value <= 1),
]
Count = Annotated[int, at_least(1)]
CountFromZero = Annotated[int, at_least(0)]
CountFromTwo = Annotated[int, at_least(2)]

# ---- declarations that many classes share ----------------------------------------------------

Jobs = Annotated[
    int | None,
    JOBS,
    "Threads, as in scikit-learn: None is one, -1 all cores. The model does not depend on it.",
]
Seed = Annotated[
    int | None,
    SEED,
    "Seed of all that is random: the same seed gives the same model. None takes another seed in "
    "every fit.",
]
MemoryLimit = Annotated[
    float,
    LIMIT,
    "GB of memory; training that would need more is refused with an estimate.",
]
ErrorWeight = Annotated[
    Positive, "Weight of the errors against the penalty ½‖w‖²; the larger, the closer the fit."
]
Prune = Annotated[
    NotNegative, "Weights of smaller magnitude are dropped after training; 0 keeps all."
]
RelativeGap = Annotated[
    Positive, "Relative distance to the optimal objective at which a problem counts as solved."
]
NewtonSteps = Annotated[Count, "Limit on Newton steps per problem."]
Folds = Annotated[CountFromTwo, "Parts that the points are cut into; each is held out in turn."]

# ---- reading declarations --------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """One parameter of a class.

    Attributes
    ----------
    name : str
        As the constructor takes it.
    hint : type
        Its type, without what was annotated.
    default : object
        What holds if it is not given.
    sentence : str
        What it does; empty if the class does not say it.
    musts : tuple of Must
        Kinds of values of which one must allow a value; empty if nothing is checked.
    """

    name: str
    hint: Any
    default: Any
    sentence: str
    musts: tuple[Must, ...]

    @property
    def optional(self) -> bool:
        """Whether None is allowed."""
        allowed = any(must.allows(None) for must in self.musts)
        return allowed or type(None) in _options(self.hint)

    @property
    def kind(self) -> str:
        """Which values it takes, in words."""
        options = [kind for kind in _options(self.hint) if kind is not type(None)]
        kinds = [must.text for must in self.musts] or [_spell(kind) for kind in options]
        if self.optional and not any("None" in kind for kind in kinds):
            kinds.append("None")
        *others, last = kinds
        comma = "," if any("," in kind or "number" in kind for kind in others) else ""
        return f"{', '.join(others)}{comma} or {last}" if others else last

    def check(self, value: Any) -> None:
        """Refuse a value that is none of the kinds, with one sentence."""
        if value is None and self.optional:
            return
        if self.musts and not any(must.allows(value) for must in self.musts):
            remedy = "".join(f"; {must.remedy}" for must in self.musts if must.remedy)
            raise ParameterError(f"{self.name} must be {self.kind}, not {_shown(value)}{remedy}.")

    def parse(self, text: str, what: str) -> Any:
        """The value that a word of the command line means; `what` names the parameter."""
        options = _options(self.hint)
        if self.optional and text.lower() in ("none", "null"):
            return None
        for kind in options:
            if kind is bool:
                if text.lower() in ("true", "yes", "1", "false", "no", "0"):
                    return text.lower() in ("true", "yes", "1")
            elif kind is int or kind is float:
                try:
                    return kind(text)
                except ValueError:
                    continue
            elif kind is str:
                return text
            elif typing.get_origin(kind) is Literal:
                if text in typing.get_args(kind):
                    return text
            elif kind is Any or typing.get_origin(kind) in (tuple, list, dict, Mapping):
                try:
                    return ast.literal_eval(text)
                except (ValueError, SyntaxError):
                    if kind is Any:
                        return text
        raise ParameterError(f"{what} must be {self.kind}, not {text!r}.")


def _shown(value: Any) -> str:
    """A value that is not allowed, in one short line."""
    return " ".join(f"{value!r:.200}".split())[:80]


def declared(owner: type) -> dict[str, Parameter]:
    """The parameters of a class by name, in the order of its constructor.

    Examples
    --------
    >>> class Method:
    ...     def __init__(self, *, folds: Folds = 3, n_jobs: Jobs = None) -> None: ...
    >>> declared(Method)["folds"].kind
    'a whole number from 2 to 10**9'
    """
    return dict(_declared(owner.__init__))  # type: ignore[misc]


@cache
def _declared(constructor: Callable[..., None]) -> dict[str, Parameter]:
    if constructor is object.__init__:
        return {}
    hints = typing.get_type_hints(constructor, include_extras=True)
    plain = typing.get_type_hints(constructor)
    found = {}
    for name, given in list(inspect.signature(constructor).parameters.items())[1:]:
        sentence, musts = _read(hints.get(name, Any))
        found[name] = Parameter(name, plain.get(name, Any), given.default, sentence, tuple(musts))
    return found


def _read(hint: Any) -> tuple[str, list[Must]]:
    """The sentence in an annotation, and what a value must be."""
    origin = typing.get_origin(hint)
    if origin is Annotated:
        inner, *notes = typing.get_args(hint)
        sentence, musts = _read(inner)
        sentences = [note for note in notes if isinstance(note, str)]
        return [sentence, *sentences][-1], [n for n in notes if isinstance(n, Must)] or musts
    if _is_union(hint):
        parts = [_read(kind) for kind in typing.get_args(hint) if kind is not type(None)]
        musts = [must for _, ours in parts for must in ours]
        checked = all(ours for _, ours in parts)  # one kind of which all is allowed allows all
        return "".join(said for said, _ in parts), musts if checked else []
    if origin is Literal:
        return "", [_word(word) for word in typing.get_args(hint)]
    return "", [Must("True", _is_flag), Must("False", _is_flag)] if hint is bool else []


def _word(word: str) -> Must:
    return Must(repr(word), lambda value: isinstance(value, str) and value == word)


def _options(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if _is_union(hint) else (hint,)


def _is_union(hint: Any) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union


def _spell(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "a word", Any: "any object"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


# ---- what is made of them --------------------------------------------------------------------


def check(owner: Any) -> None:
    """Refuse the first parameter of an object that is not what its class declares."""
    for name, parameter in _declared(type(owner).__init__).items():  # type: ignore[misc]
        parameter.check(getattr(owner, name))


Owner = TypeVar("Owner", bound=type)
_LATER = re.compile(r"^(Attributes|Methods|Raises|Notes|References|Examples|See Also)\n-+$", re.M)


def documented(owner: Owner) -> Owner:
    """Put what a class declares into its docstring, as the section "Parameters"; returns it."""
    text = inspect.cleandoc(owner.__dict__.get("__doc__") or "")
    try:
        parameters = declared(owner)
    except NameError:  # a type that is imported for type checkers only
        return owner
    by_hand = re.search(r"^Parameters\n-+$", text, re.M)
    if not text or by_hand or not any(known.sentence for known in parameters.values()):
        return owner
    lines = ["Parameters", "----------"]
    for name, known in parameters.items():
        lines.append(f"{name} : {known.kind.removeprefix('a ')}, default {known.default!r}")
        lines += textwrap.wrap(
            known.sentence, 96, initial_indent=INDENT, subsequent_indent=INDENT,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    later = _LATER.search(text)
    at = later.start() if later else len(text)
    section = "\n".join(lines)
    owner.__doc__ = "\n\n".join(p for p in (text[:at].rstrip(), section, text[at:]) if p) + "\n"
    return owner


INDENT = "    "

# ---- checks of single values, for functions --------------------------------------------------


def _refuse_others(must: Must, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if not must.allows(value):
            remedy = f"; {must.remedy}" if must.remedy else ""
            raise ParameterError(f"{name} must be {must.text}, not {_shown(value)}{remedy}.")


def check_positive(**values: Any) -> None:
    """Refuse parameters that are not positive, finite numbers."""
    _refuse_others(POSITIVE, values)


def check_not_negative(**values: Any) -> None:
    """Refuse parameters that are not finite numbers from zero on."""
    _refuse_others(NOT_NEGATIVE, values)


def check_count(*, least: int = 1, **values: Any) -> None:
    """Refuse parameters that are not whole numbers from `least` on."""
    _refuse_others(at_least(least), values)


def check_share(**values: Any) -> None:
    """Refuse parameters that are not shares between 0 and 1."""
    _refuse_others(SHARE, values)


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of threads that is neither None nor a whole number other than 0."""
    _refuse_others(JOBS, {"n_jobs": n_jobs})


def check_seed(random_state: Any) -> None:
    """Refuse a seed that is not a whole number from 0 to 2³² - 1."""
    _refuse_others(SEED, {"random_state": random_state})


def generator_of(random_state: Any) -> np.random.RandomState:
    """The generator of a seed; a RandomState goes on from where it stands."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    check_seed(random_state)
    return np.random.RandomState(random_state)
