"""What a patient would be told, worked out from what the API tells a member of staff.

The API knows who asks and answers staff with more. These are its rules for patients (see "Who sees" in docs/assumptions.md),
kept by the portal for pages on which staff see what a patient sees. What isn't listed in `_RULES` isn't told, and where staff
aren't told enough to decide, as about files, it isn't told either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from portal.services.api import AnyEndpoint, Endpoint
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm
from portal.services.consents.requests import ConsentQuery
from portal.services.conversations import LIST_CONVERSATIONS, Conversation, ConversationQuery, Message
from portal.services.decoding import PagedResult
from portal.services.directories import Documents
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.errors import NotFound
from portal.services.listed import Listed
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.pgt_results import READ_PGT_RESULT, PgtResult, without_sex
from portal.services.protocols import LIST_PROTOCOLS, Protocol, ProtocolQuery
from portal.services.relationships import PARTNERS, Relationship
from portal.services.storage import EmbryoStorage
from portal.values import Value

T = TypeVar("T")

_CONVERSATIONS = 50


class AsPatient(Value, frozen=True):
    """One patient's view; `account` is the id with which they sign, `day` today at the clinic.

    `forms` are those of the patient and of those in whose treatments they are the partner; `episodes` are the treatments read so far, by id, as staff are told of them.
    """

    patient_id: str
    account: str
    name: str
    day: date
    forms: Listed[ConsentForm]
    episodes: dict[str, Episode]

    def read(
        self, endpoint: Endpoint[T, Any], query: Any, ids: Mapping[str, str], ask: Callable[[Any], T]
    ) -> T:
        """Return what the patient would be told; `ask` sends a query as staff. Raises NotFound if that is nothing."""
        rule = _RULES.get(endpoint)
        if rule is None:
            raise NotFound
        return cast("T", rule(self, query, ids, ask))

    def may_see(self, episode: Episode) -> bool:
        """Whether it is the patient's own treatment, or one that its patient shares with them today."""
        if episode.patient.id == self.patient_id:
            return True
        is_partner = episode.partner is not None and episode.partner.id == self.patient_id
        return is_partner and any(
            self._is_shared(relationship, episode) for relationship in episode.relationships
        )

    def _is_shared(self, relationship: Relationship, episode: Episode) -> bool:
        return (
            relationship.type in PARTNERS
            and relationship.shares_on(self.day)
            and relationship.patient_id == episode.patient.id
            and relationship.related_patient_id == self.patient_id
        )

    def episode(self, episode: Episode) -> Episode:
        """The treatment as the patient is told of it; raises NotFound if it isn't theirs to see."""
        if not self.may_see(episode):
            raise NotFound
        released = {test.id for test in episode.pgt_results if test.is_released}
        has_reports = bool(episode.pgt_results)
        seen = {form.id for form in self.forms if self.sees_form(form)}
        return replace(
            episode,
            patient=episode.patient.as_known_to(self.account),
            partner=episode.partner and episode.partner.as_known_to(self.account),
            case=episode.case and replace(episode.case, notes=None, diagnosis=None),
            relationships=tuple(
                relationship
                for relationship in episode.relationships
                if self.patient_id in (relationship.patient_id, relationship.related_patient_id)
            ),
            embryos=tuple(_embryo(embryo, released) for embryo in episode.embryos),
            pgt_results=tuple(test for test in episode.pgt_results if test.is_released),
            documents=Documents() if has_reports else episode.documents,
            consent_forms=tuple(form for form in episode.consent_forms if form.id in seen),
            conversation_ids=(),
            steps_withdrawn=frozenset(),
        )

    def sees_form(self, form: ConsentForm) -> bool:
        """Whether the form is about the patient or names them."""
        return form.patient_id == self.patient_id or form.is_signer(self.account)

    def form(self, form: ConsentForm) -> ConsentForm:
        """The form as the patient is told of it; raises NotFound if it isn't theirs to see."""
        if not self.sees_form(form):
            raise NotFound
        return form if form.revoked_by_id == self.account else replace(form, revoke_reason=None)

    def sees_conversation(self, talk: Conversation) -> bool:
        """Whether the conversation is about the patient, or they take part in one about somebody who shares with them."""
        if talk.patient_id == self.patient_id:
            return True
        takes_part = any(participant.id == self.account for participant in talk.participants)
        sharing = {episode.patient.id for episode in self.episodes.values() if self.may_see(episode)}
        return takes_part and (talk.patient_id is None or talk.patient_id in sharing)


def _read_episode(
    view: AsPatient, query: Any, ids: Mapping[str, str], ask: Callable[[Any], Episode]
) -> Episode:
    id_ = ids["episodeId"]
    if id_ not in view.episodes:
        view.episodes[id_] = ask(query)
    return view.episode(view.episodes[id_])


def _embryo(embryo: EmbryoStorage, released: set[str]) -> EmbryoStorage:
    test = embryo.pgt_result_id if embryo.pgt_result_id in released else None
    return replace(embryo, location=None, notes=None, pgt_result_id=test)


def _read_consent(
    view: AsPatient, query: Any, _ids: Mapping[str, str], ask: Callable[[Any], ConsentForm]
) -> ConsentForm:
    return view.form(ask(query))


def _list_consents(
    view: AsPatient,
    query: ConsentQuery,
    _ids: Mapping[str, str],
    _ask: Callable[[Any], PagedResult[ConsentForm]],
) -> PagedResult[ConsentForm]:
    found = [
        view.form(form)
        for form in view.forms
        if view.sees_form(form)
        and query.episode_id in (None, form.episode_id)
        and query.status in (None, form.status)
    ]
    items = tuple(found[query.skip_count :][: query.max_result_count])
    return PagedResult(items=items, total_count=len(found), is_counted=view.forms.is_whole)


def _list_conversations(
    view: AsPatient,
    query: ConversationQuery,
    _ids: Mapping[str, str],
    ask: Callable[[Any], PagedResult[Conversation]],
) -> PagedResult[Conversation]:
    """Those found by the patient's name that they may see, without anybody's marks."""
    wanted = replace(
        query,
        filter=query.filter or view.name or None,
        max_result_count=max(query.max_result_count, _CONVERSATIONS),
        include_archived=True,
    )
    page = ask(wanted)
    conversations = tuple(_conversation(talk) for talk in page.items if view.sees_conversation(talk))
    count = len(conversations) if page.listed.is_whole else len(conversations) + 1
    return replace(
        page,
        items=conversations,
        total_count=count,
        is_counted=page.listed.is_whole,
        unreadable=(),
        deleted=0,
    )


def _conversation(talk: Conversation) -> Conversation:
    return replace(
        talk,
        is_archived=False,
        unread_count=0,
        possible_senders=(),
        messages=tuple(_message(message) for message in talk.messages),
    )


def _message(message: Message) -> Message:
    return replace(message, read_at=message.sent_at, is_archived=False, attachments=())


def _list_protocols(
    view: AsPatient,
    query: ProtocolQuery,
    _ids: Mapping[str, str],
    ask: Callable[[Any], PagedResult[Protocol]],
) -> PagedResult[Protocol]:
    """The patient's own, and those of the treatment asked for, whose page isn't shown unless they may see it; without one,
    those of each treatment that they see."""
    seen = (
        {query.episode_id} if query.episode_id else {e.id for e in view.episodes.values() if view.may_see(e)}
    )
    asked = [query] if query.episode_id else [replace(query, filter=view.name or None)]
    asked += [replace(query, episode_id=id_) for id_ in sorted(seen)] if not query.episode_id else []
    pages = [ask(one) for one in asked]
    told = {
        plan.id: plan
        for page in pages
        for plan in page.items
        if plan.patient_id == view.patient_id or plan.episode_id in seen
    }
    is_whole = all(page.listed.is_whole for page in pages)
    return replace(pages[0], items=tuple(told.values()), total_count=len(told), is_counted=is_whole)


def _list_notifications(
    _view: AsPatient, _query: Any, _ids: Mapping[str, str], _ask: Callable[[Any], PagedResult[Any]]
) -> PagedResult[Any]:
    """None: the API gives everybody their own."""
    return PagedResult(items=(), total_count=0, unread_count=0)


def _read_pgt_result(
    view: AsPatient, query: Any, _ids: Mapping[str, str], ask: Callable[[Any], PgtResult]
) -> PgtResult:
    result = ask(query)
    episode = view.episodes.get(result.episode_id or "")
    if not result.is_released or episode is None or not view.may_see(episode):
        raise NotFound
    told = result if result.sex_disclosed else without_sex(result)
    return replace(told, report_file_id=None)


_Rule = Callable[[AsPatient, Any, Mapping[str, str], Callable[[Any], Any]], Any]
_RULES: Mapping[AnyEndpoint, _Rule] = {
    READ_EPISODE: _read_episode,
    READ_CONSENT: _read_consent,
    LIST_CONSENTS: _list_consents,
    LIST_CONVERSATIONS: _list_conversations,
    LIST_NOTIFICATIONS: _list_notifications,
    LIST_PROTOCOLS: _list_protocols,
    READ_PGT_RESULT: _read_pgt_result,
}
