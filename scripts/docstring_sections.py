"""A griffe extension: the sections of this project's docstrings, in the API reference.

`mkdocs.yml` names this file.
"""

from __future__ import annotations

from typing import Any

import griffe  # type: ignore[import-not-found, unused-ignore]

from scripts.site_text import convert_sections


class DocstringSections(griffe.Extension):  # type: ignore[misc, unused-ignore]
    """Converts the docstring of each object, and leaves out special methods."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - of griffe
        """Convert an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = convert_sections(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:  # noqa: ANN401 - of griffe
        """Leave out a class's special methods; its constructor's parameters are shown with it."""
        for name in [name for name in cls.members if name.startswith("__") and name != "__init__"]:
            cls.del_member(name)
