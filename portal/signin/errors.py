"""Why a sign-in isn't accepted."""

from __future__ import annotations

from portal.state.session_records import Tokens


class SignInFailed(Exception):
    """The sign-in must not be accepted; `args[0]` says why, only for the audit trail and the log."""


class AnotherPerson(SignInFailed):
    """A refresh returned another person's ID token."""


class NotStrong(SignInFailed):
    """The identity server didn't let the person sign in as strongly as was asked for.

    `to_come_in` says whether they need it to come in at all; `next` is where they were going; `tokens`, if any, came with
    it and aren't used.
    """

    def __init__(
        self, reason: str, next_path: str, *, to_come_in: bool, tokens: Tokens | None = None
    ) -> None:
        super().__init__(reason)
        self.next = next_path
        self.to_come_in = to_come_in
        self.tokens = tokens


class NotFresh(SignInFailed):
    """The person should have typed the password again; `is_dated` says whether the server tells when that was last."""

    def __init__(self, reason: str, *, is_dated: bool) -> None:
        super().__init__(reason)
        self.is_dated = is_dated
