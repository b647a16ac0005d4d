"""Server-side sessions.

The browser holds 256 random bits in `__Host-sid`; the store holds a record under their SHA-256, and the tokens in a
second record. Neither ever reaches the browser. Writes are compare-and-set: a request in flight can't restore a session
that was signed out meanwhile, or overwrite newer state.

Only people who sign in have a session: visitors store nothing. If a session ends without a sign-out, its owner stays on
record for an hour, so that unsent input can be restored (`portal.web.unsent`).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, cast

import msgspec
from flask import Flask, Request, Response
from flask.sessions import SessionInterface, SessionMixin

from portal import metrics
from portal.clock import Clock
from portal.config.settings import SessionLimits
from portal.config.tenants import Side, Tenants
from portal.state import copies
from portal.state.session_records import (
    Ended,
    Person,
    SessionRecord,
    Tokens,
    ended_name,
    known_people_name,
    record_name,
    tokens_name,
)
from portal.state.sign_outs import SignOuts
from portal.store import StoreDown, StoredRecord
from portal.store.vault import Vault

if TYPE_CHECKING:
    from werkzeug.datastructures.headers import Headers

log = logging.getLogger("portal")

COOKIE = "__Host-sid"
READ = "portal.session_records"
"""The WSGI environ's key for records that were read with the session before Flask began."""
_TOUCH_SECONDS = 60
_CLOCK_SECONDS = 5 * 60
_REMEMBERED_SECONDS = 3600
_MOST_SESSIONS, _MOST_WANTED = 2048, 32
"""For how many sessions a process knows what to read along, and how many records for each."""


Change = Callable[[SessionRecord], None]


class Session(SessionMixin):
    """One browser's session during one request; loaded from the store on first use."""

    def __init__(
        self,
        sessions: Sessions,
        cookie: str | None,
        tenant: str,
        host: str,
        read: dict[str, StoredRecord | None] | None = None,
    ) -> None:
        self._sessions = sessions
        self._cookie = cookie
        self._tenant = tenant
        self._host = host
        self._record: SessionRecord | None = None
        self._tokens: Tokens | None = None
        self._loaded = False
        self._changed: dict[str, Any] = {}
        self._removed: set[str] = set()
        self.ended = False
        self.fresh_cookie: str | None = None
        self.modified = False
        self._shown_episodes: list[str] | None = None
        self._read = {} if read is None else read

    # Flask's session dictionary: small values. A visitor's is discarded with the request.
    def __getitem__(self, key: str) -> Any:
        self.accessed = True
        if key in self._changed:
            return self._changed[key]
        record = self.record
        if record is None or key in self._removed or self._shown_episodes is not None:
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
        record = self.record if self._shown_episodes is None else None
        kept = set(record.data if record else {}) - self._removed
        return iter(kept | self._changed.keys())

    def __len__(self) -> int:
        return len(list(iter(self)))

    # The portal's part.
    @property
    def cookie(self) -> str | None:
        """The cookie's value, whether or not a session belongs to it."""
        return self._cookie

    @property
    def name(self) -> str | None:
        return record_name(self._cookie) if self._cookie else None

    @property
    def record(self) -> SessionRecord | None:
        """The session as stored, or None if there is none, it has ended, or it belongs to another host."""
        if not self._loaded:
            if self._cookie:
                self._record, self._tokens = self._sessions.load(
                    self._cookie, self._tenant, self._host, self._read
                )
            self._loaded = True  # only now: a load that fails is retried, never taken for no session
        return self._record

    def records(self, *names: str) -> dict[str, StoredRecord]:
        """Return these records of the store, sealed, as this request first read them.

        The session's next requests in this process read them together with it, in one round trip.
        """
        whose = self.name if self.record else None
        if missing := [name for name in names if name not in self._read]:
            self._read |= self._sessions.read_along(whose, missing)
        return {name: record for name in names if (record := self._read.get(name))}

    def take(self, name: str) -> StoredRecord | EllipsisType | None:
        """Return the record as read, to be replaced (`Vault.update`), and forget it; `...` if it hasn't been read."""
        return self._read.pop(name, ...)

    @property
    def person(self) -> Person | None:
        record = self.record
        return record.person if record else None

    @property
    def tokens(self) -> Tokens | None:
        """The tokens as loaded together with the session."""
        return self._tokens if self.record else None

    @property
    def tag(self) -> str | None:
        """What its pages and answers are told by, if there is a session."""
        record = self.record
        return record.tag if record else None

    @property
    def is_loaded(self) -> bool:
        """Whether this request has read it."""
        return self._loaded

    @property
    def lasts(self) -> int:
        """How many seconds this session lasts unless it is used again."""
        record = self.record
        return self._sessions.lasts(record) if record else 0

    def sign_in(self, person: Person, tokens: Tokens, *, device: str) -> None:
        """Start a session for this person under a new id; another person's previous session is dropped.

        If they are signed in here already, their open pages stay part of the session, and it goes on knowing their episodes
        and whom they have read about.
        """
        before = self.record
        if before and (before.person.issuer, before.person.sub) != (person.issuer, person.sub):
            before = None
        data = dict(self.items()) if before else {}
        known = self._sessions.known_people(self._cookie) if before and self._cookie else None
        self._drop()
        record = SessionRecord(
            tenant=self._tenant,
            host=self._host,
            created_at=self._sessions.clock(),
            used_at=self._sessions.clock(),
            epoch=before.epoch if before else secrets.token_urlsafe(9),
            person=person,
            data=data,
            episode_ids=before.episode_ids if before else [],
            knows_all_episodes=before.knows_all_episodes if before else False,
            device=device,
        )
        cookie = secrets.token_urlsafe(32)
        self._sessions.insert(cookie, record, tokens, known)
        self._cookie = self.fresh_cookie = cookie
        self._record, self._tokens = self._sessions.load(cookie, self._tenant, self._host)
        self._loaded, self.modified, self.ended = True, False, False

    def end(self) -> None:
        """Sign out: delete the session and its tokens before returning, and the browser's cookie in any case."""
        self.ended = True
        self._drop()

    def use(self) -> None:
        """Record this request as use, at most once a minute (or at once if the clock was set back)."""
        record, now = self.record, self._sessions.clock()
        if record and not -_CLOCK_SECONDS < now - record.used_at < _TOUCH_SECONDS:
            self._amend_if_possible(_used_at(now))

    def only_show(self, episode_ids: list[str]) -> None:
        """From now on, this request shows another person's pages, of these episodes: it neither reads nor keeps anything here."""
        self._shown_episodes = episode_ids
        self._changed, self._removed = {}, set()

    @property
    def episode_ids(self) -> list[str]:
        """The ids of the episodes that the person opened, or to whom the pages shown belong."""
        if self._shown_episodes is not None:
            return list(self._shown_episodes)
        record = self.record
        return list(record.episode_ids) if record else []

    @property
    def knows_all_episodes(self) -> bool:
        """Whether `episode_ids` are all that the person can reach, as far as anything mentions them."""
        record = self.record
        return self._shown_episodes is not None or (record is not None and record.knows_all_episodes)

    def remember_episodes(self, ids: list[str], *, are_all: bool = False) -> None:
        """Store the ids (nothing else) of the person's episodes, so that the home page can request them right away."""
        record = self.record if self._shown_episodes is None else None
        if record and (record.episode_ids, record.knows_all_episodes or not are_all) != (ids, True):
            self._amend_if_possible(_episode_ids(ids, are_all))

    def amend(self, change: Change) -> None:
        """Apply `change` to the current record; do nothing if the session has ended."""
        if self._cookie and self.record:
            held = self.take(record_name(self._cookie))
            self._record = self._sessions.amend(self._cookie, change, held=held)

    def whose(self) -> tuple[str, str] | None:
        """Issuer and `sub` of the person signed in, or of the last one if the session ended without a sign-out."""
        person = self.person
        if person:
            return person.issuer, person.sub
        ended = self._sessions.ended(self._cookie, self._tenant, self._host) if self._cookie else None
        return (ended.issuer, ended.sub) if ended else None

    def save(self) -> None:
        """Write the changes to Flask's dictionary, if there is a session."""
        is_own = self._shown_episodes is None
        if self.modified and is_own and not self.ended and self.record is not None:
            self._amend_if_possible(self._merge)

    def _amend_if_possible(self, change: Change) -> None:
        """Amend the session, but ignore a store that accepts no writes: no page fails because of that.

        Nor because the store has gone since the page was made, which may tell of an act that was done.
        """
        try:
            self.amend(change)
        except StoreDown as error:
            log.warning("session not amended: %s", error)

    def _merge(self, fresh: SessionRecord) -> None:
        for key in self._removed:
            fresh.data.pop(key, None)
        fresh.data.update(self._changed)

    def _drop(self) -> None:
        if self._cookie:
            self._sessions.end(record_name(self._cookie))
        self._cookie, self._record, self._tokens, self._loaded = None, None, None, True
        self._changed, self._removed = {}, set()


class Sessions(SessionInterface):
    """Flask's session interface on the store, and operations on other sessions."""

    def __init__(
        self, vault: Vault, tenants: Tenants, limits: Mapping[Side, SessionLimits], clock: Clock
    ) -> None:
        self._vault = vault
        self._tenants = tenants
        self._limits = limits
        self._wanted: dict[str, tuple[str, ...]] = {}
        self.clock = clock
        self.sign_outs = SignOuts(vault, clock)

    # Flask calls these two on every request.
    def open_session(self, app: Flask, request: Request) -> Session:
        tenant = self._tenants.at(request.host)
        read = request.environ.get(READ)
        return Session(self, request.cookies.get(COOKIE), tenant.key if tenant else "", request.host, read)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        session = cast("Session", session)
        session.save()
        if session.fresh_cookie and not session.ended:
            _set_cookie(response.headers, session.fresh_cookie)
        elif session.ended:
            _set_cookie(response.headers, "", max_age=0)

    # The records.

    def load(
        self,
        cookie: str,
        tenant: str,
        host: str,
        into: dict[str, StoredRecord | None] | None = None,
        *,
        kind: str = "",
    ) -> tuple[SessionRecord | None, Tokens | None]:
        """Load session and tokens in one round trip; a session of another host or clinic, or without tokens, counts as none.

        What the session wanted to `read_along` before, or only what is of this `kind`, is read with them, `into` a dictionary
        that gets everything. Nothing is read if the dictionary has the session already.
        """
        name, into = record_name(cookie), {} if into is None else into
        if name not in into:
            along = self._wanted.get(name, ())
            names = (name, tokens_name(name), *(one for one in along if one.startswith(kind)))
            found = self._vault.get_many(names)
            into |= {name: found.get(name) for name in names}
        sealed = into[name]
        held = self._vault.open(name, sealed, SessionRecord) if sealed else None
        if held is None or held.value.host != host or held.value.tenant != tenant:
            return None, None
        if self.has_ended(held.value):
            return None, None
        sealed = into[tokens_name(name)]
        tokens = self._vault.open(tokens_name(name), sealed, Tokens) if sealed else None
        return (held.value, tokens.value) if tokens else (None, None)

    def read_along(self, name: str | None, wanted: Sequence[str]) -> dict[str, StoredRecord | None]:
        """Read records, None for each that there isn't, and from now on with the session of this name."""
        if len(self._wanted) >= _MOST_SESSIONS:
            self._wanted.clear()
        if name:
            self._wanted[name] = (*wanted, *self._wanted.get(name, ()))[:_MOST_WANTED]
        records = self._vault.get_many(wanted)
        return {name: records.get(name) for name in wanted}

    def known_people(self, cookie: str) -> msgspec.Raw | None:
        """Return the record of the people whom this cookie's session knows (`portal/web/known_people.py`), unread."""
        held = self._vault.get(known_people_name(record_name(cookie)), msgspec.Raw)
        return held.value if held else None

    def insert(
        self, cookie: str, record: SessionRecord, tokens: Tokens, known: msgspec.Raw | None = None
    ) -> None:
        """Create the session's record and its tokens' record, and that of the people whom it knows."""
        name = record_name(cookie)
        latest_end = record.created_at + self._limits[record.person.side].absolute
        self._vault.insert(tokens_name(name), tokens, expires_at=latest_end)
        tags = self._tags(record.person, record.tenant)
        self._vault.insert(name, record, expires_at=self._forgotten_at(record), tags=tags)
        if known is not None:
            self._vault.insert(known_people_name(name), known, expires_at=self.ends_at(record))
        metrics.session("begun")

    def amend(
        self, cookie: str, change: Change, *, held: StoredRecord | EllipsisType | None = ...
    ) -> SessionRecord | None:
        """Apply `change` to the current record by compare-and-set; return None if the session has ended.

        `held` is the record as read a moment ago.
        """

        def changed(record: SessionRecord) -> SessionRecord:
            change(record)
            return record

        return self._vault.update(
            record_name(cookie), SessionRecord, changed, expires_at=self._forgotten_at, held=held
        )

    def end(self, name: str) -> None:
        """Delete the session with this record name; its tokens first, so that none are left without a session."""
        self._wanted.pop(name, None)
        if self._vault.delete(tokens_name(name), name, ended_name(name)) > 1:
            metrics.session("ended")
            self._vault.delete(*copies.names_of(name), known_people_name(name))

    def end_unasked(self, name: str) -> SessionRecord | None:
        """End a session without a sign-out in its browser, and return it; its owner stays on record for a while."""
        held = self._vault.get(name, SessionRecord)
        self.end(name)
        if held is None:
            return None
        expires_at = self.clock() + _REMEMBERED_SECONDS
        self._vault.insert(ended_name(name), Ended.of(held.value), expires_at=expires_at)
        return held.value

    def end_from_elsewhere(self, name: str) -> None:
        """End a session by a sign-out in another place: earlier sign-ins at the identity server don't count any more."""
        ended = self.end_unasked(name)
        if ended:
            self.sign_outs.note(ended.person.issuer, ended.tenant, ended.person.sub)

    def ended(self, cookie: str, tenant: str, host: str) -> Ended | None:
        """Return the owner of this cookie's ended session, while that is on record."""
        name = record_name(cookie)
        records = self._vault.get_many((name, ended_name(name)))
        if sealed := records.get(ended_name(name)):
            held = self._vault.open(ended_name(name), sealed, Ended)
            ended = held.value if held else None
        elif sealed := records.get(name):
            over = self._vault.open(name, sealed, SessionRecord)
            ended = Ended.of(over.value) if over and self.has_ended(over.value) else None
        else:
            ended = None
        return ended if ended and (ended.tenant, ended.host) == (tenant, host) else None

    def tokens_of(self, name: str) -> Tokens | None:
        """Return a session's current tokens."""
        held = self._vault.get(tokens_name(name), Tokens)
        return held.value if held else None

    def person_of(self, name: str) -> Person | None:
        """Return the session's person; None if it has ended."""
        held = self._vault.get(name, SessionRecord)
        return held.value.person if held else None

    def replace_roles(self, name: str, roles: frozenset[str], roles_from: str = "") -> None:
        """Replace the roles of the session's person, and where they were read."""

        def change(record: SessionRecord) -> SessionRecord | None:
            person = msgspec.structs.replace(record.person, roles=roles, roles_from=roles_from)
            if person == record.person:
                return None
            record.person = person
            return record

        self._vault.update(name, SessionRecord, change, expires_at=self._forgotten_at)

    def replace_tokens(self, name: str, before: Tokens, after: Tokens) -> bool:
        """Replace the tokens read before; return False if someone else did so first or the session ended."""

        def replace(tokens: Tokens) -> Tokens | None:
            return after if tokens == before else None

        return self._vault.update(tokens_name(name), Tokens, replace) is not None

    def ends_at(self, record: SessionRecord) -> float:
        """When the session ends by idle timeout or maximum age, whichever comes first."""
        limits = self._limits[record.person.side]
        return min(record.used_at + limits.idle, record.created_at + limits.absolute)

    def has_ended(self, record: SessionRecord) -> bool:
        """Whether it has ended, by this clock: also if it was used further ahead than it lasts without use."""
        now, idle = self.clock(), self._limits[record.person.side].idle
        return self.ends_at(record) <= now or record.used_at - now > idle

    def lasts(self, record: SessionRecord) -> int:
        """How many seconds the session lasts from now on."""
        return int(self.ends_at(record) - self.clock())

    def _forgotten_at(self, record: SessionRecord) -> float:
        """When the store may drop the record: an hour after the session ends."""
        return self.ends_at(record) + _REMEMBERED_SECONDS

    def of_person(self, person: Person, tenant: str) -> list[tuple[str, SessionRecord]]:
        """Return the person's active sessions with their record names."""
        names = self._vault.tagged("sub", person.issuer, tenant, person.sub)
        held = ((name, self._vault.get(name, SessionRecord)) for name in names)
        return [(name, record.value) for name, record in held if record and not self.has_ended(record.value)]

    def end_tagged(self, *, issuer: str, tenant: str, sub: str | None, sid: str | None) -> int:
        """End the sessions of an OpenID `sid`, or else of a `sub` (back-channel logout); return their number."""
        if sub is not None:
            self.sign_outs.note(issuer, tenant, sub)
        kind, who = ("sub", sub or "") if sid is None else ("sid", sid)
        names = self._vault.tagged(kind, issuer, tenant, who)
        for name in names:
            self.end_from_elsewhere(name)
        return len(names)

    def end_at_clinic(self, tenant: str, *, sub: str | None = None) -> int:
        """End all sessions at this clinic, or there only this person's; return their number.

        The person's sign-ins at the identity server don't count any more, even if no session is left to tell its issuer: that is
        the clinic's address of it, with or without a slash at its end.
        """
        ended = 0
        if sub is not None:
            for issuer in (address := self._tenants.by_key[tenant].auth_url, f"{address}/"):
                self.sign_outs.note(issuer, tenant, sub)
        for name in self._vault.tagged("clinic", tenant):
            held = self._vault.get(name, SessionRecord)
            if held and sub in (None, held.value.person.sub):
                self.end_from_elsewhere(name)
                ended += 1
        return ended

    def _tags(self, person: Person, tenant: str) -> list[str]:
        named = {"sub": person.sub, "sid": person.sid}
        tags = [self._vault.tag(kind, person.issuer, tenant, who) for kind, who in named.items() if who]
        return [*tags, self._vault.tag("clinic", tenant)]


def _used_at(now: float) -> Change:
    def change(record: SessionRecord) -> None:
        record.used_at = now
        record.created_at = min(record.created_at, now)  # by a clock that was ahead, it would last longer

    return change


def _episode_ids(ids: list[str], are_all: bool) -> Change:
    def change(record: SessionRecord) -> None:
        record.episode_ids = ids
        record.knows_all_episodes = record.knows_all_episodes or are_all

    return change


def _set_cookie(headers: Headers, value: str, max_age: int | None = None) -> None:
    age = f"; Max-Age={max_age}" if max_age is not None else ""
    headers.add("Set-Cookie", f"{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Lax{age}")
