"""How somebody signed in: methods (`amr`, RFC 8176), their class (`acr`, OpenID Connect Core §2), one-time and recovery codes."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from portal.careservice.identity.tables import Passkey, Person, RecoveryCode, digest

ONE_FACTOR = "https://refeds.org/profile/sfa"
TWO_FACTORS = "https://refeds.org/profile/mfa"
UNPHISHABLE = "phr"
UNPHISHABLE_HARDWARE = "phrh"
CLASSES = (ONE_FACTOR, TWO_FACTORS, UNPHISHABLE, UNPHISHABLE_HARDWARE)
"""The classes that this server can tell, the weakest first (REFEDS SFA and MFA profiles, OpenID Connect EAP ACR Values 1.0)."""

PASSWORD = ("pwd",)
PASSWORD_AND_CODE = ("pwd", "otp", "mfa")
PASSWORD_AND_RECOVERY = ("pwd", "recovery", "mfa")
"""RFC 8176 has no word for a recovery code."""

RECOVERY_CODES = 10

_STEP_SECONDS = 30
_STEPS = (0, -1, 1)
"""The code of now, of the one before, and of the next, for clocks that differ (RFC 6238 §5.2)."""


def class_of(amr: Sequence[str]) -> str:
    """The strongest class of a sign-in by these methods."""
    if is_by_passkey(amr):
        return UNPHISHABLE_HARDWARE if "hwk" in amr else UNPHISHABLE
    return TWO_FACTORS if "mfa" in amr else ONE_FACTOR


def is_by_passkey(amr: Sequence[str]) -> bool:
    return "hwk" in amr or "swk" in amr


def class_told(acr_values: Iterable[str], amr: Sequence[str]) -> str:
    """The class to tell a client: the first that it asked for and that a sign-in by these methods is of, else the strongest."""
    reached = CLASSES[: CLASSES.index(class_of(amr)) + 1]
    return next((value for value in acr_values if value in reached), reached[-1])


def methods_of(passkey: Passkey) -> tuple[str, ...]:
    """The methods of a sign-in by this passkey, whose device checked who holds it."""
    return ("swk" if passkey.is_synced else "hwk", "user", "mfa")


def has_second_step(person: Person) -> bool:
    """Whether the person has more than a password."""
    return person.totp_secret is not None or bool(person.passkeys)


def can_do_more(person: Person, acr_values: Iterable[str], amr: Sequence[str]) -> bool:
    """Whether a client asks for more than a sign-in by these methods, and the person has more.

    Who has no more is let in by what they have, as for any voluntary claim (OpenID Connect Core §5.5.1.1): the tokens say so.
    """
    if is_met(acr_values, amr):
        return False
    ways = [methods_of(passkey) for passkey in person.passkeys]
    if person.totp_secret:
        ways.append(PASSWORD_AND_CODE)
    return any(CLASSES.index(class_of(way)) > CLASSES.index(class_of(amr)) for way in ways)


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


def new_recovery_codes(session: Session, person: Person) -> list[str]:
    """Replace the person's recovery codes and return the new ones; only their digests are kept.

    They are 20 digits each (66 bits), so that every keyboard has them.
    """
    session.execute(delete(RecoveryCode).where(RecoveryCode.person_id == person.id))
    codes = [f"{secrets.randbelow(10**20):020}" for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(code_hash=digest(code), person_id=person.id) for code in codes)
    return ["-".join(code[at : at + 5] for at in range(0, len(code), 5)) for code in codes]


def take_recovery_code(session: Session, person: Person, code: str) -> bool:
    """Whether it is one of the person's recovery codes that is left. Each is taken once."""
    plain = code.replace("-", "")
    used = delete(RecoveryCode).where(
        RecoveryCode.person_id == person.id, RecoveryCode.code_hash == digest(plain)
    )
    return session.execute(used.returning(RecoveryCode.code_hash)).first() is not None


def recovery_codes_left(session: Session, person: Person) -> int:
    """How many of the person's recovery codes are left."""
    counted = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.person_id == person.id)
    return session.scalar(counted) or 0


def _totp(person: Person) -> TOTP:
    return TOTP(base64.b32decode(person.totp_secret or ""), 6, SHA1(), _STEP_SECONDS)  # noqa: S303
