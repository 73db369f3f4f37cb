"""The words that parameters of `DeepBinaryPrototypes` accept."""

from __future__ import annotations

from typing import Literal

Learning = Literal["joint", "no-decoder", "fixed-codes"]
Start = Literal["projections", "pca"]
Units = Literal["random", "points"]
Decoder = Literal["linear", "layers"]
