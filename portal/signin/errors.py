"""Why a sign-in isn't accepted."""

from __future__ import annotations


class SignInFailed(Exception):
    """The sign-in must not be accepted; `args[0]` says why, only for the audit trail and the log."""


class AnotherPerson(SignInFailed):
    """A refresh returned another person's ID token."""
