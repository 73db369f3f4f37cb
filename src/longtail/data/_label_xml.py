"""The XML file that says which attributes of a Mulan ARFF file are labels.

Parsed by expat with every declaration of a document type or entity refused, so nothing outside of
the file is opened and nothing inside of it unfolds.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from longtail.data._budget import NAME_TOO_LONG, Budget
from longtail.data._source import Source, shown
from longtail.errors import DataError, InputError
from longtail.labels import LONGEST_NAME

_NAMESPACE = "http://mulan.sourceforge.net/labels"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CHUNK = 2**16
_LONGEST_TAG = 2**20


def read_label_xml(path: Path, budget: Budget) -> list[str]:
    """The names of the labels, in document order; a hierarchy of labels is read as its members."""
    names: dict[str, None] = {}
    depth = 0
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def fault(message: str) -> DataError:
        return DataError(message, path=path, line=parser.CurrentLineNumber)

    def refuse(*_: object) -> NoReturn:
        raise fault(
            "the XML declares a document type or entities, which a list of labels does not need"
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        local = tag.rpartition(":")[2]
        if depth == 1:
            if local != "labels":
                raise fault(f"expected <labels>, found <{shown(tag)[1:-1]}>")
        elif local != "label":
            raise fault(f"expected <label name=...>, found <{shown(tag)[1:-1]}>")
        elif "name" not in attributes:
            raise fault("a <label> has no name")
        elif attributes["name"] in names:
            raise fault(f"the label {shown(attributes['name'])} occurs twice")
        elif len(attributes["name"]) > LONGEST_NAME:
            raise fault(NAME_TOO_LONG)
        else:
            budget.take_name(attributes["name"])
            names[attributes["name"]] = None

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    with Source(path) as source:
        try:
            fed = 0
            while chunk := source.read(_CHUNK):
                parser.Parse(chunk, False)
                fed += len(chunk)
                if fed - max(0, parser.CurrentByteIndex) > _LONGEST_TAG:
                    raise fault(f"a tag is longer than {_LONGEST_TAG:,} bytes")
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise DataError(
                f"this is not the XML of labels that was expected ({reason})",
                path=path,
                line=error.lineno,
            ) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise fault("the XML is in an unknown encoding; use UTF-8") from None
    return list(names)


def label_xml(names: list[str]) -> bytes:
    """The XML file for these labels.

    Examples
    --------
    >>> print(label_xml(["sea & sun"]).decode(), end="")
    <?xml version="1.0" encoding="utf-8"?>
    <labels xmlns="http://mulan.sourceforge.net/labels">
    <label name="sea &amp; sun"></label>
    </labels>
    """
    odd = next((name for name in names if _NOT_XML.search(name)), None)
    if odd is not None:
        raise InputError(
            f"The label name {shown(odd)} holds a character that XML cannot; rename it."
        )
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<labels xmlns="{_NAMESPACE}">']
    lines += [f"<label name={quoteattr(name)}></label>" for name in names]
    lines += ["</labels>", ""]
    return "\n".join(lines).encode("utf-8")
