# SPDX-License-Identifier: Apache-2.0
"""The version, which is that of the program too."""

__version__ = "0.1.0"
