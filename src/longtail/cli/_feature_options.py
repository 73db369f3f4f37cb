"""What makes features of the data, by options as `TextFeatures` and `RowScaler` declare them."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.errors import ParameterError
from longtail.methods.catalogue import catalogue

if TYPE_CHECKING:
    from longtail.data import Dataset
    from longtail.features.made import FeatureKind

FEATURES = "Features"


def _option(name: str, *names: str, remark: str = "", metavar: str | None = None) -> Any:
    """The option of the parameter of that name, with the first sentence about it."""
    about = {one["name"]: one["about"] for one in catalogue()["TextFeatures"]["parameters"]}[name]
    return typer.Option(
        *names,
        help=f"{about.partition('. ')[0].rstrip('.')}. {remark}".strip(),
        metavar=metavar,
        rich_help_panel=FEATURES,
    )


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """The options that were given; None where the default of the transformer holds."""

    features: Annotated[
        str | None,
        typer.Option(
            help="What makes the features: text-features, row-scaler or another package's.",
            metavar="NAME",
            rich_help_panel=FEATURES,
        ),
    ] = None
    analyzer: Annotated[
        str | None, _option("analyzer", remark="word, char or char_wb.", metavar="NAME")
    ] = None
    ngram_range: Annotated[
        str | None,
        _option("ngram_range", remark="1,2 means single words and pairs.", metavar="N,N"),
    ] = None
    min_df: Annotated[str | None, _option("min_df", metavar="X")] = None
    max_df: Annotated[str | None, _option("max_df", metavar="X")] = None
    max_features: Annotated[str | None, _option("max_features", metavar="N")] = None
    stop_words: Annotated[
        str | None,
        _option("stop_words", remark="english, or a file with words.", metavar="WORDS"),
    ] = None
    norm: Annotated[
        str | None,
        _option(
            "norm", remark="l2 (the default, but for counts), l1, max or none.", metavar="NORM"
        ),
    ] = None
    damping: Annotated[
        str | None, _option("damping", remark="sqrt, log or none (the default).", metavar="NAME")
    ] = None
    idf: Annotated[
        bool | None,
        _option("idf", "--idf/--no-idf", remark="By default for texts only, and not for counts."),
    ] = None

    def given(self) -> dict[str, Any]:
        """What was given, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def settings(self) -> dict[str, Any]:
        """What was given as constructor arguments; refused here if it cannot be understood."""
        from longtail.features import TextFeatures, find_transformer
        from longtail.parameters import declared

        found = self.given()
        if "features" in found:
            find_transformer(found.pop("features"))
        for name, text in found.items():
            if name == "stop_words" and text != "english":
                found[name] = _words_of(Path(text))
            elif isinstance(text, str):
                option = _typed(name)
                parameter = replace(declared(TextFeatures)[name], name=option)
                found[name] = parameter.parse(text, option)
                parameter.check(found[name])
        return found

    def transformer(self, data: Dataset, kind: FeatureKind = "scaled") -> Any:
        """The transformer for this data and a method that wants this kind of features.

        What was given wins: a method that cannot use it says so itself.
        """
        from longtail.features import RowScaler, TextFeatures
        from longtail.features.made import usual_features
        from longtail.parameters import declared

        texts = data.texts is not None
        if self.features is not None:
            return self._named_transformer(self.features)
        known = declared(TextFeatures if texts else RowScaler)
        for name in self.given():
            if name not in known:
                raise ParameterError(
                    f"{_typed(name)} is for texts, but the data holds features; leave it out."
                )
        return usual_features(kind, texts=texts, **self.settings())

    def _named_transformer(self, name: str) -> Any:
        """The transformer that was named, with the options that it takes."""
        from longtail.features import find_transformer

        cls, settings = find_transformer(name), self.settings()
        for setting in settings:
            if setting not in inspect.signature(cls).parameters:
                raise ParameterError(
                    f"The features {name!r} have no {setting}; leave the option out."
                )
        return cls(**settings)


def _typed(name: str) -> str:
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
