"""What staff find to do on their home page: the duties of their role, counted, each a link to exactly that list."""

from __future__ import annotations

from urllib.parse import quote

from flask import url_for
from msgspec.structs import replace

from portal.config.modules import Module
from portal.i18n.gettext import _
from portal.services.errors import CareError
from portal.services.listed import Count, Listed
from portal.services.notifications import Notification, new_enquiries
from portal.services.rules.work_lists import WorkList
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.form_filter import FormFilter, WaitsFor
from portal.views.consents.worklist import Work, list_address
from portal.views.waiting_conversations import Waiting
from portal.web.modules import has_module
from portal.web.permissions import may
from portal.web.routing import endpoint_at

_OUTSIDE = FormFilter(WaitsFor.THEM)
_NO_ACCOUNT = FormFilter(WaitsFor.NO_ACCOUNT)


class Duty(Value, frozen=True):
    """Something that is this person's to do; `count` is None where that isn't counted here."""

    words: str
    href: str
    count: Count | None = None


def regions_of(person: Person, waiting: Waiting | CareError) -> tuple[str, ...]:
    """Return the regions of a person's home page in order: what their role does comes first, a danger before all."""
    is_danger = not isinstance(waiting, CareError) and any(
        conversation.danger for conversation in waiting.conversations
    )
    if is_danger or may(person, "message.answer"):
        first = "messages"
    else:
        first = "news" if person.roles & {"embryologist", "admin"} else "consents"
    return (first, *(part for part in ("consents", "messages", "news") if part != first))


def duties_of(
    person: Person,
    work: Work | CareError,
    waiting: Waiting | CareError,
    news: Listed[Notification] | CareError,
) -> tuple[Duty, ...]:
    """Return what is theirs, without what their clinic doesn't offer; what couldn't be read has no count."""
    found: list[Duty] = []
    if "physician" in person.roles:
        found.append(_forms(work, _("Forms for you to sign"), WorkList.MINE))
    if may(person, "message.answer"):
        count = None if isinstance(waiting, CareError) else _told(waiting.conversations.count)
        found.append(Duty(_("Messages without an answer"), url_for("conversations.inbox"), count))
    if person.roles & {"nurse", "physician"}:
        found.append(_forms(work, _("Missing until Friday: whom to call"), WorkList.FRIDAY, _OUTSIDE))
    if person.roles & {"nurse", "coordinator"}:
        found.append(_forms(work, _("Forms of people without an account"), WorkList.OPEN, _NO_ACCOUNT))
    if "coordinator" in person.roles and has_module(Module.BOOKING):
        count = None if isinstance(news, CareError) else _told(new_enquiries(news))
        found.append(Duty(_("New enquiries"), url_for("prospects.enquiries.show"), count))
    if "embryologist" in person.roles:
        found.append(_news(news, _("Genetic results that came"), "PGTResult"))
    if may(person, "system.see"):
        found.append(_news(news, _("Connections that need you"), "EmrEndpointConfig"))
        found.append(Duty(_("How the clinic’s system answers"), url_for("clinic_system.show")))
    if person.roles & {"coordinator", "admin"}:
        found.append(_forms(work, _("Long overdue: close or chase"), WorkList.OLDER))
    return tuple(duty for duty in found if _is_offered(duty))


def storage_duty(person: Person, count: Count | None) -> Duty | None:
    """Return the storage that ends, for those who care for embryos, where their clinic offers it."""
    duty = Duty(_("Storage that ends within 60 days"), url_for("storage.index", list="ending"), _told(count))
    return duty if may(person, "embryo.edit") and _is_offered(duty) else None


def _is_offered(duty: Duty) -> bool:
    return endpoint_at(duty.href.partition("?")[0]) is not None


def _forms(
    work: Work | CareError, words: str, which: WorkList, form_filter: FormFilter | None = None
) -> Duty:
    href = list_address(which, form_filter) if form_filter else list_address(which)
    if isinstance(work, CareError):
        return Duty(words, href)
    count = replace(work, form_filter=form_filter or work.form_filter).forms_of(which).count
    return Duty(words, href, _told(count))


def _news(news: Listed[Notification] | CareError, words: str, about: str) -> Duty:
    href = url_for("notifications.index", unread=1)
    if isinstance(news, CareError):
        return Duty(words, href)
    found = news.where(lambda notification: notification.is_about(about))
    kinds = {notification.type for notification in found if notification.type}
    address = f"{href}&type={quote(kinds.pop())}" if len(kinds) == 1 else href
    return Duty(words, address, _told(found.count))


def _told(count: Count | None) -> Count | None:
    return count if count is not None and count.is_telling else None
