"""Where work runs: threads, blocks, checkpoints, progress, memory limits, random seeds."""

from longtail.runtime.checkpoint import Checkpoint, fingerprint
from longtail.runtime.estimates import Estimate
from longtail.runtime.executor import in_blocks, run_threads, thread_count
from longtail.runtime.kept import kept_for
from longtail.runtime.libraries import one_thread
from longtail.runtime.memory import available_memory
from longtail.runtime.pieces import Pieces
from longtail.runtime.run import Run, progress_bar
from longtail.runtime.seeds import point_seeds, row_seeds
from longtail.runtime.workers import Workers

__all__ = [
    "Checkpoint",
    "Estimate",
    "Pieces",
    "Run",
    "Workers",
    "available_memory",
    "fingerprint",
    "in_blocks",
    "kept_for",
    "one_thread",
    "point_seeds",
    "progress_bar",
    "row_seeds",
    "run_threads",
    "thread_count",
]
