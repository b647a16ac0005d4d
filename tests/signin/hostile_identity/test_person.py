"""Who signs in: the roles, from the ID token or userinfo, and the person who confirms a step-up."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.signin.hostile_identity.sign_ins import (
    DEEP,
    HOUR,
    admitted,
    person_of,
    refused,
    sessions_of,
    sign_in,
    signed_in,
)
from tests.support.hostile import Answer, HostileServer
from tests.support.signing import end_session
from tests.support.stack import PortalThread


@pytest.mark.parametrize(
    "auth_time",
    [None, 0, time.time() - HOUR, True, float("nan")],
    ids=["absent", "zero", "an hour old", "true", "NaN"],
)
@pytest.mark.asvs("6.8.4")
def test_a_step_up_without_a_new_authentication_is_refused(
    portal: PortalThread, identity: HostileServer, auth_time: float | None
) -> None:
    visitor = admitted(portal)
    identity.claims = {"auth_time": auth_time}
    before = portal.audited()
    page = sign_in(visitor, fresh=True)
    assert page.status == 400
    assert len(portal.audited()) == len(before) + 1
    assert signed_in(visitor.get("/signed-out"), visitor), "who was signed in before still is"


@pytest.mark.parametrize(
    ("auth_time", "outcome", "said"),
    [
        (None, "no-auth-time", "doesn’t say when you signed in"),
        (0, "no-auth-time", "doesn’t say when you signed in"),
        (1_000_000_000, "not-fresh", "didn’t ask for your password again"),
    ],
)
def test_a_person_reads_why_signing_isnt_possible_and_whom_to_call(
    portal: PortalThread, identity: HostileServer, auth_time: float | None, outcome: str, said: str
) -> None:
    visitor = admitted(portal)
    identity.claims = {"auth_time": auth_time}
    page = sign_in(visitor, fresh=True)
    assert page.heading == "Signing isn’t possible"
    assert said in page.words
    assert "020 7946" in page.words
    line = portal.audited()[-1]
    assert (line["audit"], line["outcome"]) == ("sign-in", outcome)


@pytest.mark.parametrize("role", ["nurse", ["nurse"], ["unknown", "nurse"], ["nurse", 5, None]])
def test_roles_may_be_a_string_or_a_list(portal: PortalThread, identity: HostileServer, role: object) -> None:
    identity.claims = {"role": role}
    admitted(portal)
    (_, record), *_ = sessions_of(portal)
    assert record.person.roles == {"nurse"}


def test_roles_missing_from_the_id_token_are_read_from_userinfo(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.claims = {"role": None}
    identity.userinfo = {"sub": "person-1", "role": ["nurse"], "name": "Not The Token's"}
    admitted(portal)
    (_, record), *_ = sessions_of(portal)
    assert record.person.roles == {"nurse"}
    assert record.person.name == "Amelia Hart"


@pytest.mark.asvs("10.5.2")
def test_userinfo_of_another_person_is_refused(portal: PortalThread, identity: HostileServer) -> None:
    identity.claims = {"role": None}
    identity.userinfo = {"sub": "another", "role": "nurse"}
    refused(portal)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"role": None}, "no role at this clinic"),
        ({"role": "burglar"}, "no role at this clinic"),
        ({"role": {"patient": False}}, "no role at this clinic"),
        ({"tenantid": "another"}, "person of another clinic"),
        ({"tenantid": None}, "person of another clinic"),
    ],
)
@pytest.mark.asvs("8.4.1", "16.3.1")
def test_who_has_no_access_reads_so_and_may_sign_in_as_somebody_else(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any], reason: str
) -> None:
    identity.claims, identity.userinfo = claims, {"sub": "person-1"}
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert (page.status, page.heading) == (403, "You have no access here")
    assert "020 7946" in page.words
    assert person_of(visitor) is None
    line = portal.audited()[-1]
    assert (line["audit"], line["outcome"], line["reason"]) == ("sign-in", "no-role", reason)
    again = visitor.request("GET", page.link("Sign in with another account"), follow=False, status=303)
    assert "prompt=login" in again.headers["Location"]


@pytest.mark.parametrize("challenge", ['Bearer error="invalid_token"', 'DPoP error="invalid_dpop_proof"'])
def test_userinfo_that_refuses_the_token_or_its_proof_refuses_the_person(
    portal: PortalThread, identity: HostileServer, challenge: str
) -> None:
    identity.claims = {"role": None}
    identity.answers["/userinfo"] = Answer("{}", 401, headers={"WWW-Authenticate": challenge})
    refused(portal)
    code = challenge.split('"')[1]
    assert portal.audited()[-1]["reason"] == f"userinfo refused: {code}"


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_proxys_refusal_before_userinfo_is_a_server_fault(
    portal: PortalThread, identity: HostileServer, status: int
) -> None:
    identity.claims = {"role": None}
    identity.answers["/userinfo"] = Answer("<html>", status)
    refused(portal, status=503)


@pytest.mark.parametrize("broken", ["[]", "{", "<html>", DEEP, '{"role": "nurse"}'])
def test_unreadable_userinfo_is_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: str
) -> None:
    identity.claims = {"role": None}
    identity.answers["/userinfo"] = Answer(broken)
    refused(portal, status=503)


@pytest.mark.parametrize("is_over", [False, True], ids=["signed in", "session over meanwhile"])
def test_a_step_up_by_another_person_leads_to_their_home_and_not_to_the_form(
    portal: PortalThread, identity: HostileServer, is_over: bool
) -> None:
    visitor = admitted(portal)
    if is_over:
        end_session(portal, visitor)
    asked = visitor.request("GET", "/sign-in?next=/signed-out&fresh=1", status=303, follow=False)
    if not is_over:
        end_session(portal, visitor)  # while the password is typed
    identity.claims = {"sub": "person-2"}
    page = visitor.get(asked.headers["Location"], status=None)
    assert page.path == "/"
    assert person_of(visitor).sub == "person-2"
