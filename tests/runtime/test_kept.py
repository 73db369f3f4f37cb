"""Things made of a model's arrays once: when they are made again, for whom, and by how many."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import numpy as np
import pytest

from longtail.runtime.kept import kept_for


class Owner:
    """Anything that can be referred to weakly."""


class Thing:
    """Anything that can be made."""


WEIGHTS = np.arange(3.0)


@pytest.mark.parametrize(
    ("first", "then", "is_same"),
    [
        ((WEIGHTS,), (WEIGHTS,), True),
        ((WEIGHTS,), (WEIGHTS.copy(),), False),
        ((WEIGHTS, "cosine"), (WEIGHTS, "".join(["co", "sine"])), True),
        ((WEIGHTS, "cosine"), (WEIGHTS, "euclidean"), False),
        ((1.5, (2.0, 0.0)), (3.0 / 2.0, (4.0 / 2.0, 0.0)), True),
        ((1.5, (2.0, 0.0)), (1.5, (2.0, 1.0)), False),
        ((1.5,), (WEIGHTS,), False),
        ((WEIGHTS, None), (WEIGHTS,), False),
        (([],), ([],), False),
        ((), (), True),
    ],
)
def test_a_thing_is_kept_while_its_sources_are_the_same(first, then, is_same):
    owner = Owner()
    thing = kept_for(owner, "thing", first, Thing)
    assert kept_for(owner, "other", first, Thing) is not thing
    assert kept_for(Owner(), "thing", first, Thing) is not thing
    assert (kept_for(owner, "thing", then, Thing) is thing) is is_same


def test_a_thing_goes_with_its_owner():
    owner = Owner()
    thing = weakref.ref(kept_for(owner, "thing", (), Thing))
    gc.collect()
    assert thing() is not None
    del owner
    gc.collect()
    assert thing() is None


def test_a_thing_may_need_another_of_the_same_owner():
    owner = Owner()
    outer = kept_for(owner, "outer", (), lambda: [kept_for(owner, "inner", (), Thing)])
    assert kept_for(owner, "inner", (), Thing) is outer[0]


def test_threads_that_ask_at_once_get_one_thing():
    owner, together, made = Owner(), Barrier(8), []

    def make():
        sleep(0.05)
        made.append(Thing())
        return made[-1]

    def ask():
        together.wait()
        return kept_for(owner, "thing", (), make)

    with ThreadPoolExecutor(8) as pool:
        found = {asked.result() for asked in [pool.submit(ask) for _ in range(8)]}
    assert len(made) == len(found) == 1


def test_nothing_is_kept_of_what_could_not_be_made():
    owner = Owner()

    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kept_for(owner, "thing", (), fail)
    assert isinstance(kept_for(owner, "thing", (), Thing), Thing)
