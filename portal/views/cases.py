"""A case: the course of treatment that episodes belong to; staff edit it, with allowed status changes only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flask import Blueprint, Response, url_for

from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.cases import CareStatus, Case, CaseChange, update_case
from portal.services.episodes import Episode
from portal.services.gather import attempt, known
from portal.services.physicians import list_physicians
from portal.views.episodes.lookup import find_embedded
from portal.web.choice_names import choice_name
from portal.web.edit_form import Edit, Saved
from portal.web.editing import EDIT_FORM, Editing, open_form, save_edit, tell_saved
from portal.web.fields import Fields, member
from portal.web.forms import Choices, Form, choice, text
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in
from portal.web.permissions import EDIT_CASE
from portal.web.refusals import physicians_unlisted
from portal.web.unsent import typed_text

bp = Blueprint("cases", __name__, url_prefix="/cases")

_NEEDS_REASON = (CareStatus.FINISHED, CareStatus.CANCELLED)
_LONG = 10_000


class EditPage(Page, template="cases/edit.html", about="episode"):
    """A case as a form, or two conflicting versions of it."""

    episode: Episode
    case: Case
    edit: Edit


@bp.get("/<record:case_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_CASE)
def edit(care: Care, person: Person, case_id: str) -> Response:
    episode, case = find_embedded(care, person, _of_id(case_id), within="Episode.case")
    audit.shown("case.read", "case", case.id)
    return _page(episode, case, open_form(_editing(care, person, episode, case_id), case))


@bp.post("/<record:case_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_CASE)
@typed_text(*EDIT_FORM, *CaseChange.__struct_fields__)
def save(care: Care, person: Person, case_id: str) -> Response:
    """Save it, or show what someone else changed meanwhile."""
    episode, case = find_embedded(care, person, _of_id(case_id), within="Episode.case")
    result = save_edit(_editing(care, person, episode, case_id), case)
    if not isinstance(result, Saved):
        return _page(episode, case, result)
    tell_saved(result, _("The case is saved."))
    return redirect_to(url_for("episodes.show", episode_id=episode.id))


def _page(episode: Episode, case: Case, edit: Edit) -> Response:
    return render(EditPage(episode=episode, case=case, edit=edit), fragment="edit", status=edit.status)


def _editing(care: Care, person: Person, episode: Episode, case_id: str) -> Editing[Case]:
    physicians = _physicians(care, episode)
    return Editing(
        owner=person.sub,
        event="case.update",
        fields=lambda case: _fields(case, physicians, _coordinators(case, episode, person)),
        read=lambda: find_embedded(care, person, _of_id(case_id), within="Episode.case")[1],
        write=partial(update_case, care, case_id),
        check=_check,
    )


def _of_id(case_id: str) -> Callable[[Episode], Case | None]:
    return lambda episode: episode.case if episode.case and episode.case.id == case_id else None


def _fields(case: Case, physicians: Choices, coordinators: list[tuple[str, str]]) -> Fields[Case]:
    moves = [(str(status), choice_name(status)) for status in (case.status, *case.next_statuses)]
    status = choice(
        _("Status"),
        moves,
        radios=True,
        known={str(status): choice_name(status) for status in CareStatus},
        wrong=_("Its present state doesn’t allow this step."),
    )
    offered = _with(
        [pair for pair in physicians.pairs if pair[0] or not case.physician_id], case.physician_id
    )
    return [
        member("title", text(_("Title"), required=_("Enter a title."), longest=300), value=str),
        member("status", status, value=CareStatus),
        member("closed_reason", text(_("Why it is closed"), kind="textarea", longest=_LONG)),
        member("physician_id", choice(_("Physician"), offered, hint=physicians.hint)),
        member("coordinator_id", choice(_("Coordinator"), coordinators)),
        member("diagnosis", text(_("Diagnosis"), kind="textarea", longest=_LONG)),
        member("notes", text(_("Notes"), kind="textarea", longest=_LONG)),
    ]


def _check(case: Case, form: Form) -> None:
    if form.value("status") in _NEEDS_REASON and not form.value("closed_reason"):
        form.add_error("closed_reason", _("Write why the case is closed."), ["status"])


def _physicians(care: Care, episode: Episode) -> Choices:
    """The clinic's physicians who are active or the case's, or the care team's if the calendar can't be read or isn't offered."""
    current = episode.case and episode.case.physician_id
    listed = attempt(partial(list_physicians, care))
    team = {m.physician_id: m.name for m in episode.care_team if m.physician_id and _is_physician(m.role)}
    page = known(listed)
    found = {p.id: p.name for p in page.value.items if p.is_active or p.id == current} if page else team
    in_order = sorted(found.items(), key=lambda pair: sort_key(pair[1], language()))
    return Choices([("", _("Nobody")), *in_order], None if page else physicians_unlisted(listed))


def _is_physician(role: str) -> bool:
    return "physician" in role.casefold()


def _coordinators(case: Case, episode: Episode, person: Person) -> list[tuple[str, str]]:
    """The choices for coordinator: nobody, the current one, and oneself, because no endpoint lists staff."""
    team = {member.physician_id: member.name for member in episode.care_team}
    choices = [("", _("Nobody"))]
    if "coordinator" in person.roles:
        choices.append((person.sub, _("%(name)s (you)", name=person.name)))
    return _with(choices, case.coordinator_id, team.get(case.coordinator_id))


def _with(
    choices: list[tuple[str, str]], current: str | None, name: str | None = None
) -> list[tuple[str, str]]:
    """The choices, including the current person if missing."""
    if (current or "") in (value for value, _words in choices):
        return choices
    return [*choices, (current or "", name or _("Someone else, as it is now"))]
