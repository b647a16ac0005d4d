"""What a patient has of each template already: said before one is chosen, so that nobody learns it from a refusal."""

from __future__ import annotations

from datetime import datetime

from flask import url_for
from msgspec.structs import replace

from portal.config.consent_templates import Template, Templates
from portal.folding import folded
from portal.i18n.gettext import _
from portal.services.consents.forms import ONE_PERSON_KINDS, ConsentForm, ConsentKind, SignerRole
from portal.services.listed import Listed
from portal.services.people import happened_at
from portal.services.rules.signing import same_name, still_to_sign
from portal.values import Value
from portal.views.consents.labels import names_of, state_word
from portal.views.consents.signers import Parties
from portal.web.filters import day, isolate


class TemplateState(Value, frozen=True):
    """The patient's newest form of a template, in words; `is_live` if it is open or in force, so that a new one replaces it.

    Without `href`, there is none. `replaces` is the id of a live one. `name` says whose it is where each of a couple has one.
    """

    words: str
    href: str = ""
    replaces: str | None = None
    name: str = ""

    @property
    def is_live(self) -> bool:
        return self.replaces is not None

    @property
    def whose(self) -> str:
        """The name in brackets, for a link that stands beside the other's."""
        return f" ({isolate(self.name)})" if self.name else ""


def states_of(
    templates: Templates, forms: Listed[ConsentForm], about: Parties
) -> dict[str, list[TemplateState]]:
    """Return the states by the templates' names, of each of a couple where each has their own form.

    A template isn't said to be unused where forms may be missing.
    """
    return {name: _states(template, forms, about) for name, template in templates.by_name.items()}


def _states(template: Template, forms: Listed[ConsentForm], about: Parties) -> list[TemplateState]:
    alike = forms.where(lambda form: _name(form.kind, form.title) == _name(template.kind, template.title))
    if not about.partner_name or not _is_for_either(template):
        return [_newest_state(alike, about)]
    couple = ((about.patient, about.patient_name), (about.partner, about.partner_name))
    each = [
        (name, _newest_state(alike.where(lambda form, id_=id_, name=name: _is_of(form, id_, name)), about))
        for id_, name in couple
    ]
    return [
        replace(state, name=name, words=_("%(name)s: %(state)s", name=name, state=state.words))
        for name, state in each
    ]


def _is_for_either(template: Template) -> bool:
    """Whether each of a couple has a form of their own from it."""
    fixed = {SignerRole.PATIENT, SignerRole.PARTNER}
    return ConsentKind(template.kind) in ONE_PERSON_KINDS and not fixed & {*map(SignerRole, template.signers)}


def _is_of(form: ConsentForm, person_id: str | None, name: str) -> bool:
    side = form.patients_side
    return any(person_id == signer.person_id is not None or same_name(signer.name, name) for signer in side)


def _newest_state(alike: Listed[ConsentForm], about: Parties) -> TemplateState:
    """The state of the newest form; one for this treatment before others, one open or signed before one that has ended."""

    def is_other(form: ConsentForm) -> bool:
        return about.episode_id is not None and form.episode_id not in (None, about.episode_id)

    def order(form: ConsentForm) -> tuple[bool, bool, datetime]:
        return not is_other(form), form.is_open or form.is_signed, happened_at(form)

    form = max(alike, key=order, default=None)
    if form is None:
        none = _("never sent") if alike.is_whole else _("not among the forms that could be read")
        return TemplateState(none)
    state = _state(form)
    if not is_other(form):
        return state
    return TemplateState(_("%(state)s, for another treatment", state=state.words), state.href)


def _name(kind: ConsentKind | str | None, title: str) -> tuple[str, str]:
    return str(ConsentKind(str(kind or ""))).casefold(), folded(" ".join(title.split()))


def _state(form: ConsentForm) -> TemplateState:
    href = url_for("consents.show", consent_id=form.id)
    if form.is_signed:
        last = max(
            (signature.signed_at for signature in form.signatures if signature.signed_at),
            default=form.in_force_at,
        )
        return TemplateState(
            _("signed %(day)s", day=day(last)) if last else _("signed"), href, replaces=form.id
        )
    if form.is_open:
        names = "" if form.lacks_signatures else names_of(still_to_sign(form))
        words = _("waits for %(names)s", names=names) if names else state_word(form)
        if names and form.sent_at:
            words = _("sent %(day)s, waits for %(names)s", day=day(form.sent_at), names=names)
        return TemplateState(words, href, replaces=form.id)
    if form.revoked_at:
        return TemplateState(_("%(state)s %(day)s", state=state_word(form), day=day(form.revoked_at)), href)
    return TemplateState(state_word(form), href)
