"""What a constructor declares: kinds of values, checks, words of the command line, docstrings."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from longtail import DiSMEC
from longtail.errors import ParameterError
from longtail.parameters import (
    Count,
    CountFromZero,
    Jobs,
    MemoryLimit,
    Must,
    NotNegative,
    Positive,
    Seed,
    Share,
    ShareOrZero,
    UpToOne,
    at_least,
    check,
    declared,
    documented,
    each,
)


class Method:
    """One line.

    Notes
    -----
    More.
    """

    def __init__(
        self,
        *,
        C: Annotated[Positive, "Weight."] = 1.0,
        prune: Annotated[NotNegative, "Limit."] = 0.0,
        size: Annotated[Count | None, "Points."] = None,
        warmup: Annotated[CountFromZero, "Rounds."] = 0,
        few: Annotated[int, at_least(1, 5), "Folds."] = 1,
        share: Annotated[Share, "Of the rows."] = 0.5,
        validation: Annotated[ShareOrZero, "Of the rows."] = 0.0,
        threshold: Annotated[UpToOne | None, "Of the votes."] = None,
        loss: Annotated[Literal["hinge", "log"] | None, "Errors."] = "hinge",
        flag: Annotated[bool | None, "Whether."] = None,
        sizes: Annotated[tuple[int, ...], each(at_least(2)), "To try."] = (2, 3),
        own: Annotated[Any, Must("a network"), "Yours."] = None,
        memory_limit: MemoryLimit = 4.0,
        random_state: Seed = 0,
        n_jobs: Jobs = None,
        plain: int | str = 3,
    ) -> None:
        for name, value in list(vars().items()):
            if name != "self":
                setattr(self, name, value)


ALLOWED = [
    *[{"C": value} for value in (1, 0.5, np.float32(2), np.int64(3))],
    *[{"prune": value} for value in (0, 0.0, 1e-3)],
    *[{"size": value} for value in (None, 1, np.int32(7))],
    *[{"few": value} for value in (1, 5)],
    *[{"threshold": value} for value in (None, 1, 0.1)],
    *[{"loss": value} for value in (None, "log", np.str_("log"))],
    *[{"flag": value} for value in (None, True, np.False_)],
    *[{"sizes": value} for value in ((2,), [3, 4], np.array([2, 5]))],
    *[{"random_state": value} for value in (None, 0, 2**32 - 1, np.uint32(3))],
    *[{"n_jobs": value} for value in (None, -1, 3)],
    {"memory_limit": math.inf}, {"own": ...}, {"plain": ...}, {"validation": 0},
]  # fmt: skip
REFUSED = [
    *[
        ("C", value, "a positive, finite number")
        for value in (0, -1, math.inf, math.nan, "1", True)
    ],
    *[("prune", value, "zero or a positive number") for value in (-1, math.inf, None)],
    *[
        ("size", value, "a whole number from 1 to 10**9, or None")
        for value in (0, 1.0, True, 2**40)
    ],
    ("warmup", -1, "a whole number from 0 to 10**9"),
    *[("few", value, "a whole number from 1 to 5") for value in (0, 6, 2.5)],
    *[("share", value, "a share between 0 and 1") for value in (0, 1, None)],
    ("validation", 1, "a share from 0 to below 1"),
    *[("threshold", v, "a number above 0 and at most 1, or None") for v in (0, 1.1, math.nan)],
    *[("loss", v, "'hinge', 'log' or None") for v in ("x", 0, np.array(["log", "hinge"]))],
    *[("flag", value, "True, False or None") for value in (0, 1, "True")],
    *[("sizes", v, "a list of at least one value") for v in ((), (1, 2), 3, "23", None)],
    ("memory_limit", 0, "a positive number, or inf for no limit"),
    *[("random_state", v, "a whole number from 0 to 2**32 - 1, or None") for v in (-1, 2**32, 1.0)],
    *[
        ("n_jobs", v, "a whole number from -1024 to 1024 other than 0, or None")
        for v in (0, True, 1.0, 2**31, -(2**31))
    ],
]


@pytest.mark.parametrize("given", ALLOWED)
def test_allowed(given):
    check(Method(**given))


def test_a_refusal_is_one_line_whatever_the_value():
    with pytest.raises(ParameterError) as caught:
        DiSMEC(C=np.arange(1000.0).reshape(10, 100)).check_parameters()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("name", "value", "wanted"), REFUSED, ids=str)
def test_refused_in_one_sentence(name, value, wanted):
    with pytest.raises(ParameterError) as caught:
        check(Method(**{name: value}))
    said = str(caught.value)
    assert said.startswith(f"{name} must be {wanted}")
    assert f", not {value!r}" in said
    assert said.count(". ") == 0


def test_a_remedy_is_told():
    with pytest.raises(ParameterError, match="not 0; use 1 for one thread or -1 for all cores"):
        check(Method(n_jobs=0))


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("C", "2", 2.0), ("size", "none", None), ("size", "7", 7), ("loss", "log", "log"),
        ("loss", "None", None), ("flag", "yes", True), ("flag", "0", False),
        ("sizes", "2,5", (2, 5)), ("random_state", "none", None), ("memory_limit", "inf", math.inf),
        ("plain", "x", "x"),
        ("plain", "4", 4), ("own", "[1]", [1]), ("own", "word", "word"),
    ],
)  # fmt: skip
def test_words_of_the_command_line(name, text, wanted):
    found = declared(Method)[name].parse(text, name)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(("name", "text"), [("C", "x"), ("flag", "2"), ("loss", "x")])
def test_words_that_mean_nothing(name, text):
    parameter = declared(Method)[name]
    with pytest.raises(ParameterError, match=f"^--it must be {parameter.kind}, not '{text}'"):
        parameter.parse(text, "--it")


def test_docstrings():
    class Inherited(Method):
        """Two.

        Parameters
        ----------
        C : by hand
        """

    class Undocumented(Method):
        pass

    class Unresolved:
        """Three."""

        def __init__(self, *, a: OnlyForTypeCheckers = 1) -> None:  # noqa: F821
            ...

    text = documented(Method).__doc__
    assert text.startswith(
        "One line.\n\nParameters\n----------\nC : positive, finite number, default 1.0"
    )
    assert "default 1.0\n    Weight.\nprune : zero or a positive number" in text
    assert "plain : whole number, or a word, default 3\n\nNotes\n-----\nMore." in text
    assert documented(documented(Method)).__doc__ == text  # once is enough
    assert documented(Inherited).__doc__.count("Parameters") == 1
    assert documented(Undocumented).__doc__ is None
    assert documented(Unresolved).__doc__ == "Three."
