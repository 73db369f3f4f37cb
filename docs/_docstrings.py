"""Docstrings for the reference page: of a class that declares parameters, as Python has it.

mkdocstrings reads the source, where the section "Parameters" is not written; see
`longtail.parameters.documented`.
"""

import inspect
from typing import Any

import griffe


class Declared(griffe.Extension):
    """Take the docstrings of classes that declare parameters from the classes."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace one docstring."""
        if cls.docstring is not None and cls.path.startswith("longtail."):
            told = inspect.getdoc(griffe.dynamic_import(cls.path)) or ""
            if "\nParameters\n" in told and "\nParameters\n" not in cls.docstring.value:
                cls.docstring.value = told
