# SPDX-License-Identifier: Apache-2.0
"""Puts the program that NOISEWRIGHT_PROGRAM names into the wheel, as one of the tag NOISEWRIGHT_TAG: what pip
installs of it lies beside the interpreter. sbom.cdx.json says what is in it. Without them the wheel is pure, and for
every platform."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        program = os.environ.get("NOISEWRIGHT_PROGRAM")
        if program and version == "standard":
            name = "noisewright.exe" if program.endswith(".exe") else "noisewright"
            build_data["shared_scripts"][program] = name
            build_data["sbom_files"].append("sbom.cdx.json")
            build_data["pure_python"] = False
            build_data["tag"] = os.environ["NOISEWRIGHT_TAG"]
