"""What must happen once does, however often its form is sent: withdrawing a consent and making one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.signing import consent, fresh_form, sign
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Form, Visitor

AT_ONCE = 20


@pytest.fixture(scope="module")
def amelia(portal: PortalThread) -> Visitor:
    visitor: Visitor = portal.sign_in("amelia")
    return visitor


@pytest.fixture(scope="module")
def nora(portal: PortalThread) -> Visitor:
    visitor: Visitor = portal.sign_in("nora")
    return visitor


def at_once(form: Form, **values: str) -> set[str]:
    """Send the form twenty times at the same time; return the headings of the pages where that ends."""
    fields = [(name, value) for name, value in form.fields() if name not in values] + list(values.items())

    def send(_: int) -> str:
        return form.page.visitor.request("POST", form.action, data=fields).heading

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return set(pool.map(send, range(AT_ONCE)))


def test_twenty_withdrawals_at_once_are_one_and_each_ends_at_it(
    amelia: Visitor, service: CareService
) -> None:
    form = fresh_form(service.plan)
    sign(amelia, form, "Amelia Hart")
    page = amelia.get(f"{form}/revoke")
    ends = at_once(page.form(f"{form}/revoke"), reason="Second thoughts")
    assert ends == {"This consent is withdrawn"}
    # Refreshed, and sent again from the page that Back shows: the same end.
    again = page.form(f"{form}/revoke").submit(reason="Second thoughts")
    assert again.heading == "This consent is withdrawn"


def test_twenty_new_forms_at_once_are_one_and_each_ends_at_it(nora: Visitor) -> None:
    title = "Made once of twenty"
    page = nora.get(f"/consents/new?copy={consent('amelia-treatment-2').rpartition('/')[2]}")
    page = page.form("/consents/new/fill").submit(title=title)
    assert at_once(page.form("/consents/new")) == {title}
    assert page.form("/consents/new").submit().heading == title
    assert len(nora.get(f"/consents?q={title}").select("tbody tr")) == 1
