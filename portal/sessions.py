"""Server-side sessions.

The browser holds 256 random bits in `__Host-sid`; the store holds a record under their SHA-256, and the tokens in
a second record beside it. Neither ever reaches the browser. Writes are compare-and-set: a request in flight cannot
bring back a session that was signed out meanwhile, nor an older state of one that went on.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from flask import Flask, Request, Response
from flask.sessions import SessionInterface, SessionMixin

from portal.clock import Clock
from portal.settings import SessionLimits
from portal.store.vault import Held, Vault
from portal.tenants import Side, Tenants

if TYPE_CHECKING:
    from werkzeug.datastructures.headers import Headers

COOKIE = "__Host-sid"
_ANONYMOUS_SECONDS = 30 * 60
_TOUCH_SECONDS = 60
_ENDED_SECONDS = 14 * 24 * 3600


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Who signed in, from the claims of the ID token; times in seconds since 1970."""

    sub: str
    issuer: str
    name: str
    given_name: str
    side: Side
    roles: frozenset[str]
    auth_time: float
    sid: str | None = None
    locale: str | None = None

    @property
    def is_staff(self) -> bool:
        return self.side is Side.STAFF

    @property
    def is_patient(self) -> bool:
        return self.side is Side.PATIENT


class SessionRecord(msgspec.Struct, kw_only=True):
    """What the store holds of a session. `data` is Flask's part: the CSRF token, the chosen language."""

    tenant: str
    host: str
    created_at: float
    used_at: float
    epoch: str
    person: Person | None = None
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    episode_ids: list[str] = msgspec.field(default_factory=list)
    device: str = ""


Change = Callable[[SessionRecord], None]


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """A person's tokens (RFC 6749 §5.1): renewed from `refresh_at`, of no use after `expires_at` (seconds since 1970)."""

    access_token: str = msgspec.field(name="a")
    refresh_token: str | None = msgspec.field(default=None, name="r")
    id_token: str | None = msgspec.field(default=None, name="i")
    expires_at: float
    refresh_at: float


class Session(SessionMixin):
    """One browser's session during one request; read from the store when first looked at."""

    def __init__(self, sessions: Sessions, cookie: str | None, tenant: str, host: str) -> None:
        self._sessions = sessions
        self._cookie = cookie
        self._tenant = tenant
        self._host = host
        self._held: Held[SessionRecord] | None = None
        self._loaded = False
        self._tokens: Held[Tokens] | None = None
        self._changed: dict[str, Any] = {}
        self._removed: set[str] = set()
        self.ended = False
        self.fresh_cookie: str | None = None
        self.modified = False

    # Flask's dictionary: small values of the browser, such as the CSRF token.

    def __getitem__(self, key: str) -> Any:
        self.accessed = True
        if key in self._changed:
            return self._changed[key]
        record = self.record
        if record is None or key in self._removed:
            raise KeyError(key)
        return record.data[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.modified = True
        self._removed.discard(key)
        self._changed[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self.modified = True
        self._changed.pop(key, None)
        self._removed.add(key)

    def __iter__(self) -> Iterator[str]:
        record = self.record
        kept = set(record.data if record else {}) - self._removed
        return iter(kept | self._changed.keys())

    def __len__(self) -> int:
        return len(list(iter(self)))

    # The portal's own part.

    @property
    def name(self) -> str | None:
        """The record's name in the store."""
        return record_name(self._cookie) if self._cookie else None

    @property
    def record(self) -> SessionRecord | None:
        """The session as stored, or None when there is none, it is over, or it belongs to another host."""
        if not self._loaded:
            if self._cookie:
                self._held, self._tokens = self._sessions.load(self._cookie, self._tenant, self._host)
            self._loaded = True  # last: a store that is down is asked again, and never makes anyone anonymous
        return self._held.value if self._held else None

    @property
    def person(self) -> Person | None:
        """Who is signed in here, or None."""
        record = self.record
        return record.person if record else None

    @property
    def tokens(self) -> Tokens | None:
        """The tokens that were loaded together with the session."""
        return self._tokens.value if self.record and self._tokens else None

    @property
    def expires_at(self) -> float:
        """When this session ends if it is not used again, in seconds since 1970."""
        record = self.record
        return self._sessions.ends_at(record) if record else 0.0

    def sign_in(self, person: Person, tokens: Tokens, *, device: str) -> None:
        """Begin a session of this person under a new id; what another person held before is gone."""
        again = self.person is not None and (self.person.issuer, self.person.sub) == (
            person.issuer,
            person.sub,
        )
        data = {key: value for key, value in self.items() if again or key == "language"}
        self._drop()
        self._begin(
            SessionRecord(
                tenant=self._tenant,
                host=self._host,
                created_at=self._sessions.clock(),
                used_at=self._sessions.clock(),
                epoch=secrets.token_urlsafe(9),
                person=person,
                data=data,
                device=device,
            ),
            tokens,
        )

    def end(self) -> None:
        """Sign out: the session and its tokens are gone when this returns."""
        self._drop()
        self.ended = True

    def use(self) -> None:
        """Count this request as use, in the store at most once a minute."""
        record = self.record
        if record and self._sessions.clock() - record.used_at >= _TOUCH_SECONDS:
            self.amend(_used_at(self._sessions.clock()))

    def remember_episodes(self, ids: list[str]) -> None:
        """Keep the ids (nothing else) of the person's episodes, so that home can ask for them at once."""
        record = self.record
        if record and record.episode_ids != ids:
            self.amend(_episode_ids(ids))

    def amend(self, change: Change) -> None:
        """Apply `change` to the newest record by compare-and-set; nothing happens when the session is gone."""
        if self._cookie and self._held:
            self._held = self._sessions.amend(self._cookie, self._held, change)

    def save(self) -> None:
        """Write what changed in Flask's part."""
        if not self.modified or self.ended:
            return
        if self.record is None:
            self._begin(
                SessionRecord(
                    tenant=self._tenant,
                    host=self._host,
                    created_at=self._sessions.clock(),
                    used_at=self._sessions.clock(),
                    epoch="",
                    data=self._changed,
                ),
                None,
            )
            return
        self.amend(self._merge)

    def _merge(self, fresh: SessionRecord) -> None:
        for key in self._removed:
            fresh.data.pop(key, None)
        fresh.data.update(self._changed)

    def _begin(self, record: SessionRecord, tokens: Tokens | None) -> None:
        cookie = secrets.token_urlsafe(32)
        self._sessions.insert(cookie, record, tokens)
        self._cookie = self.fresh_cookie = cookie
        self._held, self._tokens = self._sessions.load(cookie, self._tenant, self._host)
        self._loaded, self.modified, self.ended = True, False, False
        self._changed, self._removed = {}, set()

    def _drop(self) -> None:
        if self._cookie:
            self._sessions.end(record_name(self._cookie))
        self._cookie, self._held, self._tokens, self._loaded = None, None, None, True
        self._changed, self._removed = {}, set()


class Sessions(SessionInterface):
    """Flask's session interface over the store, and what is done to sessions from outside a request."""

    def __init__(
        self, vault: Vault, tenants: Tenants, limits: Mapping[Side, SessionLimits], clock: Clock
    ) -> None:
        self._vault = vault
        self._tenants = tenants
        self._limits = limits
        self.clock = clock

    # Flask calls these two around every request.

    def open_session(self, app: Flask, request: Request) -> Session:
        tenant = self._tenants.at(request.host)
        return Session(self, request.cookies.get(COOKIE), tenant.key if tenant else "", request.host)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        session = cast("Session", session)
        session.save()
        if session.fresh_cookie and not session.ended:
            _set_cookie(response.headers, session.fresh_cookie)
        elif session.ended:
            _set_cookie(response.headers, "", max_age=0)

    # The records.

    def load(
        self, cookie: str, tenant: str, host: str
    ) -> tuple[Held[SessionRecord] | None, Held[Tokens] | None]:
        """Read session and tokens in one round trip; a session of another host or clinic counts as none."""
        name = record_name(cookie)
        records = self._vault.get_many((name, tokens_name(name)))
        sealed = records.get(name)
        held = self._vault.open(name, sealed, SessionRecord) if sealed else None
        if held is None or held.value.host != host or held.value.tenant != tenant:
            return None, None
        if self.ends_at(held.value) <= self.clock():
            return None, None
        tokens = records.get(tokens_name(name))
        return held, self._vault.open(tokens_name(name), tokens, Tokens) if tokens else None

    def insert(self, cookie: str, record: SessionRecord, tokens: Tokens | None) -> None:
        """Create the session's record and, for a signed-in person, the one with the tokens."""
        name = record_name(cookie)
        expires_at = self.latest_end(record)
        if tokens:
            self._vault.insert(tokens_name(name), tokens, expires_at=expires_at)
        tags = _tags(record.person, record.tenant) if record.person else []
        self._vault.insert(name, record, expires_at=expires_at, tags=tags)

    def amend(self, cookie: str, held: Held[SessionRecord], change: Change) -> Held[SessionRecord] | None:
        """Apply `change` to the newest record by compare-and-set; None when the session is gone."""
        name = record_name(cookie)
        while True:
            change(held.value)
            if self._vault.replace(name, held.value, version=held.version, expires_at=held.expires_at):
                return Held(held.value, held.version + 1, held.expires_at)
            fresh = self._vault.get(name, SessionRecord)
            if fresh is None:
                return None
            held = fresh

    def end(self, name: str) -> None:
        """Delete the session of this record name, tokens first, so that none is left without its session."""
        self._vault.delete(tokens_name(name), name)

    def end_elsewhere(self, name: str) -> None:
        """End another browser's session, and let that browser sign in again with the password alone.

        (It may still be signed in at the identity server, and would come back without being asked.)
        """
        self._vault.insert(_ended_name(name), True, expires_at=self.clock() + _ENDED_SECONDS)
        self.end(name)

    def was_ended_elsewhere(self, cookie: str | None) -> bool:
        """Whether this browser's session was ended from another one."""
        return cookie is not None and self._vault.get(_ended_name(record_name(cookie)), bool) is not None

    def tokens_of(self, name: str) -> Held[Tokens] | None:
        """Read a session's tokens as they are now."""
        return self._vault.get(tokens_name(name), Tokens)

    def replace_tokens(self, name: str, held: Held[Tokens], tokens: Tokens) -> bool:
        """Write new tokens over those read; False when someone else did, or the session ended."""
        return self._vault.replace(
            tokens_name(name), tokens, version=held.version, expires_at=held.expires_at
        )

    def ends_at(self, record: SessionRecord) -> float:
        """When the session is over: unused for too long, or too old; whichever comes first."""
        if record.person is None:
            return record.used_at + _ANONYMOUS_SECONDS
        limits = self._limits[record.person.side]
        return min(record.used_at + limits.idle, record.created_at + limits.absolute)

    def latest_end(self, record: SessionRecord) -> float:
        """When the store may forget the record."""
        if record.person is None:
            return record.created_at + 24 * 3600
        return record.created_at + self._limits[record.person.side].absolute

    def of_person(self, person: Person, tenant: str) -> list[tuple[str, SessionRecord]]:
        """Return the person's live sessions with their record names."""
        names = self._vault.store.tagged(_sub_tag(person.issuer, tenant, person.sub))
        held = ((name, self._vault.get(name, SessionRecord)) for name in names)
        return [(name, one.value) for name, one in held if one and self.ends_at(one.value) > self.clock()]

    def end_tagged(self, *, issuer: str, tenant: str, sub: str | None, sid: str | None) -> int:
        """End the sessions of an OpenID `sid`, or else of a `sub` (back-channel logout); return how many."""
        if sid is not None:
            names = self._vault.store.tagged(_sid_tag(issuer, tenant, sid))
        else:
            names = self._vault.store.tagged(_sub_tag(issuer, tenant, sub or ""))
        for name in names:
            self.end(name)
        return len(names)


def record_name(cookie: str) -> str:
    """The name under which the store holds the session of this cookie."""
    return "session:" + hashlib.sha256(cookie.encode()).hexdigest()


def tokens_name(name: str) -> str:
    """The name of the record that holds the session's tokens."""
    return "tokens:" + name.removeprefix("session:")


def _used_at(now: float) -> Change:
    def change(record: SessionRecord) -> None:
        record.used_at = now

    return change


def _episode_ids(ids: list[str]) -> Change:
    def change(record: SessionRecord) -> None:
        record.episode_ids = ids

    return change


def _ended_name(name: str) -> str:
    return "ended:" + name.removeprefix("session:")


def _tags(person: Person, tenant: str) -> list[str]:
    tags = [_sub_tag(person.issuer, tenant, person.sub)]
    return [*tags, _sid_tag(person.issuer, tenant, person.sid)] if person.sid else tags


def _sub_tag(issuer: str, tenant: str, sub: str) -> str:
    return "sub:" + _digest(issuer, tenant, sub)


def _sid_tag(issuer: str, tenant: str, sid: str) -> str:
    return "sid:" + _digest(issuer, tenant, sid)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _set_cookie(headers: Headers, value: str, max_age: int | None = None) -> None:
    age = f"; Max-Age={max_age}" if max_age is not None else ""
    headers.add("Set-Cookie", f"{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Lax{age}")
