"""Where work runs: executors, blocks, checkpoints, progress, memory limits, random seeds."""

from longtail.runtime.blocks import Blocks
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.estimates import Estimate
from longtail.runtime.executor import (
    Executor,
    ProcessExecutor,
    ThreadExecutor,
    in_blocks,
    run_here_or_on_threads,
    run_threads,
    thread_count,
)
from longtail.runtime.kept import kept_for
from longtail.runtime.libraries import one_thread
from longtail.runtime.memory import available_memory
from longtail.runtime.run import Run, Stopped, progress_bar
from longtail.runtime.seeds import point_seeds, row_seeds
from longtail.runtime.workers import Workers, check_running, stopping

__all__ = [
    "Blocks",
    "Estimate",
    "Executor",
    "LatestState",
    "ProcessExecutor",
    "Run",
    "Stopped",
    "ThreadExecutor",
    "Workers",
    "available_memory",
    "check_running",
    "fingerprint",
    "in_blocks",
    "kept_for",
    "one_thread",
    "point_seeds",
    "progress_bar",
    "row_seeds",
    "run_here_or_on_threads",
    "run_threads",
    "stopping",
    "thread_count",
]
