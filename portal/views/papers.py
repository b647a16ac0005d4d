"""A patient's papers: signed forms, documents, files from messages, plan and calendars, in one list with their downloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flask import Blueprint, Response, g, url_for

from portal.i18n.gettext import _
from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation, Message, list_conversations
from portal.services.episodes import Episode
from portal.services.errors import CareError, NotOffered
from portal.services.found_episodes import Found
from portal.services.gather import gather, items_of, needed
from portal.services.listed import Listed
from portal.services.protocols import Protocol
from portal.services.rules.signing import has_signed
from portal.views.consents.labels import state_word
from portal.views.conversations.view import is_mine
from portal.views.episodes.documents import Paper, by_date, file_paper, papers_of
from portal.views.episodes.further_plans import read_plans
from portal.views.episodes.lookup import reachable
from portal.web.filters import in_a_row, isolate, now
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.plan_view import PlanView
from portal.web.seen_plans import last_change
from portal.web.text_language import with_lang

bp = Blueprint("papers", __name__, url_prefix="/papers")

_MOST_CONVERSATIONS = 100


class PapersPage(Page, template="papers/index.html"):
    """The papers, newest first, and those `of_now`, which are made anew whenever they are saved.

    `is_incomplete` if some couldn't be read, `is_cut` if there may be older ones.
    """

    papers: list[Paper]
    of_now: list[Paper]
    is_incomplete: bool
    is_cut: bool


@bp.get("")
@signed_in(Side.PATIENT)
def index(care: Care, person: Person) -> Response:
    forms, conversations, found, active = gather(
        lambda: all_consents(care),
        lambda: list_conversations(care, limit=_MOST_CONVERSATIONS, include_archived=True).listed,
        lambda: reachable(care, person),
        lambda: read_plans(care),
    )
    plans = needed(active)
    episodes = () if isinstance(found, CareError) else found.newest_first
    failed = [
        answer
        for answer in (forms, conversations, found)
        if isinstance(answer, CareError) and not isinstance(answer, NotOffered)
    ]
    signed = [form for form in items_of(forms) if has_signed(form, person)]
    read = items_of(conversations)
    given = [talk for talk in read if any(_attached(talk, person))]
    audit.shown("consent.list", "consent", [form.id for form in signed])
    audit.shown("conversation.list", "conversation", [talk.id for talk in given])
    papers = [
        *(_of_form(form, person) for form in signed),
        *(paper for episode in episodes for paper in _documents(episode, person)),
        *(paper for talk in given for paper in _files_of(talk, person)),
    ]
    page = PapersPage(
        papers=by_date({paper.download: paper for paper in papers}.values()),
        of_now=[
            *{
                paper.download: paper for episode in episodes for paper in _of_now(episode, person, plans)
            }.values()
        ],
        is_incomplete=bool(failed)
        or not plans.is_whole
        or (isinstance(found, Found) and found.is_incomplete),
        is_cut=any(
            not isinstance(part, CareError) and not part.is_whole for part in (forms, conversations, *read)
        ),
    )
    return render(page)


def _of_form(form: ConsentForm, person: Person) -> Paper:
    signature = form.signature_of(person.sub)
    return Paper(
        title=with_lang(form.title, form.language),
        kind=_("Signed form") if form.is_signed else _("Signed form (%(state)s)", state=state_word(form)),
        sender=with_lang(g.tenant.name),
        at=signature.signed_at if signature else None,
        href=url_for("consents.receipt", consent_id=form.id),
        download=url_for("consents.pdf.receipt", consent_id=form.id),
        label="PDF",
        icon="signed",
    )


def _documents(episode: Episode, person: Person) -> list[Paper]:
    return papers_of(episode.documents, last_change(person, episode.id))


def _attached(talk: Conversation, person: Person) -> Iterator[Message]:
    """The messages that have files, but for those that the patient's side surely sent."""
    return (message for message in talk.messages if message.attachments and not is_mine(message, person))


def _files_of(talk: Conversation, person: Person) -> Iterable[Paper]:
    return (
        file_paper(
            file.file_id,
            file.name,
            file.media_type,
            size=file.size,
            kind=_("With a message"),
            sender=message.sender_name or with_lang(g.tenant.name),
            at=message.sent_at,
        )
        for message in _attached(talk, person)
        for file in message.attachments
    )


def _of_now(episode: Episode, person: Person, plans: Listed[Protocol]) -> Iterator[Paper]:
    """The calendar of the visits ahead, and its plans as far as they are taken, by day and as a calendar."""
    is_own, called = episode.patient.is_me(person.sub), isolate(episode.patient.called)
    if episode.upcoming(now()):
        yield Paper(
            title=_("My visits") if is_own else _("%(name)s’s visits", name=called),
            kind=_("For your calendar"),
            sender="",
            at=None,
            href=url_for("episodes.appointments", episode_id=episode.id),
            download=url_for("episodes.calendar.all_appointments", episode_id=episode.id),
            label=_("Calendar"),
            icon="calendar",
        )
    for plan in (episode.protocol, *plans.where(episode.is_further_plan)):
        yield from _of_plan(PlanView(plan, episode, person), episode.id)


def _of_plan(view: PlanView, episode_id: str) -> Iterator[Paper]:
    """A plan of the treatment as far as it is taken, a further one with its name."""
    plan = view.protocol
    if plan is None or not view.standing.has_doses:
        return
    href = url_for("episodes.medication", episode_id=episode_id)
    whose = view.medicines_of or _("My medicines")
    title = in_a_row([whose, plan.name] if view.is_further else [whose], " · ")
    for kind, download, label in (
        (_("Day by day, to print"), url_for("protocols.schedule.document", protocol_id=plan.id), "PDF"),
        (_("For your calendar"), url_for("protocols.schedule.calendar", protocol_id=plan.id), _("Calendar")),
    ):
        yield Paper(title, kind, "", None, href, download, label, icon="medication")
