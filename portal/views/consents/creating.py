"""A new consent form, by staff: from a template or a copy, filled in, seen as the patient will see it, sent once."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.consent_templates import Templates, load
from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.consents import (
    all_consents,
    create_consent,
    find_created,
    get_consent,
    list_consents,
)
from portal.services.episodes import get_episode
from portal.services.errors import (
    BadResponse,
    CareError,
    Conflict,
    Invalid,
    NotFound,
    NotOffered,
    Refused,
    Unavailable,
)
from portal.services.gather import gather, known
from portal.services.records import ConsentForm, Episode
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.drafting import LEFT_OUT, Filled, episode_id_of, from_form, from_template
from portal.views.consents.standing import CREATORS, standing
from portal.web import audit, unsent
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.once import is_lost, key, settled
from portal.web.rules import said
from portal.words import _

bp = Blueprint("creating", __name__)

_PURPOSE = "create-consent"
_ROLES = set(CREATORS)
_COPIES = 8
_RECENT = 100


@bp.get("/new")
@signed_in(Side.STAFF, roles=_ROLES)
def choose(care: Care, person: Person) -> Response:
    """Choose a template or a form to copy; with one chosen, fill it in."""
    if not ("template" in request.args or "copy" in request.args):
        return _sources(care)
    template = _templates().by_name.get(request.args.get("template", ""))
    copied = get_consent(care, request.args["copy"]) if request.args.get("copy") else None
    if template is None and copied is None:
        raise NotFound
    typed = request.args.get("episode", "")
    episode = _episode(care, typed) if typed else None
    if isinstance(episode, str):
        return _ask_episode(typed, error=episode)
    if episode is None and copied is None:
        return _ask_episode("")
    recent = known(gather(lambda: list_consents(care, limit=_RECENT))[0])
    forms = recent.items if recent else ()
    if copied:
        filled = from_form(copied, episode, person, forms)
    else:
        assert template and episode
        filled = from_template(template, episode, person, forms)
    operation = parts().operations.begin(person.sub, _PURPOSE, msgspec.to_builtins(filled))
    return _fill(operation, _given_back(filled))


@bp.get("/new/fill")
@signed_in(Side.STAFF, roles=_ROLES)
def change(care: Care, person: Person) -> Response:
    """Change what was filled in."""
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    return _fill(operation, _given_back(_filled(operation)))


@bp.post("/new/fill")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text("title", "version", "procedure_date", "expires_on", "replaces", "signer-*")
def fill(care: Care, person: Person) -> Response:
    """Keep what was filled in, and show the form as its signers will see it."""
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    filled = _filled(operation).posted(request.form)
    parts().operations.keep(person.sub, operation.id, msgspec.to_builtins(filled))
    if faults := filled.faults():
        return _fill(operation, filled, faults, status=422)
    return redirect_to(url_for("consents.creating.preview", operation=operation.id))


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=_ROLES)
def preview(care: Care, person: Person) -> Response:
    """Show the form as its signers will see it."""
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    filled = _filled(operation)
    if faults := filled.faults():
        return _fill(operation, filled, faults, status=422)
    form = filled.preview()
    return render(
        "consents/preview.html",
        form=form,
        standing=standing(form, person),
        operation=operation,
        replaces=filled.replaces,
    )


@bp.post("/new")
@signed_in(Side.STAFF, roles=_ROLES)
def create(care: Care, person: Person) -> Response:
    """Put the form to its signers, once."""
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    filled = _filled(operation)
    if faults := filled.faults():
        return _fill(operation, filled, faults, status=422)
    # What is there already looks the same as what a lost answer may have made: it is noted before.
    before = all_consents(care, patient_id=filled.about.patient_id)
    filled = msgspec.structs.replace(filled, known_ids=tuple(form.id for form in before))
    parts().operations.keep(person.sub, operation.id, msgspec.to_builtins(filled))
    if not parts().operations.claim(person.sub, operation.id):
        again = _operation(person)
        return again if isinstance(again, Response) else redirect_to(_preview_href(operation))
    return _send(care, person, operation, filled)


def _send(care: Care, person: Person, operation: Operation, filled: Filled) -> Response:
    operations, draft = parts().operations, filled.draft()
    try:
        form = create_consent(care, draft, operation=key(operation.id, msgspec.json.encode(draft).decode()))
    except (Unavailable, BadResponse):
        operations.lose(person.sub, operation.id)
        return _look(care, person, operation, filled)
    except CareError as error:
        operations.reopen(person.sub, operation.id)
        audit.note("consent.create", "refused")
        return _refused(operation, filled, error)
    if form is None or form.id in filled.known_ids:
        operations.lose(person.sub, operation.id)
        return _look(care, person, operation, filled)
    return _done(person, operation, form)


def _refused(operation: Operation, filled: Filled, error: CareError) -> Response:
    if isinstance(error, Invalid):
        return _fill(operation, filled, _faults_named_by(error, filled), status=422)
    if isinstance(error, Refused):
        return _fill(operation, filled, [("title", said(error.code))], status=403)
    if isinstance(error, Conflict):
        return _fill(operation, filled, [("title", _("Someone changed this meanwhile"))], status=409)
    raise error


def _look(care: Care, person: Person, operation: Operation, filled: Filled) -> Response:
    """No answer came: is the form in the clinic's record now?"""
    try:
        made = _made(care, filled)
        is_readable = True
    except (Unavailable, BadResponse):
        made, is_readable = None, False
    if made:
        return _done(person, operation, made)
    audit.note("consent.create", "unknown")
    return _unconfirmed(operation, filled, is_readable=is_readable, status=503)


def _made(care: Care, filled: Filled) -> ConsentForm | None:
    forms = all_consents(care, patient_id=filled.about.patient_id)
    return find_created((form for form in forms if form.id not in filled.known_ids), filled.draft())


def _done(person: Person, operation: Operation, form: ConsentForm) -> Response:
    parts().operations.finish(person.sub, operation.id, outcome=form.id)
    audit.note("consent.create", "done", kind="consent", id_=form.id)
    toast(_("The form was sent to its signers."))
    return redirect_to(url_for("consents.show", consent_id=form.id))


@bp.get("/new/look")
@signed_in(Side.STAFF, roles=_ROLES)
def look(care: Care, person: Person) -> Response:
    """After a lost answer: look whether the form is there by now."""
    id_ = request.args.get("operation", "")
    operation = parts().operations.find(person.sub, id_, _PURPOSE)
    if operation is None or operation.state in (State.OPEN, State.DONE):
        found = _operation(person)
        return found if isinstance(found, Response) else redirect_to(_preview_href(found))
    filled = _filled(operation)
    if made := _made(care, filled):
        return _done(person, operation, made)
    if not is_lost(operation):
        return _unconfirmed(operation, filled, is_readable=True, status=200)
    parts().operations.reopen(person.sub, operation.id)
    toast(_("The form isn't in the clinic's record. You can send it again."), tone="attention")
    return redirect_to(_preview_href(operation))


def _operation(person: Person) -> Operation | Response:
    """The operation that is filled in; or where it ended, or the beginning when there is none of that id."""
    id_ = request.values.get("operation", "")
    operation = parts().operations.find(person.sub, id_, _PURPOSE)
    if operation is None:
        toast(
            _("That page was from another visit, so it was not used. Please begin again."), tone="attention"
        )
        return redirect_to(url_for("consents.creating.choose"))
    operation = settled(person, operation)
    if operation.state is State.DONE:
        return redirect_to(url_for("consents.show", consent_id=operation.outcome))
    if operation.state is not State.OPEN:
        return redirect_to(url_for("consents.creating.look", operation=operation.id))
    return operation


def _given_back(filled: Filled) -> Filled:
    """The same with what was typed in a session that had ended."""
    given = unsent.given_back(url_for(".fill"))
    return filled.posted(given) if given else filled


def _filled(operation: Operation) -> Filled:
    return msgspec.convert(operation.data, Filled)


def _episode(care: Care, typed: str) -> Episode | str:
    """The episode of an id or link, or why it can't be had."""
    id_ = episode_id_of(typed)
    try:
        return get_episode(care, id_) if id_ else _("Paste the treatment's id, or the address of its page")
    except NotFound:
        return _("There is no treatment with this id at your clinic")
    except NotOffered:
        return _("This treatment is kept in another system, so no form can be made for it here")


def _faults_named_by(error: Invalid, filled: Filled) -> list[tuple[str, str]]:
    """The API's faults as faults of this page; one about something that isn't on it stands at the title."""
    found: list[tuple[str, str]] = []
    for name in error.fields:
        path = name.split(".")
        field = {"expires_at": "expires_on"}.get(name, name)
        if path[0] == "required_signers":
            index = path[1] if len(path) > 1 and path[1].isdigit() else "0"
            chosen = [str(place) for place, row in enumerate(filled.rows) if row.person_id != LEFT_OUT]
            field = f"signer-{chosen[int(index)] if int(index) < len(chosen) else 0}"
        if field not in ("title", "version", "procedure_date", "expires_on") and not field.startswith(
            "signer-"
        ):
            field = "title"
        found.append((field, _("The clinic's system doesn't accept this; please check it")))
    return list(dict.fromkeys(found)) or [
        ("title", _("The clinic's system didn't accept the form; please check it"))
    ]


# ── the pages ───────────────────────────────────────────────────────────────────────────────────────────


def _sources(care: Care) -> Response:
    text = request.args.get("q", "").strip()[:200]
    (found,) = gather(lambda: list_consents(care, limit=_COPIES, text=text or None))
    return render(
        "consents/new.html",
        fragment="copies",
        templates=_templates(),
        found=found,
        text=text,
        episode=request.args.get("episode", "")[:300],
    )


def _ask_episode(typed: str, *, error: str | None = None) -> Response:
    return render(
        "consents/new_episode.html",
        status=422 if error else 200,
        typed=typed,
        error=error,
        chosen={name: request.args[name] for name in ("template", "copy") if name in request.args},
    )


def _fill(
    operation: Operation, filled: Filled, faults: list[tuple[str, str]] | None = None, *, status: int = 200
) -> Response:
    return render(
        "consents/fill.html", status=status, operation=operation, filled=filled, faults=dict(faults or [])
    )


def _unconfirmed(operation: Operation, filled: Filled, *, is_readable: bool, status: int) -> Response:
    return render(
        "consents/new_unconfirmed.html",
        status=status,
        operation=operation,
        filled=filled,
        is_readable=is_readable,
    )


def _templates() -> Templates:
    return load(parts().settings.consent_templates)


def _preview_href(operation: Operation) -> str:
    return url_for("consents.creating.preview", operation=operation.id)
