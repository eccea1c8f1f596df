# SPDX-License-Identifier: Apache-2.0
"""Writes docs/python-reference.md: what is public, with its signature and its docstring. Run it from python/:

PYTHONPATH=src python3 tests/make_reference.py
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "python-reference.md"

HEAD = """# Python reference

Made from the docstrings by `PYTHONPATH=src python3 tests/make_reference.py` in [python](../python); a test compares it
with the code. What it is for is in [python.md](python.md).
"""


def described(name: str, thing: Any) -> str:
    """A heading, a signature, what the docstring says; and of classes the same of what is public in them."""
    text = f"\n## {name}\n"
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return text + f"\n{doc(thing)}\n"
    text += f"\n```\n{signature(name, thing)}\n```\n\n{doc(thing)}\n"
    if not inspect.isclass(thing):
        return text
    fields = {f.name for f in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    for member, value in sorted(vars(thing).items()):
        if member.startswith("_") or member in fields:
            continue
        call = value.__func__ if isinstance(value, classmethod) else value
        if isinstance(value, property):
            text += f"\n- `{member}`: {doc(value)}\n"
        elif inspect.isfunction(call):
            text += f"\n- `{signature(member, call)}`: {doc(call)}\n"
    return text


def signature(name: str, thing: Any) -> str:
    try:
        found = str(inspect.signature(thing))
    except ValueError:
        return name
    found = re.sub(r"\((?:self|cls)(?:, )?", "(", found)
    return name + re.sub(r"<factory>|<object object at [^>]*>", "…", found).replace("'", "")


def doc(thing: Any) -> str:
    """The docstring, its examples left out, on one line for each paragraph."""
    text = (inspect.getdoc(thing) or "").partition(">>>")[0].strip()
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def page() -> str:
    package = importlib.import_module("noisewright")
    text = HEAD + "".join(described(name, getattr(package, name)) for name in package.__all__ if name[0] != "_")
    try:
        estimators = importlib.import_module("noisewright.sklearn")
    except ImportError:
        return text
    for name in ("NoisewrightLogistic", "NoisewrightNB"):
        thing = getattr(estimators, name)
        text += f"\n## noisewright.sklearn.{name}\n\n```\n{signature(name, thing)}\n```\n\n{doc(thing)}\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
