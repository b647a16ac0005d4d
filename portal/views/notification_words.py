"""What a notification is called, what it is about, and whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import cast

from flask import g
from markupsafe import Markup

from portal.i18n.gettext import _, for_each_language, ngettext
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation
from portal.services.notifications import Notification
from portal.state.session_records import Person
from portal.views.conversations.view import others_in
from portal.web.filters import in_a_row
from portal.web.known_people import known_people
from portal.web.text_language import with_lang


def kind_words(kind: str) -> str:
    return known_kinds().get(kind) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", kind).capitalize()


def title_of(notification: Notification) -> Markup | str:
    """Return its title; if that is in another language, what its kind says in the reader's, if it is known."""
    given = with_lang(notification.title)
    return (
        (_titles().get(notification.type) if given != notification.title else "")
        or given
        or kind_words(notification.type)
    )


def text_of(notification: Notification) -> Markup | str:
    """Return its own text if that says more than that there is something to open."""
    return "" if notification.type in _NEUTRAL else with_lang(notification.body)


@for_each_language
def _titles() -> dict[str, str]:
    return {
        "ConsentRequested": _("A form waits for you"),
        "ConsentCompleted": _("Everyone has signed a form"),
        "ConsentRevoked": _("A consent was withdrawn"),
        "MessageReceived": _("You have a new message"),
        "AppointmentReminder": _("Reminder of an appointment"),
        "EpisodeUpdated": _("Something is new in your treatment"),
        "ResultReleased": _("A result is here"),
        "StorageReminder": _("A storage date is near"),
        "PaymentReceived": _("Your payment has arrived"),
        "PaymentFailed": _("A payment didn’t go through"),
        "AccountSecurity": _("About the security of your account"),
        "SharingEnded": _("Sharing has ended"),
    }


_ENQUIRERS = (("firstName", "lastName"), ("mergeFirstName", "mergeLastName"))
"""Where a notification about enquiries has the names."""


_NEUTRAL = frozenset(
    {
        *("ConsentRequested", "ConsentCompleted", "ConsentRevoked"),
        *("MessageReceived", "EpisodeUpdated", "ResultReleased"),
    }
)
"""Kinds whose text is made for a lock screen and only says that there is something to open."""


def form_words(form: ConsentForm, person: Person) -> str:
    """The form's title; staff, who have many, are told first whose it is."""
    return _line(form.patient_name, form.title) if person.is_staff else form.title


def conversation_words(talk: Conversation, person: Person) -> str:
    """The conversation's subject; for staff also with whom it is."""
    return _line(*others_in(talk, person)[:1], talk.subject) if person.is_staff else talk.subject


def _line(*parts: str) -> str:
    return in_a_row([part for part in parts if part], " · ")


def about(notification: Notification, subjects: Mapping[str, str], repeated: Set[str]) -> str:
    """What it is about: its own text unless several share it (`repeated`), else the name of its record."""
    waiting = notification.data.get("consentFormIds")
    if notification.type == "SharingEnded" and isinstance(waiting, list) and waiting:
        return _waiting_forms([str(id_) for id_ in cast("list[object]", waiting)], subjects)
    subject = subjects.get(notification.entity_id or "", "")
    is_neutral = notification.type in _NEUTRAL and (subject or not g.person.is_staff)
    own = "" if is_neutral or notification.body in repeated else notification.body
    return own or subject


def names_by_record(forms: Iterable[ConsentForm]) -> dict[str, str]:
    """The patients' names by patient and by treatment, from these forms and what the session has read."""
    forms, known = tuple(forms), known_people()
    read = [(id_, person.name) for person in known for id_ in (person.patient_id, person.episode_id)]
    told = [(id_, form.patient_name) for form in forms for id_ in (form.patient_id, form.episode_id)]
    about = {(form.episode_id, form.patient_id) for form in forms if form.patient_id}
    # A treatment may have forms of both of a couple, and is one person's.
    of_two = {id_ for id_, count in Counter(episode_id for episode_id, _ in about).items() if count > 1}
    sure = (pair for pair in told if pair[0] not in of_two)
    return {id_: name for id_, name in (*sure, *read) if id_ and name}


def name_of(notification: Notification, names: Mapping[str, str], told: str) -> str:
    """Whom a notification is about, unless it or what is `told` of it says so; empty where that isn't known."""
    ids = (
        notification.datum("patientId"),
        notification.datum("episodeId"),
        notification.entity_id if notification.is_about("Episode") else None,
    )
    name = _enquirers(notification) or next((names[id_] for id_ in ids if id_ and id_ in names), "")
    return "" if name in f"{notification.title} {told}" else name


def _enquirers(notification: Notification) -> str:
    """Who is enquiring, and who may be the same person, as far as those who may see it are told."""
    names = [
        f"{notification.datum(first) or ''} {notification.datum(last) or ''}".strip()
        for first, last in _ENQUIRERS
    ]
    return in_a_row(dict.fromkeys(filter(None, names)))


def _waiting_forms(ids: list[str], subjects: Mapping[str, str]) -> str:
    """How many forms wait for a partner with whom nothing is shared any more, and those whose names were read."""
    counted = ngettext("%(num)s form waits for the partner", "%(num)s forms wait for the partner", len(ids))
    return in_a_row([counted, *(subjects[id_] for id_ in ids if id_ in subjects)], " · ")


def known_kinds() -> dict[str, str]:
    return {
        "ConsentRequested": _("Forms to read and sign"),
        "ConsentCompleted": _("Forms that everyone has signed"),
        "ConsentRevoked": _("Consents withdrawn"),
        "MessageReceived": _("Messages"),
        "AppointmentReminder": _("Appointments"),
        "EpisodeUpdated": _("Treatment updates"),
        "ResultReleased": _("Results"),
        "StorageReminder": _("Storage dates"),
        "PaymentReceived": _("Payments"),
        "PaymentFailed": _("Payments that failed"),
        "AccountSecurity": _("Security of your account"),
        "ProspectReceived": _("Enquiries"),
        "SharingEnded": _("End of sharing"),
        "EmrSyncFailed": _("Connections to other systems"),
    }
