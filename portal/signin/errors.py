"""Why a sign-in isn't accepted."""

from __future__ import annotations


class SignInFailed(Exception):
    """The sign-in must not be accepted; `args[0]` says why, only for the audit trail and the log."""


class AnotherPerson(SignInFailed):
    """A refresh returned another person's ID token."""


class NotFresh(SignInFailed):
    """The person should have typed the password again; `is_dated` says whether the server tells when that was last."""

    def __init__(self, reason: str, *, is_dated: bool) -> None:
        super().__init__(reason)
        self.is_dated = is_dated
