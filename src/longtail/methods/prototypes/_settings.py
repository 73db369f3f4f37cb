"""The parameters of training, as one value that is handed around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Learning = Literal["joint", "no-decoder", "fixed-codes"]
Start = Literal["projections", "pca"]
Units = Literal["random", "points"]
Decoder = Literal["linear", "layers"]


@dataclass(frozen=True)
class Settings:
    """The parameters of `DeepBinaryPrototypes`, by the same names."""

    n_bits: int = 128
    ratio: float = 0.1
    start: Start = "projections"
    rarity: float = 0.0
    hidden: int | None = None
    units: Units = "random"
    encoder: Any = None
    decoder: Decoder | Any = "linear"
    mu: float = 0.05
    alpha: float = 0.01
    tau: float = 0.3
    learning: Learning = "joint"
    learning_rate: float = 3e-3
    batch_size: int = 128
    steps: int | None = None
    max_rounds: int = 15
    warmup: int = 2
    tol: float = 1e-3
    n_neighbors: int | None = None
    threshold: float | None = 0.5
    validation: float = 0.1
    device: str = "auto"
    random_state: int = 0
    memory_limit: float = 4.0
    n_jobs: int | None = None
