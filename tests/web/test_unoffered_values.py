"""Values that a form doesn't offer are refused and change nothing at the care API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.services.api import Endpoint
from portal.services.client import Care
from tests.support.elements import Element
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.visitor import Form, SignIn

FORMS = [
    ("amelia", "/me", "/me"),
    ("victor", f"/cases/{sample_id('case', 'amelia')}/edit", f"?episode={TREATMENT_OF_AMELIA}"),
    ("victor", "/protocols/new", f"?episode={TREATMENT_OF_AMELIA}"),
    ("victor", "/consents/new/fill", f"/consents/new?template=treatment&episode={TREATMENT_OF_AMELIA}"),
    ("elif", f"/storage/{sample_id('embryo', 'GO-3')}", f"?episode={sample_id('episode', 'grace-2')}"),
    ("colin", f"/prospects/{sample_id('prospect', 'tomasz')}/book", ""),
]
"""Who, where the form is sent to, and the page that it stands on (or its query)."""

BUTTONS = {"/protocols/new": [("do", "review")]}
"""The button that ends the form, where it has several."""


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The endpoints at which something was to be changed."""
    sent: list[str] = []
    real = Care.act

    def act(self: Care, endpoint: Endpoint, *more: Any, **named: Any) -> Any:
        sent.append(str(endpoint))
        return real(self, endpoint, *more, **named)

    monkeypatch.setattr(Care, "act", act)
    return sent


def unoffered(form: Form) -> Iterator[tuple[str, str]]:
    """Each field of the form with a value that its element rules out."""
    seen = set[str]()
    for field in form.element.select("input[name], textarea[name], select[name]"):
        name = str(field["name"])
        if name not in seen and "disabled" not in field.attrib:
            found = list(ruled_out_by(field))
            seen |= {name} if found else set()
            yield from ((name, value) for value in found)


def ruled_out_by(field: Element) -> Iterator[str]:
    kind = str(field.get("type") or "text") if field.tag == "input" else field.tag
    if kind in ("select", "radio"):
        yield "not offered"
    if kind in ("date", "datetime-local", "time", "month"):
        yield "31/31"
    if kind in ("number", "email"):
        yield "many"
    if kind in ("text", "search", "tel", "textarea", "email") and "maxlength" in field.attrib:
        yield "x" * (int(str(field["maxlength"])) + 1)
    if kind not in ("hidden", "checkbox", "radio", "select") and "required" in field.attrib:
        yield " "


@pytest.mark.parametrize(("who", "action", "page"), FORMS, ids=[action for _, action, _ in FORMS])
@pytest.mark.asvs("2.2.1", "2.2.2")
def test_a_value_that_the_form_rules_out_is_refused_and_nothing_is_sent(
    person: SignIn, acts: list[str], who: str, action: str, page: str
) -> None:
    address = page if page.startswith("/") else action + page
    form = person(who).get(address).form(action)
    tried = list(unoffered(form))
    for name, value in tried:
        fields = [(other, given) for other, given in form.fields() if other != name]
        fields += [(name, value), *BUTTONS.get(action, ())]
        answer = person(who).request("POST", form.action, data=fields, status=None)
        assert 400 <= answer.status < 500, f"{name}={value[:20]!r}: {answer.status}"
        assert acts == [], f"{name}={value[:20]!r}"
    assert tried
