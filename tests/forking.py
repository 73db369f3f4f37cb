"""Processes that cost a fork and not an import: one fork server for all tests of a worker.

It imports `tests.preloaded` when the first process is asked for.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext


def fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context
