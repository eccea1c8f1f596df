# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. Every message is one clear sentence, and none quotes a private value."""

from __future__ import annotations


class Error(Exception):
    """All errors of this package."""


class InvalidError(Error, ValueError):
    """A number outside its stated range."""


class FormatError(Error, ValueError):
    """A file that is not of the format."""


class NotPrivateError(Error):
    """The privacy promise of a file is not kept."""


class FalseClaimError(Error):
    """A file states something else that does not hold."""


class WorkError(Error):
    """A check would take more work than allowed. It says nothing about the file."""


class EntropyError(Error):
    """The system gave no randomness. Nothing is released."""


class BeyondError(Error, OverflowError):
    """The noise of a tail makes a result too large to be a float64. Nothing is released."""


class NoPromiseError(Error):
    """A bundle that adds no noise: it promises nothing, so there is nothing to prove."""


class UnprovedError(Error):
    """A promise that this package cannot prove, while the program may. It says nothing about the
    file."""


class ExceededError(Error):
    """A release that would exceed the total of its ledger. Nothing is charged, and nothing released."""


class OtherDataError(InvalidError):
    """A ledger of other data, or data that have changed. Nothing is charged, and nothing released."""


class PrivacyWarning(UserWarning):
    """A promise that is weak, or that nothing adds up."""
