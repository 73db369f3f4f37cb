"""Forks, threads and interrupts around training in Python."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from longtail.testing.problem import small_problem
from tests.forking import answer_of, in_a_fork
from tests.instances import instances
from tests.torture.findings import Findings
from tests.trainings import learned


def _gathered(trial: str, work: Any, *given: Any) -> Findings:
    """What a trial finds in a process of its own, where forks inherit no other threads."""
    try:
        return answer_of(work, *given)
    except EOFError:
        findings = Findings(trial)
        findings.fail("the process died")
        return findings


def forks(methods: list[str] | None) -> Findings:
    """Train, fork, and train in the child: it ends, with the same model."""
    return _gathered("fork after training", _forks, methods)


def _chosen(methods: list[str] | None) -> list[Any]:
    return [each for each in instances() if methods is None or each.method in methods]


def _forks(methods: list[str] | None) -> Findings:
    findings = Findings("fork after training")
    warnings.simplefilter("ignore")
    for classifier in _chosen(methods):
        X, Y = small_problem(classifier)
        here = learned(classifier, X, Y)
        if in_a_fork(lambda c=classifier, X=X, Y=Y: learned(c, X, Y)) == here:
            findings.count("the child learned the same")
        else:
            findings.fail(f"{classifier.method}: the child hangs, dies or learns something else")
    return findings


def threads(methods: list[str] | None) -> Findings:
    """Several threads that train and ask at once: all learn the same as one alone."""
    return _gathered("4 threads at once", _threads, methods)


def _threads(methods: list[str] | None) -> Findings:
    findings = Findings("4 threads at once")
    warnings.simplefilter("ignore")
    for classifier in _chosen(methods):
        X, Y = small_problem(classifier)
        alone, found = learned(classifier, X, Y), []
        given = (classifier, X, Y, found)
        workers = [threading.Thread(target=_append_learned, args=given) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if found == [alone] * 4:
            findings.count("all learned the same")
        else:
            findings.fail(f"{classifier.method}: {[each == alone for each in found]}")
    return findings


def _append_learned(classifier: Any, X: Any, Y: Any, found: list[Any]) -> None:
    try:
        found.append(learned(classifier, X, Y))
    except Exception as error:
        found.append(repr(error))


def interrupts(seed: int, times: int, methods: list[str] | None) -> Findings:
    """SIGINT while a fitted model is trained anew: the model before stands, or the new one."""
    return _gathered("SIGINT in fit", _interrupts, seed, times, methods)


def _interrupts(seed: int, times: int, methods: list[str] | None) -> Findings:
    findings, rng = Findings("SIGINT in fit"), np.random.default_rng(seed)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for classifier in _chosen(methods):
        X, Y = small_problem(classifier)
        model = clone(classifier).fit(X, Y)
        before = _answers(model, X)
        few = Y[:, :3]
        started = time.perf_counter()
        after = _answers(clone(classifier).fit(X, few), X)
        seconds = time.perf_counter() - started
        for _ in range(times):
            model = clone(classifier).fit(X, Y)
            _interrupted(lambda m=model, X=X, few=few: m.fit(X, few), rng.random() * seconds)
            found = _answers(model, X)
            if found == before:
                findings.count("the model before stands")
            elif found == after:
                findings.count("the new model stands")
            else:
                findings.fail(f"{classifier.method}: neither the model before nor the new one")
    return findings


def _answers(model: Any, X: Any) -> Any:
    return model.predict_topk(X, 3).toarray().tolist()


def _interrupted(work: Any, seconds: float) -> None:
    """Run something that gets SIGINT after some seconds, unless it has ended by then."""
    over = threading.Event()

    def send() -> None:
        if not over.wait(seconds):
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        work()
        over.set()
        sender.join()
    except KeyboardInterrupt:
        pass
    finally:
        over.set()
        sender.join()
