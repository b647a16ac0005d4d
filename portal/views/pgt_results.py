"""An embryo's genetic test: the laboratory's call, what it means and doesn't mean, and the laboratory's cut-offs."""

from __future__ import annotations

from flask import Blueprint, Response

from portal.config.modules import Module
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotFound
from portal.services.gather import attempt, gather, known, needed
from portal.services.pgt_results import PgtResult, get_pgt_result
from portal.views.embryo_view import told_alone, told_apart
from portal.views.follow_up import FollowUp, follow_up_of, read_conversations
from portal.views.pgt_meanings import change_in_words, meaning_line
from portal.views.pgt_view import ResultView, tested_in
from portal.views.recent import name_opened
from portal.web import seen_results
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.modules import whole

bp = whole(Module.RESULTS, Blueprint("pgt_results", __name__, url_prefix="/pgt-results"))
bp.add_app_template_filter(change_in_words, "change_in_words")
bp.add_app_template_filter(meaning_line, "pgt_meaning")


class ResultPage(Page, template="pgt_results/show.html", about="result"):
    """A result; `follow_up` is what the clinic wrote to a patient once it was released.

    None for an amended one: that may be about what it was before.
    """

    result: PgtResult
    view: ResultView
    follow_up: FollowUp | CareError | None


@bp.get("/<record:result_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, result_id: str) -> Response:
    """Show a result; for patients, it isn't found before its release."""
    read, conversations = gather(
        lambda: get_pgt_result(care, result_id), lambda: read_conversations(care, person)
    )
    result = needed(read)
    if person.is_patient and not result.is_released:
        raise NotFound
    audit.shown("pgt-result.read", "pgt-result", result.id)
    before = seen_results.previous_calls(person, [result]).get(result.id)
    episode = _episode_of(care, result)
    view = ResultView(result, episode if person.is_staff else None, before, *_named(result, episode))
    name_opened(view.patient.full_name if view.patient else "", view.code)
    released_at = None if result.is_amended else result.released_at
    follow_up = follow_up_of(conversations, result.episode_id, released_at)
    return render(ResultPage(result=result, view=view, follow_up=follow_up))


def _named(result: PgtResult, episode: Episode | None) -> tuple[str, str]:
    """The code of the embryo that was tested, and what tells it from others of its code; empty where it isn't known."""
    tested = tested_in(episode, result)
    if episode is None or tested is None:
        return "", ""
    views = told_apart((embryo, episode) for embryo in episode.embryos)
    return tested.embryo_code, next(told_alone(view).apart for view in views if view.embryo.id == tested.id)


def _episode_of(care: Care, result: PgtResult) -> Episode | None:
    """The treatment of the embryo that was tested; None if it can't be read."""
    id_ = result.episode_id
    return known(attempt(lambda: get_episode(care, id_))) if id_ else None
