"""How somebody signed in: methods (`amr`, RFC 8176), their class (`acr`, OpenID Connect Core §2), and one-time codes."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from portal.careservice.identity.tables import Person

ONE_FACTOR = "https://refeds.org/profile/sfa"
TWO_FACTORS = "https://refeds.org/profile/mfa"
CLASSES = (ONE_FACTOR, TWO_FACTORS)
"""The classes that this server can tell, the weakest first (REFEDS SFA and MFA profiles)."""

PASSWORD = ("pwd",)
PASSWORD_AND_CODE = ("pwd", "otp", "mfa")

_STEP_SECONDS = 30
_STEPS = (0, -1, 1)
"""The code of now, of the one before, and of the next, for clocks that differ (RFC 6238 §5.2)."""


def class_of(amr: Sequence[str]) -> str:
    """The class of a sign-in by these methods."""
    return TWO_FACTORS if "mfa" in amr else ONE_FACTOR


def is_met(acr_values: Iterable[str], amr: Sequence[str]) -> bool:
    """Whether a sign-in by these methods is of one of these classes; values that aren't this server's ask for nothing."""
    asked = {value for value in acr_values if value in CLASSES}
    return not asked or any(CLASSES.index(value) <= CLASSES.index(class_of(amr)) for value in asked)


def code_at(person: Person, moment: datetime) -> str:
    """The person's one-time code of this moment (RFC 6238): six digits."""
    return _totp(person).generate(int(moment.timestamp())).decode()


def take_code(person: Person, code: str, moment: datetime) -> bool:
    """Whether it is the person's one-time code now. Each is taken once (RFC 6238 §5.2)."""
    if person.totp_secret is None or not (code.isascii() and code.isdecimal() and len(code) == 6):
        return False
    now = int(moment.timestamp()) // _STEP_SECONDS
    for step in (now + ahead for ahead in _STEPS):
        expected = _totp(person).generate(step * _STEP_SECONDS).decode()
        if hmac.compare_digest(expected, code) and step > person.totp_used_step:
            person.totp_used_step = step
            return True
    return False


def _totp(person: Person) -> TOTP:
    return TOTP(base64.b32decode(person.totp_secret or ""), 6, SHA1(), _STEP_SECONDS)  # noqa: S303
