"""What makes features of the data: text features or row scaling, as method and options say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from longtail.data import Dataset
from longtail.errors import ParameterError
from longtail.features import RowScaler, TextFeatures
from longtail.features.scaling import Damping, Norm
from longtail.features.text import ANALYZERS
from longtail.tagger import FeatureKind, usual_features

_FOR_TEXTS = ("analyzer", "ngrams", "min_df", "max_df", "max_features", "stop_words")
_WORDS = {
    "analyzer": ANALYZERS,
    "norm": (*get_args(Norm), "none"),
    "damping": (*get_args(Damping), "none"),
}


@dataclass(frozen=True)
class FeatureOptions:
    """The options that were given; None where the default of the transformer holds."""

    analyzer: str | None = None
    ngrams: str | None = None
    min_df: str | None = None
    max_df: str | None = None
    max_features: int | None = None
    stop_words: str | None = None
    norm: str | None = None
    damping: str | None = None
    idf: bool | None = None

    def given(self) -> dict[str, Any]:
        """What was given, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def settings(self) -> dict[str, Any]:
        """What was given as constructor arguments; refused here if it cannot be understood."""
        found = self.given()
        for name, words in _WORDS.items():
            if name in found and found[name] not in words:
                raise ParameterError(
                    f"--{name} is {', '.join(words[:-1])} or {words[-1]}, not {found[name]!r}."
                )
        for name in ("norm", "damping"):
            if found.get(name) == "none":
                found[name] = None
        for name in ("min_df", "max_df"):
            if name in found:
                found[name] = _count_or_share(name, found[name])
        if "ngrams" in found:
            found["ngram_range"] = _ngram_range(found.pop("ngrams"))
        if "stop_words" in found and found["stop_words"] != "english":
            found["stop_words"] = _words_of(Path(found["stop_words"]))
        return found

    def transformer(self, data: Dataset, kind: FeatureKind = "scaled") -> TextFeatures | RowScaler:
        """The transformer for this data and a method that wants this kind of features.

        What was given wins: a method that cannot use it says so itself.
        """
        texts = data.texts is not None
        for name in () if texts else _FOR_TEXTS:
            if getattr(self, name) is not None:
                option = name.replace("_", "-")
                raise ParameterError(
                    f"--{option} is for texts, but the data holds features; leave it out."
                )
        return usual_features(kind, texts=texts, **self.settings())


def _ngram_range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    try:
        shortest, longest = (int(first), int(last)) if dash else (1, int(first))
    except ValueError:
        shortest = longest = 0
    if not 1 <= shortest <= longest:
        raise ParameterError(
            f"--ngrams takes the longest run of words, such as 2, or both ends, such as 2-3, not "
            f"{text!r}."
        )
    return shortest, longest


def _count_or_share(name: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    option = name.replace("_", "-")
    raise ParameterError(f"--{option} takes a number of texts or their share, not {text!r}.")


def _words_of(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ParameterError(
            f"--stop-words is 'english' or a file with words; {path} cannot be read: {reason}."
        ) from None
    return sorted(set(text.split()))
