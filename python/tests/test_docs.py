# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings, and the reference that is made of these."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest
from frames import needs
from make_reference import PAGE, page

import noisewright

MODULES = ("statistics", "learning", "accounting", "ledger", "workload")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    if name == "accounting":
        needs("dp_accounting")
    module = importlib.import_module(f"noisewright.{name}")
    assert doctest.testmod(module).failed == 0


def test_reference() -> None:
    """The page is what the code says; signatures of other versions of Python read otherwise."""
    needs("sklearn")
    assert PAGE.read_text(encoding="utf-8") == page(), "run tests/make_reference.py"


def test_all_that_is_public_says_what_it_is() -> None:
    for name in filter(lambda name: name[0] != "_", noisewright.__all__):
        thing = getattr(noisewright, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"
