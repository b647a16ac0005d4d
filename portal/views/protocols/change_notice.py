"""A changed plan: the notice on an open page, and "I have seen it"."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, request, url_for

from portal.services.protocols import get_protocol
from portal.views.protocols.view import read_treatment
from portal.web import seen_plans
from portal.web.handlers import Care, Page, Person, Side, redirect_to, render, signed_in
from portal.web.plan_changes import PlanNotice, notice_of

bp = Blueprint("change_notice", __name__)


class ChangePage(Page, template="protocols/change.html"):
    """What changed in a plan since the person saw it; `is_stale` says that the page around it is older."""

    notice: PlanNotice
    is_stale: bool = True


@bp.get("/<record:protocol_id>/change")
@signed_in(Side.PATIENT, background=True)
def change(care: Care, person: Person, protocol_id: str) -> Response:
    """Return what changed in the plan, for a page that shows it as `known`; 204 if it is still the same."""
    plan = get_protocol(care, protocol_id)
    if request.args.get("known") == seen_plans.digest(plan):
        return make_response("", 204)
    notice = notice_of(person, plan, read_treatment(care, plan))
    return render(ChangePage(notice=notice), fragment="plan_change")


@bp.post("/<record:protocol_id>/seen")
@signed_in(Side.PATIENT)
def mark(care: Care, person: Person, protocol_id: str) -> Response:
    """Remember that the person has seen the plan as it was shown; if it changed again, they are told that."""
    plan = get_protocol(care, protocol_id)
    seen_plans.mark_seen(person, plan, request.form.get("shown", ""))
    if request.form.get("from") == "home" or not plan.episode_id:
        return redirect_to(url_for("home.show"))
    return redirect_to(url_for("episodes.medication", episode_id=plan.episode_id))
