"""`python -m portal sessions end`: who is signed out, who isn't, and what the audit tells."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from portal.audit.trail import Audit, AuditDown
from portal.config.tenants import Side
from portal.demo.stack import portal_environment
from portal.operate import end_sessions as module
from portal.operate.end_sessions import end_sessions
from portal.state.session_records import Person, SessionRecord
from portal.state.sessions import Sessions
from portal.store import StoreDown
from tests.support.stack import ROOT, PortalThread
from tests.support.visitor import Visitor


def command(portal: PortalThread, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    tenants = portal.plan.data / f"tenants-{portal.port}.toml"
    return subprocess.run(
        [sys.executable, "-m", "portal", "sessions", "end", *arguments],
        cwd=ROOT,
        env={**os.environ, **portal_environment(portal.plan, tenants), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def is_signed_in(portal: PortalThread, visitor: Visitor) -> bool:
    """Whether the portal itself answers, without a walk through the identity server."""
    asked = f"{portal.origin()}/notifications"
    return visitor.http.get(asked, allow_redirects=False, timeout=20).status_code == 200


def people(portal: PortalThread, clinic: str) -> list[Person]:
    vault = portal.context.vault
    held = (vault.get(name, SessionRecord) for name in vault.tagged("clinic", clinic))
    return [one.value.person for one in held if one]


def told(portal: PortalThread) -> list[tuple[str, str, str]]:
    lines = [line for line in portal.audited() if line["audit"] == module.EVENT]
    return [(line["tenant"], line["reason"], line.get("also", {}).get("person", "")) for line in lines]


def test_one_person_is_signed_out_everywhere_and_nobody_else(portal: PortalThread) -> None:
    amelia, amelias_phone, nora = (portal.sign_in(name) for name in ("amelia", "amelia", "nora"))
    (sub,) = {person.sub for person in people(portal, "riverside") if person.side is Side.PATIENT}
    done = command(portal, "--clinic", "riverside", "--person", sub)
    assert (done.returncode, done.stdout) == (0, "2 sessions ended.\n"), done.stderr
    assert not is_signed_in(portal, amelia)
    assert not is_signed_in(portal, amelias_phone)
    assert is_signed_in(portal, nora)
    assert told(portal)[-1] == ("riverside", "2 ended by the operator", portal.context.audit.pseudonym(sub))
    nora.sign_out()


def test_a_clinic_and_everybody(portal: PortalThread) -> None:
    amelia, nora = portal.sign_in("amelia"), portal.sign_in("nora")
    settings = portal.context.settings
    assert end_sessions(settings, ["harbour"], clock=portal.clock) == 0
    assert is_signed_in(portal, amelia)
    assert end_sessions(settings, ["riverside"], clock=portal.clock) == 2
    assert not is_signed_in(portal, amelia)
    assert not is_signed_in(portal, nora)
    portal.sign_in("amelia")
    before = sorted(clinic for clinic, _reason, _person in told(portal))
    assert end_sessions(settings, sorted(settings.tenants.by_key), clock=portal.clock) == 1
    after = sorted(clinic for clinic, _reason, _person in told(portal))
    assert after == sorted([*before, "harbour", "riverside"])


def test_an_earlier_sign_in_at_the_identity_server_does_not_count(portal: PortalThread) -> None:
    amelia = portal.sign_in("amelia")
    (person,) = people(portal, "riverside")
    end_sessions(portal.context.settings, ["riverside"], clock=portal.clock)
    assert not is_signed_in(portal, amelia)
    sign_outs = portal.context.sessions.sign_outs
    assert sign_outs.last(person.issuer, "riverside", person.sub) is not None
    named = [(issuer, "riverside", "idle since yesterday") for issuer in (person.issuer, f"{person.issuer}/")]
    assert [sign_outs.last(*who) for who in named] == [None, None]
    end_sessions(portal.context.settings, ["riverside"], sub="idle since yesterday", clock=portal.clock)
    assert None not in [sign_outs.last(*who) for who in named]


def test_nothing_is_ended_that_cannot_be_recorded(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    amelia = portal.sign_in("amelia")

    def full(_audit: object) -> None:
        raise AuditDown("full")

    monkeypatch.setattr(Audit, "assure", full)
    with pytest.raises(AuditDown):
        end_sessions(portal.context.settings, ["riverside"], clock=portal.clock)
    assert is_signed_in(portal, amelia)
    amelia.sign_out()


def test_what_was_ended_before_the_store_went_down_is_recorded(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitors = [portal.sign_in("amelia"), portal.sign_in("nora")]
    ended: list[str] = []

    def fails_then(sessions: Sessions, name: str) -> None:
        if ended:
            raise StoreDown("gone")
        ended.append(name)
        sessions.end_unasked(name)

    monkeypatch.setattr(Sessions, "end_from_elsewhere", fails_then)
    with pytest.raises(StoreDown):
        end_sessions(portal.context.settings, ["riverside"], clock=portal.clock)
    assert told(portal)[-1][:2] == ("riverside", "some ended by the operator, until the store went down")
    assert [is_signed_in(portal, visitor) for visitor in visitors].count(True) == 1
    monkeypatch.undo()
    end_sessions(portal.context.settings, ["riverside"], clock=portal.clock)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--clinic", "riversid"), 2, "There is no clinic riversid: harbour, riverside"),
        ((), 2, "one of the arguments --clinic --all is required"),
    ],
)
def test_a_wrong_command_ends_nothing(
    portal: PortalThread, arguments: tuple[str, ...], status: int, said: str
) -> None:
    done = command(portal, *arguments)
    assert done.returncode == status
    assert said in done.stderr


def test_a_store_that_does_not_answer_is_one_line(portal: PortalThread) -> None:
    done = command(portal, "--all", PORTAL_STORE_URL="redis://127.0.0.1:1/0")
    assert done.returncode == 1
    assert done.stderr == "Not all was done, run it again: ConnectionError\n"
