"""The portal's own rules before an API that allows everything: who acts, on whose record, how long after signing in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from portal.services.api import AnyEndpoint
from portal.services.consents import REVOKE_CONSENT
from portal.services.emr_endpoints import DELETE_EMR_ENDPOINT
from portal.services.relationships import DELETE_RELATIONSHIP
from portal.services.storage import UPDATE_EMBRYO_STORAGE
from tests.pages.test_facts import EMBRYO, EPISODE, HERS, IN_FORCE
from tests.support.fake_api import FakeApi
from tests.support.visitor import Visitor

SignIn = Callable[..., Visitor]
TIE = f"/relationships/{EPISODE['relationships'][0]['id']}/remove"


@dataclass(frozen=True)
class Act:
    """The page on which an act's form stands, the form's address, what is filled in, and the call that it makes."""

    who: tuple[str, ...]
    at: str
    form: str
    row: AnyEndpoint
    filled: dict[str, str] = field(default_factory=dict)


ACTS = {
    "withdraw": Act(("amelia",), "/consents/c-1/revoke", "/consents/", REVOKE_CONSENT, {"reason": "No."}),
    "decide": Act(("amelia",), f"{EMBRYO}/leave-open?episode=e-1", EMBRYO, UPDATE_EMBRYO_STORAGE),
    "remove a person": Act(("amelia",), f"{TIE}?episode=e-1", "/relationships/", DELETE_RELATIONSHIP),
    "remove a connection": Act(
        ("ada", "admin"),
        "/emr-endpoints/m-1/remove",
        "/emr-endpoints/m-1",
        DELETE_EMR_ENDPOINT,
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
    visitor: SignIn, fake_api: FakeApi, name: str
) -> None:
    act = ACTS[name]
    just, long_ago = visitor(*act.who), visitor(*act.who, signed_in_ago=3600.0)
    form = just.get(act.at).form(act.form)
    fields = {**dict(form.fields()), **act.filled, "csrf_token": long_ago.csrf_token()}
    long_ago.request("POST", form.action, data=fields, status=None, follow=False)
    assert not fake_api.sent(act.row)
    form.submit(status=None, **act.filled)
    assert len(fake_api.sent(act.row)) == 1


@pytest.mark.parametrize("who", [("daniel",), ("elif", "embryologist")])
def test_nobody_else_removes_a_person_from_her_record(
    visitor: SignIn, fake_api: FakeApi, who: tuple[str, ...]
) -> None:
    somebody = visitor(*who)
    page = somebody.get(f"{TIE}?episode=e-1", status=None)
    assert page.status in (403, 404), page.heading
    somebody.post(TIE, {"episode": "e-1"}, status=None)
    assert not fake_api.sent(DELETE_RELATIONSHIP)
