"""How to reach the people whom forms wait for, because a form has neither number nor address.

It is in their treatment; where a form names none, in any that the session has read. One that it has read within a quarter of an
hour isn't read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flask import Blueprint, g

from portal.context import context
from portal.i18n.gettext import _
from portal.i18n.locale import speaking
from portal.services.consents.forms import CLINIC_ROLES, ConsentForm, Signer
from portal.services.episodes import Episode, get_episode
from portal.services.gather import gather_all
from portal.services.rules.signing import signed_in_another_role, still_to_sign, without_account
from portal.values import Value
from portal.views.consents.labels import names_of
from portal.web.clinic_contact import mail_to
from portal.web.filters import isolate, telephone
from portal.web.handlers import Care, Person, audit
from portal.web.known_people import CURRENT_SECONDS, KnownPerson, known_people, people_of
from portal.web.locale_selector import language_of

bp = Blueprint("contacts", __name__)

_MOST = 25
"""How many treatments are read for one page."""


class Awaited(Value, frozen=True):
    """Somebody whose signature is missing; `number`, `email` and `language` are empty where they aren't known.

    `lacks` says why there are none: "unknown", or "unread" if what may give them couldn't be read.
    The clinic stands for who has signed in another role, for it has to record this one.
    """

    name: str
    has_account: bool = True
    number: str = ""
    email: str = ""
    lacks: str = ""
    language: str = ""


@bp.app_template_filter("why_unreachable")
def why_unreachable(awaited: Awaited) -> str:
    """Why neither number nor address is known."""
    words = {"unknown": _("no number known"), "unread": _("the number couldn’t be read")}
    return words.get(awaited.lacks, "")


@bp.app_template_filter("neutral_mail")
def neutral_mail(awaited: Awaited) -> str:
    """A `mailto:` address (RFC 6068) whose text doesn't say what it is about, for other people may read it.

    It is in the language that the person's record names, or else in the clinic's first.
    """
    with speaking(language_of(awaited.language)):
        text = _("Hello,\n\nsomething in your portal waits for you. Please sign in as usual and have a look.")
        if contact := g.tenant.contact:
            number = isolate(telephone(contact.telephone))
            text += "\n\n" + _("If you have a question, call us on %(number)s.", number=number)
        return mail_to(awaited.email, _("Something waits for you"), text)


class Contacts(Value, frozen=True):
    """What is known of people by their treatment and the id that they sign with; `unread` are treatments that failed.

    With None for a treatment, it is what was read of them last.
    """

    people: dict[tuple[str | None, str], KnownPerson]
    unread: frozenset[str]
    is_asked: bool

    def of(self, form: ConsentForm, person: Person) -> tuple[Awaited, ...]:
        """Who hasn't signed the form, in the order of signing; those outside the clinic with how to reach them.

        Nobody where it isn't told who has signed.
        """
        if form.lacks_signatures:
            return ()
        accountless, twice = without_account(form, person), signed_in_another_role(form)
        found: list[Awaited] = []
        for signer in form.missing_signers:
            is_outside = signer.role not in CLINIC_ROLES and signer not in twice
            number, email, spoken = self._of(form, signer) if is_outside else ("", "", "")
            name = signer.name or names_of((signer,))
            found.append(
                Awaited(
                    name=_("The clinic: %(name)s has signed in another role", name=isolate(name))
                    if signer in twice
                    else name,
                    has_account=signer in twice or signer not in accountless,
                    number=number,
                    email=email,
                    language=spoken,
                    lacks=self._why_unknown(form) if is_outside and not (number or email) else "",
                )
            )
        return tuple(found)

    def _of(self, form: ConsentForm, signer: Signer) -> tuple[str, str, str]:
        """Telephone, e-mail and language, empty where they aren't known."""
        known = self.people.get((form.episode_id, signer.person_id)) if signer.person_id else None
        return (known.phone, known.email, known.language) if known else ("", "", "")

    def _why_unknown(self, form: ConsentForm) -> str:
        if not self.is_asked:
            return ""
        return "unread" if form.episode_id in self.unread else "unknown"


NO_CONTACTS = Contacts({}, frozenset(), is_asked=False)


def read_contacts(care: Care, forms: Sequence[ConsentForm]) -> Contacts:
    """Read how to reach those whom these forms wait for, side by side."""
    now = context().clock()
    current = [person for person in known_people() if now - person.read_at < CURRENT_SECONDS]
    have = {person.episode_id for person in current}
    wanted = {form.episode_id: None for form in forms if form.episode_id and _waits_outside(form)}
    to_read = [id_ for id_ in wanted if id_ not in have][:_MOST]
    answers = gather_all([partial(get_episode, care, id_) for id_ in to_read])
    read = [answer for answer in answers if isinstance(answer, Episode)]
    people = [*reversed(current), *(person for episode in read for person in people_of(episode, at=now))]
    known: dict[tuple[str | None, str], KnownPerson] = {
        (treatment, id_): person
        for person in people
        for id_ in (person.account, person.patient_id)
        for treatment in (person.episode_id, None)
    }
    elsewhere = {
        known[None, id_].episode_id: None
        for form in forms
        if form.episode_id is None
        for id_ in _waiting_outside(form)
        if (None, id_) in known
    }
    told = have | {episode.id for episode in read}
    audit.shown("episode.list", "episode", [id_ for id_ in wanted | elsewhere if id_ in told])
    return Contacts(people=known, unread=frozenset(wanted) - told, is_asked=True)


def _waits_outside(form: ConsentForm) -> bool:
    return any(signer.role not in CLINIC_ROLES for signer in still_to_sign(form))


def _waiting_outside(form: ConsentForm) -> list[str]:
    """The ids of those outside the clinic whose signature is missing."""
    signers = (signer for signer in still_to_sign(form) if signer.role not in CLINIC_ROLES)
    return [signer.person_id for signer in signers if signer.person_id]
