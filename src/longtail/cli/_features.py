"""What makes features of the data: text features or row scaling, as method and options say."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from longtail.data import Dataset
from longtail.errors import ParameterError
from longtail.features import RowScaler, TextFeatures
from longtail.features.made import FeatureKind, usual_features
from longtail.parameters import declared


@dataclass(frozen=True)
class FeatureOptions:
    """The options that were given; None where the default of the transformer holds."""

    analyzer: str | None = None
    ngram_range: str | None = None
    min_df: str | None = None
    max_df: str | None = None
    max_features: str | None = None
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
        for name, text in found.items():
            if name == "stop_words" and text != "english":
                found[name] = _words_of(Path(text))
            elif isinstance(text, str):
                option = _option(name)
                parameter = replace(declared(TextFeatures)[name], name=option)
                found[name] = parameter.parse(text, option)
                parameter.check(found[name])
        return found

    def transformer(self, data: Dataset, kind: FeatureKind = "scaled") -> TextFeatures | RowScaler:
        """The transformer for this data and a method that wants this kind of features.

        What was given wins: a method that cannot use it says so itself.
        """
        texts = data.texts is not None
        known = declared(TextFeatures if texts else RowScaler)
        for name in self.given():
            if name not in known:
                raise ParameterError(
                    f"{_option(name)} is for texts, but the data holds features; leave it out."
                )
        return usual_features(kind, texts=texts, **self.settings())


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _words_of(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ParameterError(
            f"--stop-words is 'english' or a file with words; {path} cannot be read: {reason}."
        ) from None
    return sorted(set(text.split()))
