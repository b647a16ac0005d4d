"""Acts that need a sign-in within the last five minutes (RFC 9470): requested before anything is sent, keeping the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from portal.careservice.ids import sample_id
from tests.support.acts import fresh_prospect
from tests.support.signing import after_a_while, fresh_form, to_step
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Form, Page, Visitor

GRACES = sample_id("episode", "grace-2")
EMBRYO = f"/storage/{sample_id('embryo', 'GO-2')}"
SISTER = sample_id("relationship", "grace-sister")
UNDECIDED = f"/storage/{sample_id('embryo', 'GO-4')}"
CONNECTION = sample_id("emr-endpoint", "riverside-legacy")


@dataclass(frozen=True)
class Grave:
    """An act at its last step: who does it, where its form stands, where it posts to, and what is typed into it."""

    who: str
    page: Callable[[Visitor, CareService], Page]
    action: str
    typed: dict[str, str] = field(default_factory=dict[str, str])

    def form_on(self, page: Page) -> Form:
        """The form of this act on its page."""
        return page.form(page.select(f"main form[action*='{self.action}']")[0])


def _merge(visitor: Visitor, service: CareService) -> Page:
    kept, merged = fresh_prospect(service.plan), fresh_prospect(service.plan)
    page = visitor.get(f"/prospects/{kept}/merge?merge={merged}")
    return page.form(f"/prospects/{kept}/merge").submit()


ACTS = {
    "sign": Grave(
        "amelia",
        lambda visitor, service: to_step(visitor, fresh_form(service.plan), "Sign this form"),
        "/sign/",
        {"signature": "Amelia Hart"},
    ),
    "withdraw": Grave(
        "amelia",
        lambda visitor, service: visitor.get(f"{fresh_form(service.plan, signed=True)}/revoke"),
        "/revoke",
        {"reason": "My own reason"},
    ),
    "decline": Grave(
        "amelia",
        lambda visitor, service: visitor.get(f"{fresh_form(service.plan)}/revoke"),
        "/revoke",
        {"reason": "My own reason"},
    ),
    "decide about an embryo": Grave(
        "grace", lambda visitor, service: visitor.get(f"{UNDECIDED}/keep"), "/keep"
    ),
    "move an embryo": Grave(
        "elif",
        lambda visitor, service: visitor.get(f"{EMBRYO}?episode={GRACES}"),
        "/storage/",
        {"status": "OnHold", "notes": "Asked for by telephone"},
    ),
    "end a relationship": Grave(
        "grace",
        lambda visitor, service: visitor.get(f"/relationships/{SISTER}/remove?episode={GRACES}"),
        "/remove",
    ),
    "merge": Grave("colin", _merge, "/confirm"),
    "remove a connection": Grave(
        "ada",
        lambda visitor, service: visitor.get(f"/emr-endpoints/{CONNECTION}/remove"),
        "/remove",
        {"typed": CONNECTION},
    ),
}


@pytest.fixture(params=ACTS)
def grave(request: pytest.FixtureRequest) -> Iterator[Grave]:
    yield ACTS[request.param]


def test_after_an_old_sign_in_the_password_is_asked_and_the_form_restored(
    portal: PortalThread, service: CareService, grave: Grave
) -> None:
    visitor = portal.sign_in(grave.who)
    page = grave.page(visitor, service)
    sign_in = after_a_while(portal, grave.form_on(page), **grave.typed)
    back = visitor.fill_sign_in(sign_in, grave.who)
    assert back.path == page.path, "returns to the form"
    fields = dict(grave.form_on(back).fields())
    assert {name: fields.get(name) for name in grave.typed} == grave.typed
