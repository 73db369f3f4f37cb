"""Whether two checkouts of longtail learn the same models: every learned array, bit for bit.

    python benchmarks/bench_same_models.py --other ../longtail-before

Each tree trains the same methods on the same matrices in a process of its own. The matrices are
made here, by scikit-learn, so that the trees' readers and features play no part.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("LONGTAIL_DATA", ROOT.parent / "shared" / "data"))
CLASSES = 1000
TRIALS: dict[str, tuple[str, dict[str, Any]]] = {
    "dismec": ("bibtex", {}),
    "proxml": ("bibtex", {}),
    "br": ("bibtex", {}),
    "rbf": ("bibtex", {}),
    "cbm": ("scene", {"n_components": 10}),
    "mrb": ("wordnet", {}),
    "dbpc": ("bibtex", {"max_rounds": 3}),
    "knn": ("scene", {}),
}


def _xmc(path: Path) -> tuple[sp.csr_array, sp.csr_array]:
    """A file of the extreme classification repository: `N D L`, then labels and features."""
    with gzip.open(path, "rt") as lines:
        n, n_features, n_labels = map(int, next(lines).split())
        X, Y = sp.lil_array((n, n_features)), sp.lil_array((n, n_labels))
        for row, line in enumerate(lines):
            labels, _, rest = line.partition(" ")
            for label in filter(None, labels.split(",")):
                Y[row, int(label)] = 1.0
            for pair in rest.split():
                column, value = pair.split(":")
                X[row, int(column)] = float(value)
    return X.tocsr(), Y.tocsr()


def _wordnet(path: Path) -> tuple[sp.csr_array, list[str]]:
    """Word counts of the documents of the most frequent classes, ten documents per class."""
    from sklearn.feature_extraction.text import CountVectorizer

    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [(row["text"], row["labels"][0]) for row in map(json.loads, lines) if row["labels"]]
    names, counts = np.unique([label for _, label in rows], return_counts=True)
    left = {str(name): 10 for name in names[np.argsort(-counts, kind="stable")[:CLASSES]]}
    kept = []
    for text, label in rows:
        if left.get(label, 0):
            left[label] -= 1
            kept.append((text, label))
    X = CountVectorizer(min_df=2).fit_transform([text for text, _ in kept])
    return sp.csr_array(X, dtype=np.float64), [label for _, label in kept]


def _problem(name: str) -> tuple[sp.csr_array, Any]:
    if name == "wordnet":
        return _wordnet(DATA / "wordnet-hypernyms" / "all.jsonl.gz")
    from sklearn.preprocessing import normalize

    X, Y = _xmc(next((DATA / name).glob("train*.gz")))
    return sp.csr_array(normalize(X)), Y


def _arrays(value: Any, place: str) -> dict[str, str]:
    """A digest of every array and number below a value, by its place."""
    if sp.issparse(value):
        value = {part: getattr(value, part) for part in ("indptr", "indices", "data")}
    if isinstance(value, dict):
        pairs = [(f"{place}.{key}", each) for key, each in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [(f"{place}.{number}", each) for number, each in enumerate(value)]
    elif isinstance(value, np.ndarray):
        held = value.tolist() if value.dtype.hasobject else [value.dtype.str, value.shape]
        bits = b"" if value.dtype.hasobject else np.ascontiguousarray(value).tobytes()
        return {place: hashlib.sha256(repr(held).encode() + bits).hexdigest()}
    elif value is None or isinstance(value, bool | int | float | str | np.generic):
        return {place: repr(value)}
    else:
        pairs = [(f"{place}.{key}", each) for key, each in vars(value).items()]
    return {at: digest for key, each in pairs for at, digest in _arrays(each, key).items()}


def _train(methods: list[str]) -> None:
    """Train in this process with the longtail that it has, and print the digests."""
    from longtail.methods import find_method

    found = {}
    for name in methods:
        data, settings = TRIALS[name]
        model = find_method(name).estimator(**settings)
        model.fit(*_problem(data))
        learned = {key: each for key, each in vars(model).items() if key.endswith("_")}
        found[name] = _arrays(learned, "")
    json.dump(found, sys.stdout)


def _digests(tree: Path, methods: list[str]) -> dict[str, dict[str, str]]:
    words = [sys.executable, __file__, "--train", "--methods", *methods]
    places = {**os.environ, "PYTHONPATH": str(tree / "src"), "LONGTAIL_DATA": str(DATA)}
    with tempfile.TemporaryFile("w+") as out:
        subprocess.run(words, env=places, stdout=out, check=True)
        out.seek(0)
        return json.load(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--other", type=Path, help="the checkout to compare this one with")
    parser.add_argument("--methods", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.train:
        _train(words.methods)
        return
    if words.other is None or not (words.other / "src" / "longtail").is_dir():
        sys.exit("Name another checkout of longtail with --other.")
    ours, theirs = (_digests(tree, words.methods) for tree in (ROOT, words.other))
    for name in words.methods:
        here, there = ours[name], theirs[name]
        both = here.keys() & there.keys()
        differ = sorted(key for key in both if here[key] != there[key])
        alone = sorted(here.keys() ^ there.keys())
        same = len(both) - len(differ)
        print(f"{name:<8} on {TRIALS[name][0]:<8} {same} of {len(both)} the same")
        for key in differ:
            print(f"  differs: {key}")
        for key in alone:
            print(f"  only {'here' if key in here else 'there'}: {key}")


if __name__ == "__main__":
    main()
