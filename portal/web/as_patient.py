"""Staff see a patient's pages as the patient does: under `/patients/<id>/as-seen/`, with the staff member's own token.

What follows that prefix is the address of the patient's page, which its own view answers: `Portal.wsgi_app` takes the prefix
away (`pass_on`), and the view gets a `care` that tells no more than the patient is told (`portal.services.as_patient`) and a
stand-in for the patient. Nothing can be changed: only GET is admitted and only to the pages of `SHOWN`; `care` sends no act;
the session and what is kept of the patient are neither read nor written; and the page leaves without forms that could be
sent, without a CSRF token, and with a Content Security Policy that forbids sending one. The audit trail names the member of
staff.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from flask import Flask, Response, abort, g, request

from portal.config.tenants import Side
from portal.context import session
from portal.parse import record_id
from portal.request_values import is_seen_by_staff
from portal.services.api import AnyEndpoint
from portal.services.as_patient import AsPatient
from portal.services.client import Care
from portal.services.consents import all_consents
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotFound
from portal.services.gather import gather_all
from portal.services.listed import Listed
from portal.services.patient_overview import account_in
from portal.services.patients import Patient
from portal.state.session_records import Person
from portal.web import audit, headers
from portal.web.filters import today
from portal.web.known_people import known_people
from portal.web.pages import AsSeen
from portal.web.routing import PREFIX, endpoint_at

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

SHOWN = frozenset(
    {
        "home.show",
        "help.show",
        "help.words",
        "episodes.index",
        "episodes.show",
        "episodes.timeline",
        "episodes.monitoring",
        "episodes.medication",
        "episodes.appointments",
        "episodes.embryos",
        "episodes.documents",
        "episodes.consents",
        "episodes.team",
        "consents.list",
        "consents.show",
        "conversations.inbox",
        "conversations.show",
        "storage.index",
        "storage.show",
        "pgt_results.show",
    }
)
"""The patient's pages that can be seen so."""

_ADDRESS = re.compile(r"(/patients/([^/]{1,400})/as-seen)(/.*)?")
_PATIENT = "portal.seen_as"
_MOST_EPISODES = 6
_TAG = re.compile(r"<(a|form|button|input|select|textarea)\b((?:[^\"'>]|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"\s(href|action|method|type|name|value)=\"([^\"]*)\"")
_HTMX = re.compile(r"\shx-[\w:-]+=\"[^\"]*\"")


def pass_on(environ: WSGIEnvironment) -> None:
    """Take the prefix away from the address, so that the patient's page answers."""
    found = _ADDRESS.fullmatch(environ["PATH_INFO"])
    if found and (patient_id := record_id(found[2].encode("latin-1", "replace").decode("utf-8", "replace"))):
        environ[_PATIENT] = patient_id
        environ[PREFIX] = f"/patients/{quote(patient_id, safe='')}/as-seen"
        environ["PATH_INFO"] = found[3] or "/"


def init_app(app: Flask) -> None:
    """Refuse what isn't shown, and leave nothing on the page that could act."""

    def refuse() -> None:
        if patient_id() is None:
            return
        if request.method not in ("GET", "HEAD"):
            abort(405)
        if request.endpoint not in SHOWN:
            abort(404)

    app.before_request(refuse)
    app.after_request(_without_acts)


def patient_id() -> str | None:
    """Return the id of the patient whose pages this request shows to staff, or None."""
    return request.environ.get(_PATIENT)


def look_through(care: Care, staff: Person, seen_id: str) -> tuple[Care, Person]:
    """Return the client that tells what this patient is told, and who stands for them; raises NotFound."""
    view, record, episode_id = _read_patient(replace(care, on_read=_unnoticed), seen_id)
    stand_in = Person(
        sub=view.account,
        issuer=staff.issuer,
        name=view.name,
        given_name=record.called if record else view.name,
        side=Side.PATIENT,
        roles=frozenset({"patient"}),
        auth_time=staff.auth_time,
    )
    episode = f"?episode={quote(episode_id, safe='')}" if episode_id else ""
    g.staff, g.person = staff, stand_in
    g.as_seen = AsSeen(view.name, f"/patients/{quote(seen_id, safe='')}{episode}")
    session().only_show([episode.id for episode in view.episodes.values() if view.may_see(episode)])
    audit.note("patient.as-seen", "done", person=staff, id_=seen_id)
    return replace(care, viewer=view, by_patient=True), stand_in


def _read_patient(care: Care, seen_id: str) -> tuple[AsPatient, Patient | None, str]:
    """Return what decides what the patient is told, their record and a treatment of theirs, as far as they can be read."""
    known = [person for person in known_people() if person.patient_id == seen_id]
    forms = all_consents(care, patient_id=seen_id).where(lambda form: form.patient_id == seen_id)
    told = (*(person.episode_id for person in known), *(form.episode_id for form in forms))
    ids = list(dict.fromkeys(id_ for id_ in told if id_))
    account = "" if known else account_in(forms)
    name = known[0].name if known else next((form.patient_name for form in forms if form.patient_name), "")
    episodes = _read(care, ids[:_MOST_EPISODES])
    for other in {episode.patient.id for episode in episodes} - {seen_id}:
        more = all_consents(care, patient_id=other)
        forms = Listed((*forms, *more), forms.is_whole and more.is_whole)
    people = (patient for episode in episodes for patient in (episode.patient, episode.partner) if patient)
    record = next((person for person in people if person.id == seen_id), None)
    if record:
        account, name = record.user_id or record.id, record.full_name
    if not account:
        raise NotFound
    by_id = {episode.id: episode for episode in episodes}
    return AsPatient(seen_id, account, name, today(), forms, by_id), record, next(iter(ids), "")


def _unnoticed(_endpoint: AnyEndpoint, _query: object, _answer: object) -> None:
    """What is read to know who the patient is isn't shown; the pages' own reads are audited."""


def _read(care: Care, ids: Sequence[str]) -> list[Episode]:
    answers = gather_all([partial(get_episode, care, id_) for id_ in ids])
    failures = [
        answer for answer in answers if isinstance(answer, CareError) and not isinstance(answer, NotFound)
    ]
    if failures:
        raise failures[0]
    return [answer for answer in answers if isinstance(answer, Episode)]


def _without_acts(response: Response) -> Response:
    if not is_seen_by_staff() or response.mimetype != "text/html":
        return response
    response.set_data(_inert(response.get_data(as_text=True)))
    response.headers["Content-Security-Policy"] = headers.policy(form_action="'none'")
    return response


def _inert(page: str) -> str:
    """The page with links that stay in this view or lead nowhere, and with forms and fields that do nothing."""
    return _HTMX.sub("", _TAG.sub(_inert_tag, page))


def _inert_tag(found: re.Match[str]) -> str:
    name, attributes = found[1], found[2]
    if name == "a":
        if " data-leave" in attributes:
            return found[0]
        return f"<a{_ATTRIBUTE.sub(_kept_link, attributes)}>"
    if name == "form":
        return f"<form inert{_ATTRIBUTE.sub(_not_sent, attributes)}>"
    if name == "button" and ' type="button"' in attributes:
        return found[0]
    return f"<{name} disabled{attributes}>"


def _kept_link(found: re.Match[str]) -> str:
    if found[1] != "href":
        return found[0]
    href = found[2]
    if href.startswith("#"):
        return found[0]
    path = unquote(unescape(href).partition("?")[0].partition("#")[0])
    if path.startswith("/") and endpoint_at(path) in SHOWN:
        return f' href="{request.environ[PREFIX]}{href}"'
    return " data-not-here"


def _not_sent(found: re.Match[str]) -> str:
    return "" if found[1] in ("action", "method") else found[0]
