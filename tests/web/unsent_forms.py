"""Forms that people fill in, each with what they type, and sessions that end meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from portal.careservice.ids import sample_id
from portal.state.session_records import SessionRecord
from tests.support.signing import consent, fresh_form, to_step
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Form, Page, Visitor

EPISODE = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")
SECRET = "Only for the eyes of who typed it"


def expire(portal: PortalThread, visitor: Visitor) -> None:
    """Let this visitor's session expire by not being used."""

    def long_ago(record: SessionRecord) -> None:
        record.used_at -= 3600

    portal.context.sessions.amend(visitor.session_id, long_ago)


def leave_identity_server(visitor: Visitor) -> None:
    """Clear the identity server's cookies, so that it asks for the password again."""
    for one in list(visitor.http.cookies):
        if not one.name.startswith("__Host-"):
            visitor.http.cookies.clear(one.domain, one.path, one.name)


def press(form: Form, act: str) -> Page:
    return form.submit(button=("do", act))


@dataclass(frozen=True)
class Case:
    """A form, who fills it in and with what, and how its page is opened."""

    name: str
    who: str
    page: Callable[[Visitor, CareService], Page]
    action: str
    typed: dict[str, str | list[str]]
    button: tuple[str, str] | None = None


def at(path: str) -> Callable[[Visitor, CareService], Page]:
    return lambda visitor, service: visitor.get(path)


def signing(visitor: Visitor, service: CareService) -> Page:
    return to_step(visitor, fresh_form(service.plan), "Sign this form")


def acknowledging(visitor: Visitor, service: CareService) -> Page:
    page = visitor.get(f"{fresh_form(service.plan)}/sign")
    return page.form("/consents/").submit()


def new_form(visitor: Visitor, service: CareService) -> Page:
    return visitor.get(f"/consents/new?template=treatment&episode={EPISODE}")


def with_new_row(visitor: Visitor, service: CareService) -> Page:
    page = visitor.get(f"/protocols/{sample_id('protocol', 'amelia')}/edit")
    return press(page.form(page.tree.select_one("form:has(button[value=review])")), "add-medication")  # type: ignore[arg-type]


PROTOCOL = f"/protocols/{sample_id('protocol', 'amelia')}"
MERGE = f"/prospects/{sample_id('prospect', 'ines')}/merge"
REVIEW = ("do", "review")
CASES = [
    Case("my details", "amelia", at("/me"), "/me", {"preferred_name": SECRET, "email": "not an address"}),
    Case(
        "a patient's record",
        "nora",
        at(f"/patients/{sample_id('patient', 'amelia')}/edit?episode={EPISODE}"),
        "/patients/",
        {"first_name": SECRET, "mrn": "", "emergency_contact_name": "Somebody"},
    ),
    Case(
        "a case",
        "nora",
        at(f"/cases/{sample_id('case', 'grace')}/edit?episode={GRACES}"),
        "/cases/",
        {"notes": f"{SECRET}\nin two lines", "title": "T"},
    ),
    Case(
        "the laboratory's record of an embryo",
        "elif",
        at(f"/storage/{sample_id('embryo', 'GO-2')}?episode={GRACES}"),
        "/storage/",
        {"notes": SECRET, "location_tank": "T9"},
    ),
    Case(
        "notification settings",
        "amelia",
        at("/notifications/settings"),
        "/notifications/settings",
        {"start": "23:15", "end": "05:45", "sms": []},
    ),
    Case("a typed signature", "amelia", signing, "/consents/", {"signature": "Amelia H"}),
    Case("ticked statements", "amelia", acknowledging, "/consents/", {"statement": []}),
    Case(
        "the reason of a withdrawal",
        "amelia",
        at(consent("amelia-treatment-2") + "/revoke"),
        "/consents/",
        {"reason": SECRET},
    ),
    Case(
        "a new consent form",
        "nora",
        new_form,
        "/consents/new/fill",
        {"title": SECRET, "version": "7", "procedure_date": "2031-02-03"},
    ),
    Case(
        "a protocol with a new row",
        "nora",
        with_new_row,
        f"{PROTOCOL}/edit",
        {"description": SECRET, "medication-0-drug": "Drug", "medication-0-dose": "7.5"},
        REVIEW,
    ),
    Case("a new protocol", "nora", at("/protocols/new"), "/protocols/new", {"name": SECRET}, REVIEW),
    Case("a record's id", "nora", at("/open"), "/open", {"id": SECRET, "kind": "consent"}),
    Case(
        "choices of a merge",
        "colin",
        at(f"{MERGE}?merge={sample_id('prospect', 'ines-again')}"),
        MERGE,
        {"firstName": "merged", "email": "kept"},
    ),
    Case(
        "where a folder goes",
        "nora",
        at(f"/directories/{sample_id('directory', 'amelia-letters')}/move?episode={EPISODE}"),
        "/directories/",
        {"to": sample_id("directory", "amelia-results")},
    ),
    Case(
        "the kind of a booking",
        "colin",
        at(f"/prospects/{sample_id('prospect', 'tomasz')}/book"),
        "/prospects/",
        {"type": "VideoConsultation"},
    ),
]


def form_of(page: Page, action: str) -> Form:
    """The form with fields to fill in that posts there."""
    for element in page.select('form[method="post"]'):
        form = page.form(element)
        if urlsplit(form.action).path.startswith(action) and "form" in element.get("class", "").split():
            return form
    raise AssertionError(f"no form for {action} at {page.url}: {page.words[:500]}")


def names(form: Form) -> set[str]:
    """The names of the form's fields, without the one that only tells sessions apart."""
    fields = form.element.select("[name]:not([type=hidden]), [name][value]")
    return {str(field["name"]) for field in fields}


def held(form: Form, name: str) -> list[str]:
    return [value for given, value in form.fields() if given == name]
