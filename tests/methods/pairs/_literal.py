"""The ten features straight from the definitions of the paper's Table 1: slow, word by word."""

from __future__ import annotations

import math

LARGEST = math.sqrt(2.0)


class Collection:
    """Statistics of a collection, given as lists of counts and sets of classes."""

    def __init__(self, documents, labels, n_classes):
        self.documents = [list(map(int, document)) for document in documents]
        self.labels = [set(classes) for classes in labels]
        self.n_classes = n_classes
        self.n_words = len(self.documents[0])
        self.totals = [sum(d[t] for d in self.documents) for t in range(self.n_words)]
        self.length = sum(self.totals)
        self.idf = []
        for t in range(self.n_words):
            having = sum(1 for d in self.documents if d[t] > 0)
            self.idf.append(math.log(len(self.documents) / having) if having else 0.0)

    def unit(self, x):
        """Tf-idf of unit length; zeros where there is nothing to scale."""
        vector = [x[t] * self.idf[t] for t in range(self.n_words)]
        norm = math.sqrt(sum(v * v for v in vector))
        return [v / norm for v in vector] if norm > 0 else None

    def members(self, label, without=None):
        return [
            document
            for i, document in enumerate(self.documents)
            if label in self.labels[i] and i != without
        ]

    def distance(self, one, other):
        """Euclidean; the largest where a vector is empty."""
        one, other = self.unit(one), self.unit(other)
        if one is None or other is None:
            return LARGEST
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))

    def features(self, x, label, without=None):
        """Features of a document and a class, `without` one of the documents."""
        documents = self.members(label, without)
        count = [sum(d[t] for d in documents) for t in range(self.n_words)]
        length = sum(count)
        shared = [t for t in range(self.n_words) if x[t] > 0 and count[t] > 0]
        sums = [0.0] * 8
        for t in shared:
            share, rarity = count[t] / length, self.length / self.totals[t]
            for j, value in enumerate(
                (
                    math.log(1 + count[t]),
                    math.log(1 + rarity),
                    self.idf[t],
                    share * self.idf[t],
                    math.log(1 + share),
                    math.log(1 + share * self.idf[t]),
                    math.log(1 + share * rarity),
                    1.0,
                )
            ):
                sums[j] += value
        nearest = sorted(self.distance(x, d) for d in documents)[:2]
        return sums + nearest + [LARGEST] * (2 - len(nearest))
