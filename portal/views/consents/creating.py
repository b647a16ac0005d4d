"""A new consent form, by staff: from a template or a copy, filled in, seen as the patient will see it, sent once."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response, request, url_for

from portal.consent_templates import Templates, load
from portal.operations import Operation
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
    CareError,
    Conflict,
    Invalid,
    NotFound,
    NotOffered,
    Refused,
)
from portal.services.gather import gather, known
from portal.services.records import ConsentForm, Episode
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.drafting import LEFT_OUT, Filled, episode_id_of, from_form, from_template
from portal.views.consents.standing import CREATORS, standing
from portal.views.making import Drafts, Making
from portal.web import unsent
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.rules import said
from portal.words import _

bp = Blueprint("creating", __name__)

_ROLES = set(CREATORS)
_COPIES = 8
_RECENT = 100
_drafts = Drafts(
    "consent",
    Filled,
    pages="consents.creating",
    first="choose",
    address=lambda id_: url_for("consents.show", consent_id=id_),
)


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
    operation = _drafts.begin(person, filled)
    return _fill(operation, _given_back(filled))


@bp.get("/new/fill")
@signed_in(Side.STAFF, roles=_ROLES)
def change(care: Care, person: Person) -> Response:
    """Change what was filled in."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    return _fill(operation, _given_back(_drafts.of(operation)))


@bp.post("/new/fill")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text("title", "version", "procedure_date", "expires_on", "replaces", "signer-*")
def fill(care: Care, person: Person) -> Response:
    """Keep what was filled in, and show the form as its signers will see it."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    filled = _drafts.of(operation).posted(request.form)
    _drafts.keep(person, operation, filled)
    if faults := filled.faults():
        return _fill(operation, filled, faults, status=422)
    return redirect_to(_drafts.preview_address(operation))


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=_ROLES)
def preview(care: Care, person: Person) -> Response:
    """Show the form as its signers will see it."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    filled = _drafts.of(operation)
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
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    filled = _drafts.of(operation)
    if faults := filled.faults():
        return _fill(operation, filled, faults, status=422)
    return _making.send(care, person, operation, filled)


@bp.get("/new/look")
@signed_in(Side.STAFF, roles=_ROLES)
def look(care: Care, person: Person) -> Response:
    """After a lost answer: look whether the form is there by now."""
    return _making.look_again(care, person)


class _Making(Making[Filled, ConsentForm]):
    drafts = _drafts

    def create(self, care: Care, draft: Filled, operation: str) -> ConsentForm | None:
        return create_consent(care, draft.draft(), operation=operation)

    def alike(self, care: Care, draft: Filled) -> Sequence[ConsentForm]:
        return all_consents(care, patient_id=draft.about.patient_id)

    def recognised(self, candidates: Sequence[ConsentForm], draft: Filled) -> ConsentForm | None:
        return find_created(candidates, draft.draft())

    def refused(self, care: Care, operation: Operation, draft: Filled, error: CareError) -> Response:
        if isinstance(error, Invalid):
            return _fill(operation, draft, _faults_named_by(error, draft), status=422)
        if isinstance(error, Refused):
            return _fill(operation, draft, [("title", said(error.code))], status=403)
        if isinstance(error, Conflict):
            return _fill(operation, draft, [("title", _("Someone changed this meanwhile"))], status=409)
        raise error

    def unconfirmed(self, operation: Operation, draft: Filled, *, is_readable: bool, status: int) -> Response:
        return render(
            "consents/new_unconfirmed.html",
            status=status,
            operation=operation,
            filled=draft,
            is_readable=is_readable,
        )

    def words_done(self) -> str:
        return _("The form was sent to its signers.")

    def words_gone(self) -> str:
        return _("The form isn’t in the clinic’s record. You can send it again.")


_making = _Making()


def _given_back(filled: Filled) -> Filled:
    """The same with what was typed in a session that had ended."""
    given = unsent.given_back(url_for(".fill"))
    return filled.posted(given) if given else filled


def _episode(care: Care, typed: str) -> Episode | str:
    """The episode of an id or link, or why it can't be had."""
    id_ = episode_id_of(typed)
    try:
        return get_episode(care, id_) if id_ else _("Paste the treatment’s id, or the address of its page")
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
        found.append((field, _("The clinic’s system doesn’t accept this; please check it")))
    return list(dict.fromkeys(found)) or [
        ("title", _("The clinic’s system didn’t accept the form; please check it"))
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


def _templates() -> Templates:
    return load(parts().settings.consent_templates)
