"""The ranking metrics again, point by point in plain Python, sharing no code with longtail."""

from __future__ import annotations

import math


def top(row: dict[int, float], k: int) -> list[int]:
    """The k best labels of a row {label: score}."""
    return sorted(row, key=lambda label: (-row[label], label))[:k]


def precision(truth: list[set[int]], scores: list[dict[int, float]], k: int) -> float:
    return sum(
        sum(label in y for label in top(s, k)) / k for y, s in zip(truth, scores, strict=True)
    ) / len(truth)


def recall(truth: list[set[int]], scores: list[dict[int, float]], k: int) -> float:
    total = 0.0
    for y, s in zip(truth, scores, strict=True):
        if y:
            total += len(y & set(top(s, k))) / len(y)
    return total / len(truth)


def dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(truth: list[set[int]], scores: list[dict[int, float]], k: int) -> float:
    total = 0.0
    for y, s in zip(truth, scores, strict=True):
        ideal = dcg([1.0] * min(k, len(y))) if y else 1.0
        total += dcg([float(label in y) for label in top(s, k)]) / ideal
    return total / len(truth)


def coverage(truth: list[set[int]], scores: list[dict[int, float]], k: int) -> float:
    present: set[int] = set().union(*truth)
    right: set[int] = set()
    for y, s in zip(truth, scores, strict=True):
        right |= y & set(top(s, k))
    return len(right) / len(present) if present else 0.0


def psp(truth: list[set[int]], scores: list[dict[int, float]], k: int, p: list[float]) -> float:
    reached = reachable = 0.0
    for y, s in zip(truth, scores, strict=True):
        reached += sum(1 / p[label] for label in top(s, k) if label in y) / k
        reachable += sum(sorted((1 / p[label] for label in y), reverse=True)[:k]) / k
    return reached / reachable if reachable else 0.0


def psndcg(truth: list[set[int]], scores: list[dict[int, float]], k: int, p: list[float]) -> float:
    reached = reachable = 0.0
    for y, s in zip(truth, scores, strict=True):
        ideal = dcg([1.0] * min(k, len(y))) if y else 1.0
        reached += dcg([1 / p[label] if label in y else 0.0 for label in top(s, k)]) / ideal
        reachable += dcg(sorted((1 / p[label] for label in y), reverse=True)[:k]) / ideal
    return reached / reachable if reachable else 0.0
