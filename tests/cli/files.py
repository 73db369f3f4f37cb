"""Small data files whose labels can be learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from longtail.data import Dataset, make_longtail, save

N_LABELS = 40


def _parts() -> tuple[Dataset, Dataset]:
    data = make_longtail(300, 400, N_LABELS, labels_per_sample=3, random_state=0)
    names = [f"topic {number:02d}" for number in range(N_LABELS)]
    names[0] = "thème [bold]é"
    words = np.array([f"word{number}" for number in range(400)])
    texts = [
        " ".join(np.repeat(words[row.indices], row.data.astype(int)).tolist())
        for row in (data.X[[i]] for i in range(len(data)))
    ]
    whole = Dataset(data.X, data.Y, words, names, texts, "tiny")
    return whole.split(test_size=0.25, random_state=0)


def write_docs(train: Path, test: Path) -> None:
    """The points as JSON lines, each part with a name order of its own."""
    for part, path in zip(_parts(), (train, test), strict=True):
        path.parent.mkdir(exist_ok=True)
        save(Dataset(None, part.label_sets(), texts=part.texts), path)


def write_features(train: Path, test: Path) -> None:
    """The points in XMC format, with names of features and labels beside them."""
    for part, path in zip(_parts(), (train, test), strict=True):
        save(Dataset(part.X, part.Y, part.feature_names, part.label_names), path)
