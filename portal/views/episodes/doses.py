"""The doses around now on an open page, and the ticks with which a patient notes for themselves what they have taken."""

from __future__ import annotations

from dataclasses import replace

from flask import Blueprint, Response, make_response, request, url_for

from portal.config.modules import Module
from portal.i18n.gettext import _
from portal.parse import record_id
from portal.services.episodes import get_episode
from portal.services.errors import BadResponse, NotFound, Unavailable
from portal.services.gather import gather, items_of, needed
from portal.services.protocols import Protocol, get_protocol
from portal.views.episodes.further_plans import read_plans, read_plans_of
from portal.views.episodes.tonight import Tonight, tonight_of
from portal.views.episodes.view import EpisodeView
from portal.web import taken_doses
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.modules import part_of
from portal.web.plan_view import PlanView

bp = Blueprint("doses", __name__)


class DosesPage(Page, template="episodes/doses.html"):
    """The doses around now, for a page that shows them; `place` is which: home, overview or medication; `is_first` among its cards.

    `told_plans` are the ids of the plans that have a card there, `new` the cards of further ones.
    """

    tonight: Tonight
    place: str
    is_first: bool
    told_plans: list[str]
    new: list[Tonight]


@bp.get("/<record:episode_id>/doses")
@part_of(Module.MEDICINES)
@signed_in(Side.PATIENT, background=True)
def show(care: Care, person: Person, episode_id: str) -> Response:
    """Return the doses around now, for a page that shows them as `known`; 204 if they are still the same, and if the treatment has
    no further plan but the `told` ones, where the card asks for those."""
    place, plan_id = request.args.get("place", ""), request.args.get("plan")
    asked = request.args.get("told")
    told = asked.split(",") if asked else []
    read, plans = gather(
        lambda: _read(care, person, episode_id, plan_id),
        lambda: () if asked is None else _plans(care, episode_id, place),
    )
    view, tonight = needed(read)
    further = replace(view, further_plans=tuple(filter(view.episode.is_further_plan, needed(plans))))
    new = [card for card in further.further_tonights if card.further_plan not in told]
    if not new and request.args.get("known") == tonight.digest:
        return make_response("", 204)
    new_ids = [card.further_plan for card in new if card.further_plan]
    audit.shown("protocol.list", "protocol", new_ids)
    page = DosesPage(
        tonight=tonight,
        place=place,
        is_first="beside" not in request.args,
        told_plans=[*told, *new_ids],
        new=new,
    )
    return render(page, fragment="tonight")


@bp.post("/<record:episode_id>/doses")
@part_of(Module.MEDICINES)
@signed_in(Side.PATIENT)
def note(care: Care, person: Person, episode_id: str) -> Response:
    """Tick a dose off, in the amount that the page showed, or take the tick back: only of the patient's own plan as it is now."""
    key, is_undone = request.form.get("dose", ""), "undo" in request.form
    place = _back_to(request.form.get("from"), episode_id)
    back = f"{place}#tonight"
    try:
        _view, tonight = _read(care, person, episode_id, request.args.get("plan"))
    except (BadResponse, Unavailable):
        _tell_lost(is_undone=is_undone)
        return redirect_to(back)
    if not tonight.may_tick:
        raise NotFound
    dose = next((dose for dose in tonight.doses if dose.key == key), None)
    if dose and "beside" in request.args:
        back = f"{place}#dose-{dose.key}"
    if dose is None or not (is_undone or dose.what == request.form.get("what")):
        toast(_("The plan has changed. Look at the dose again before you tick it off."), tone="attention")
    else:
        is_stored = taken_doses.untick(person, key) if is_undone else taken_doses.tick(person, key, dose.tick)
        if not is_stored:
            _tell_lost(is_undone=is_undone)
    return redirect_to(back)


def _tell_lost(*, is_undone: bool) -> None:
    """Say that a tick, or its undoing, wasn't kept: a dose that isn't known as taken may be taken twice."""
    lost = _("That wasn’t done") if is_undone else _("Your tick couldn’t be kept. Please write it down.")
    toast(lost, tone="attention")


def _read(
    care: Care, person: Person, episode_id: str, further_plan: str | None
) -> tuple[EpisodeView, Tonight]:
    """The treatment, and the doses of the plan that its record holds, or of a further one."""
    if further_plan and not record_id(further_plan):
        raise NotFound
    view = EpisodeView(get_episode(care, episode_id), person)
    plan = PlanView(get_protocol(care, further_plan), view.episode, person) if further_plan else view.plan
    if further_plan and not plan.is_further:
        raise NotFound
    tonight = tonight_of(plan, view.alerts)
    if tonight is None:
        raise NotFound
    return view, tonight


def _plans(care: Care, episode_id: str, place: str) -> tuple[Protocol, ...]:
    """The plans that a page tells whose cards these are, none where they can't be read: its medicines those that name the treatment."""
    return items_of(read_plans_of(care, episode_id) if place == "medication" else read_plans(care))


def _back_to(place: str | None, episode_id: str) -> str:
    if place == "home":
        return url_for("home.show")
    return url_for("episodes.medication" if place == "medication" else "episodes.show", episode_id=episode_id)
