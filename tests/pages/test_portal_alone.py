"""The portal's own rules before an API that allows everything: who acts, on whose record, how long after signing in."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from portal.services.api import AnyEndpoint
from portal.services.consents import REVOKE_CONSENT
from portal.services.emr_endpoints import DELETE_EMR_ENDPOINT
from portal.services.relationships import DELETE_RELATIONSHIP
from portal.services.storage import UPDATE_EMBRYO_STORAGE
from tests.pages.test_facts import EMBRYO, EPISODE, HERS, IN_FORCE
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn

TIE = f"/relationships/{EPISODE['relationships'][0]['id']}/remove"


@dataclass(frozen=True)
class Act:
    """The page on which an act's form stands, the form's address, the call that it makes, and what is filled in.

    The audit record calls it `event`, and `asked` where another sign-in is asked for first.
    """

    who: tuple[str, ...]
    at: str
    form: str
    row: AnyEndpoint
    event: str
    asked: str
    filled: dict[str, str] = field(default_factory=dict)


ACTS = {
    "withdraw": Act(
        ("amelia",),
        "/consents/c-1/revoke",
        "/consents/",
        REVOKE_CONSENT,
        "consent.revoke",
        "consents.revoke.revoke",
        {"reason": "No."},
    ),
    "decide": Act(
        ("amelia",),
        f"{EMBRYO}/leave-open?episode=e-1",
        EMBRYO,
        UPDATE_EMBRYO_STORAGE,
        "embryo.decide",
        "storage.decide.confirm",
    ),
    "remove a person": Act(
        ("amelia",),
        f"{TIE}?episode=e-1",
        "/relationships/",
        DELETE_RELATIONSHIP,
        "relationship.remove",
        "relationships.remove",
    ),
    "remove a connection": Act(
        ("ada", "admin"),
        "/emr-endpoints/m-1/remove",
        "/emr-endpoints/m-1",
        DELETE_EMR_ENDPOINT,
        "emr-endpoint.remove",
        "emr_endpoints.remove",
        {"typed": "m-1"},
    ),
}


@pytest.fixture(autouse=True)
def allowing(fake_api: FakeApi) -> None:
    """Amelia's treatment and her signed form; whatever is sent is accepted."""
    for row, answer in (HERS | IN_FORCE).items():
        fake_api.gives(row, answer)


@pytest.mark.parametrize("name", ACTS)
def test_an_act_is_sent_by_somebody_who_has_just_signed_in_alone(
    visitor: SignIn, in_process: InProcess, fake_api: FakeApi, name: str
) -> None:
    act = ACTS[name]
    just, long_ago = visitor(*act.who), visitor(*act.who, signed_in_ago=3600.0)
    form = just.get(act.at).form(act.form)
    fields = {**dict(form.fields()), **act.filled, "csrf_token": long_ago.csrf_token()}
    in_process.audited()
    long_ago.request("POST", form.action, data=fields, status=None, follow=False)
    assert not fake_api.sent(act.row)
    assert noted(in_process) == {(act.asked, "step-up")}
    form.submit(status=None, **act.filled)
    assert len(fake_api.sent(act.row)) == 1
    assert {(act.event, "done"), (act.event, "unknown")} & noted(in_process), (
        "whether the record shows it or not"
    )


def test_signing_out_other_devices_notes_that_a_new_sign_in_was_asked_for(
    visitor: SignIn, in_process: InProcess
) -> None:
    _elsewhere, long_ago = visitor("amelia"), visitor("amelia", signed_in_ago=3600.0)
    page = long_ago.get("/me/devices/sign-out")
    in_process.audited()
    page.form("/me/devices/sign-out").submit(status=None, follow=False)
    assert noted(in_process) == {
        ("devices.everywhere", "step-up"),
        ("sign-in", "unavailable"),  # there is no identity server here
    }


def noted(portal: InProcess) -> set[tuple[str, str]]:
    """What the audit record says of acts since this was last asked: the event and how it went."""
    return {
        (line["audit"], line["outcome"]) for line in portal.audited() if not line["audit"].endswith("read")
    }


@pytest.mark.parametrize("who", [("daniel",), ("elif", "embryologist")])
def test_nobody_else_removes_a_person_from_her_record(
    visitor: SignIn, fake_api: FakeApi, who: tuple[str, ...]
) -> None:
    somebody = visitor(*who)
    page = somebody.get(f"{TIE}?episode=e-1", status=None)
    assert page.status in (403, 404), page.heading
    somebody.post(TIE, {"episode": "e-1"}, status=None)
    assert not fake_api.sent(DELETE_RELATIONSHIP)
