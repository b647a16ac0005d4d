"""Whatever the portal keeps or counts is kept apart by clinic, most of it by person too, and what is a session's by session.

The same steps are taken by one person in two sessions, by the same issuer and subject at another clinic, and by somebody
else. Noted is each record of the store that they touch, by its name, in which a hash says whose it is.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from flask import g

from portal.context import context
from portal.services.consents import READ_CONSENT
from portal.services.episodes import READ_EPISODE
from portal.signin import logout
from portal.signin.errors import SignInFailed
from portal.state.session_records import record_name
from portal.state.sessions import COOKIE
from portal.store.sqlite import SqliteStore
from portal.views.storage.pending_moves import pending_move
from portal.web import pdf
from portal.web.unsent import ONLY_KEEP
from tests.pages.test_facts import IN_FORCE, ONE_EPISODE, RELEASED, TALK, UNDER_TREATMENT
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi
from tests.support.in_process import ISSUER, InProcess

ROOT = Path(__file__).parents[2]
EVENT = "http://schemas.openid.net/event/backchannel-logout"

OF_A_SESSION = {"session", "tokens", "copy", "shown", "known", "ended"}
OF_A_PERSON = {
    *("sub", "sign-out", "bell", "messages", "plans", "results", "taken"),
    *("operation", "operations", "purpose", "unsent", "unsent-of", "printing", "limit"),
    *("visits", "visits-home", "forms", "section-counts", "questions"),
}
OF_A_CLINIC = {"clinic", "members", "offered", "generation", "first-step", "first-steps-at"}
OF_THE_PORTAL = {"naming-key", "audit-checkpoint", "audit-checkpoints", "read-only"}
NOT_TAKEN = {"browser", "jti", "sid", "signature-proof", "left", "passkey-user", "signing-passkeys"}
"""A browser's cookie and an identity server's ids, random themselves; tests/signin has them.
What proved a signature is only kept where a clinic asks for it (tests/pages/test_signature_proofs.py), passkeys where it offers
them (tests/pages/test_passkey_signatures.py), and who left only after a
sign-out (tests/web/test_unsent.py)."""

Touched = defaultdict[str, set[str]]
"""The names of the records of each kind."""


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of all records that were read or written."""
    names: set[str] = set()

    def noting(real: Any) -> Any:
        def method(store: Any, *given: Any, **more: Any) -> Any:
            named = given if real.__name__ == "delete" else given[:1]
            many = named if isinstance(given[0], str) else given[0]
            names.update((*many, *more.get("tags", ())))
            return real(store, *given, **more)

        return method

    for method in ("get", "get_many", "insert", "replace", "delete", "take", "tagged", "lock"):
        monkeypatch.setattr(SqliteStore, method, noting(getattr(SqliteStore, method)))
    return names


@pytest.fixture
def portal(tmp_path: Path, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    monkeypatch.setattr(pdf, "pdf", lambda *_, **__: b"%PDF-1.7\n")
    answers = UNDER_TREATMENT | IN_FORCE | RELEASED | ONE_EPISODE
    for row, answer in answers.items():
        fake_api.gives(row, answer)
    return InProcess(tmp_path, Clock(NOW.timestamp))


def steps(portal: InProcess, who: str, clinic: str) -> None:
    """Take every step after which something is kept, as a person at a clinic in a session of their own."""
    visitor = portal.visitor(who, clinic=clinic)
    visitor.get("/").form("/episodes/e-1/doses").submit()
    visitor.get("/notifications/bell", headers={"Sec-Fetch-Dest": "empty"})
    visitor.get("/conversations")
    visitor.get("/care-team")
    visitor.fragment(TALK, target="main", status=None)
    visitor.get("/pgt-results/r-1", status=None)
    visitor.get("/protocols/p-1")
    visitor.get("/protocols/p-1/schedule.ics")
    visitor.get("/consents/c-1/receipt.pdf")
    visitor.get("/me").form("/me").submit(status=None, address_line2="x", **{ONLY_KEEP: "1"})
    visitor.get("/me").form("/me").submit(status=None, address_line2="y")
    visitor.get("/consents/c-1/revoke")
    portal.app.extensions["portal"].sessions.sign_outs.note(ISSUER, clinic, who)
    with portal.app.test_request_context():
        g.tenant = SimpleNamespace(key=clinic, second_person_for_embryos=True)
        pending_move(SimpleNamespace(id="s-1"))  # pyright: ignore[reportArgumentType]
        context().vault.tagged("first-steps-at", clinic)
    session_name = record_name(str(visitor.http.cookies.get(COOKIE)))
    portal.app.extensions["portal"].sessions.end(session_name)


def test_each_kind_of_record_is_kept_apart(portal: InProcess, fake_api: FakeApi, touched: set[str]) -> None:
    sessions: list[Touched] = []
    for who, clinic in (
        ("amelia", "riverside"),
        ("amelia", "riverside"),
        ("amelia", "harbour"),
        ("daniel", "riverside"),
    ):
        touched.clear()
        episode = UNDER_TREATMENT[READ_EPISODE]
        fake_api.gives(READ_EPISODE, {**episode, "patient": {**episode["patient"], "userId": who}})
        signer = {"role": "Patient", "personId": who, "name": who, "order": 1}
        fake_api.gives(READ_CONSENT, {**IN_FORCE[READ_CONSENT], "requiredSigners": [signer]})
        steps(portal, who, clinic)
        kinds = {name.partition(":")[0] for name in touched}
        sessions.append(
            defaultdict(
                set, {kind: {name for name in touched if name.startswith(f"{kind}:")} for kind in kinds}
            )
        )
    first, again, elsewhere, another = sessions
    for kind in OF_A_SESSION | OF_A_PERSON | OF_A_CLINIC:
        assert first[kind].isdisjoint(elsewhere[kind]), f"{kind}: the same at two clinics"
    for kind in OF_A_SESSION | OF_A_PERSON:
        assert first[kind].isdisjoint(another[kind]), f"{kind}: the same for two people"
    for kind in OF_A_SESSION:
        assert first[kind].isdisjoint(again[kind]), f"{kind}: the same in two sessions"
    for kind in OF_A_PERSON - {"operations"}:
        assert not first[kind].isdisjoint(again[kind]), f"{kind}: forgotten with the session"
    assert kinds_of(sessions) == OF_A_SESSION | OF_A_PERSON | OF_A_CLINIC | OF_THE_PORTAL


def kinds_of(sessions: list[Touched]) -> set[str]:
    return {kind for session in sessions for kind in session}


def test_there_are_no_other_kinds() -> None:
    """Each is named in the code where its record is; a new one belongs in the sets above, and among the steps."""
    named: set[str] = set()
    for path in (ROOT / "portal").rglob("*.py"):
        if "careservice" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(
                        func=ast.Attribute(attr="name" | "tag" | "tagged")
                        | ast.Name(id="hashed_name" | "LastKnown"),
                        args=[ast.Constant(value=str() as kind), *_],
                    ):
                        named.add(kind)
                    case _:
                        pass
    assert named <= OF_A_SESSION | OF_A_PERSON | OF_A_CLINIC | OF_THE_PORTAL | NOT_TAKEN


@pytest.mark.parametrize("again", ["riverside", "harbour"])
def test_a_logout_token_counts_once_at_each_clinic(
    portal: InProcess, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    """Two clinics may use identity servers that number their tokens alike."""
    claims = {
        "iss": ISSUER,
        "aud": "portal",
        "iat": NOW.timestamp(),
        "jti": "1",
        "events": {EVENT: {}},
        "sub": "amelia",
    }
    monkeypatch.setattr(logout, "decode", lambda *_: SimpleNamespace(claims=claims))
    provider = SimpleNamespace(metadata=lambda: SimpleNamespace(issuer=ISSUER))
    held = portal.app.extensions["portal"]
    ends = logout.BackChannel(
        held.vault, held.sessions, cast("Any", SimpleNamespace(of=lambda *_: provider)), portal.clock
    )

    def told(clinic: str) -> int:
        tenant: Any = SimpleNamespace(
            key=clinic,
            auth_url="",
            identity_origins=(),
            profile="",
            client=SimpleNamespace(client_id="portal"),
        )
        return ends.end(tenant, "token")

    told("riverside")
    with pytest.raises(SignInFailed) if again == "riverside" else nullcontext():
        told(again)
