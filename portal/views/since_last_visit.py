"""What has come into a patient's treatments and forms since their last visit, each a link to it; what couldn't be read isn't told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial

from flask import url_for
from markupsafe import Markup

from portal.config.modules import Module
from portal.i18n.gettext import _, ngettext
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.episodes import Appointment, MonitoringDay, TimelineEvent
from portal.services.pgt_results import PgtBrief
from portal.services.rules.signing import same_name
from portal.state.session_records import Person
from portal.values import Value
from portal.views.episodes.documents import Paper
from portal.views.episodes.view import EpisodeView
from portal.web.filters import day, in_a_row, local, now
from portal.web.labels import event_title, visit_kind
from portal.web.last_visit import LastVisit, note_visit
from portal.web.modules import has_module
from portal.web.text_language import with_lang
from portal.web.visit_times import visit_doubt, visit_time

Id = tuple[str, ...]
_SCAN_WORDS = (
    *("scan", "ultraso", "sonogra", "blood", "monitor"),
    *("ecograf", "ecógraf", "análisis", "sangre", "سونار", "الدم"),
)
"""An event that tells what its day's measurements tell."""


class Row(Value, frozen=True):
    """One thing, or several of a kind: a title, a quiet line, and where it leads."""

    title: str | Markup
    meta: str | Markup
    href: str


class SinceLastVisit(Value, frozen=True):
    """What has come since the last visit, when that ended, and the forms among it."""

    ended_at: datetime
    rows: tuple[Row, ...]
    form_ids: tuple[str, ...]


class _Kind(Value, frozen=True):
    """The things of one kind in one treatment or form (`within`), each with what makes its row, and the row of several of them.

    A thing without a row is told by another's, and has been seen with it.
    """

    within: Id
    things: tuple[tuple[Id, Callable[[], Row] | None], ...]
    several: Callable[[int], Row]

    @property
    def ids(self) -> set[Id]:
        return {self.within, *(id_ for id_, _row_of in self.things)}

    def new_row(self, visit: LastVisit) -> Row | None:
        """What of it is new; nothing in a treatment or form that is new itself, which stands on the page."""
        if not visit.showed(*self.within):
            return None
        new = [row_of for id_, row_of in self.things if row_of and not visit.showed(*id_)]
        if len(new) > 1:
            return self.several(len(new))
        return new[0]() if new else None


def note_and_compare(
    person: Person, views: Iterable[EpisodeView], forms: Sequence[ConsentForm]
) -> SinceLastVisit | None:
    """Note what this look at the home page shows, and return what of it is new; None if nothing is, and on a first visit."""
    treatments = [kind for view in views for kind in _of(view)]
    signed = {form.id: _signatures(form, person) for form in forms if form.status != ConsentStatus.DRAFT}
    shown = set[Id]().union(*(kind.ids for kind in (*treatments, *signed.values())))
    visit = note_visit(person, shown, now())
    if visit is None:
        return None
    new_signed = {id_: row for id_, kind in signed.items() if (row := kind.new_row(visit))}
    rows = [row for kind in treatments if (row := kind.new_row(visit))] + [*new_signed.values()]
    return SinceLastVisit(visit.ended_at, tuple(rows), tuple(new_signed)) if rows else None


def _of(view: EpisodeView) -> Iterator[_Kind]:
    id_ = view.episode.id
    within = ("treatment", id_)
    if has_module(Module.RESULTS):
        yield _results(view, within)
    if has_module(Module.CHARTS):
        yield _scans(view, within)
    visits = url_for("episodes.appointments", episode_id=id_)
    yield _Kind(
        within,
        tuple(
            (
                (
                    *("visit", visit.id, visit.start.isoformat(), visit.location or ""),
                    *(("tentative",) if visit.is_tentative else ()),
                ),
                partial(_visit, visit, visits),
            )
            for visit in view.upcoming
        ),
        lambda count: Row(ngettext("%(num)s appointment", "%(num)s appointments", count), "", visits),
    )
    yield _Kind(
        within,
        tuple(
            (("visit", visit.id, visit.start.isoformat(), "cancelled"), partial(_cancelled, visit, visits))
            for visit in view.cancelled_ahead
        ),
        lambda count: Row(
            ngettext("%(num)s appointment was cancelled", "%(num)s appointments were cancelled", count),
            "",
            visits,
        ),
    )
    yield _events(view, within)
    yield _Kind(
        within,
        tuple((("paper", paper.href), partial(_paper, paper)) for paper in view.papers),
        lambda count: Row(
            ngettext("%(num)s document", "%(num)s documents", count),
            "",
            url_for("episodes.documents", episode_id=id_),
        ),
    )


def _visit(visit: Appointment, href: str) -> Row:
    words = in_a_row(filter(None, (visit_time(visit), visit_doubt(visit))), " · ")
    return Row(visit_kind(visit.kind) or _("Appointment"), words, href)


def _cancelled(visit: Appointment, href: str) -> Row:
    kind = visit_kind(visit.kind) or _("Appointment")
    return Row(_("Appointment cancelled"), in_a_row((kind, visit_time(visit)), " · "), href)


def _paper(paper: Paper) -> Row:
    return Row(with_lang(paper.title), paper.kind or _("Document"), paper.href)


def _results(view: EpisodeView, within: Id) -> _Kind:
    return _Kind(
        within,
        tuple(
            (("result", test.id, str(test.status), str(test.call)), partial(_result, test))
            for test in view.episode.pgt_results
            if test.is_released
        ),
        lambda count: Row(
            ngettext("Result of %(num)s genetic test", "Results of %(num)s genetic tests", count),
            "",
            url_for(
                "episodes.embryos" if has_module(Module.STORAGE) else "episodes.show",
                episode_id=view.episode.id,
            ),
        ),
    )


def _result(test: PgtBrief) -> Row:
    href = url_for("pgt_results.show", result_id=test.id)
    return Row(_("Result of a genetic test"), with_lang(test.embryo_code), href)


def _scans(view: EpisodeView, within: Id) -> _Kind:
    id_ = view.episode.id
    scans = url_for("episodes.monitoring", episode_id=id_)
    return _Kind(
        within,
        tuple(
            (("scan", id_, measured.date.isoformat(), _values(measured)), partial(_scan, measured, scans))
            for measured in view.measurements.days
        ),
        lambda count: Row(
            ngettext("%(num)s scan or blood test", "%(num)s scans or blood tests", count), "", scans
        ),
    )


def _values(measured: MonitoringDay) -> str:
    """What was measured: a day's blood test comes hours after its scan, or is corrected."""
    return repr((measured.sizes, measured.endometrium_mm, measured.e2, measured.lh, measured.p4))


def _scan(measured: MonitoringDay, href: str) -> Row:
    return Row(_("Scan or blood test"), day(measured.date), href)


def _names_scan(event: TimelineEvent) -> bool:
    told = f"{event.kind} {event.title}".casefold()
    return any(word in told for word in _SCAN_WORDS)


def _events(view: EpisodeView, within: Id) -> _Kind:
    """What happened, but for the events of scans that are told as such."""
    scanned = {measured.date for measured in view.measurements.days}
    timeline = url_for("episodes.timeline", episode_id=view.episode.id)
    return _Kind(
        within,
        tuple(
            (
                ("event", event.id),
                None
                if event.occurred_at and local(event.occurred_at).date() in scanned and _names_scan(event)
                else partial(_event, event, timeline),
            )
            for event in view.events
        ),
        lambda count: Row(
            ngettext("%(num)s entry in the timeline", "%(num)s entries in the timeline", count), "", timeline
        ),
    )


def _event(event: TimelineEvent, href: str) -> Row:
    at = day(event.occurred_at) if event.occurred_at else _("Timeline")
    return Row(event_title(event.title), at, href)


def _signatures(form: ConsentForm, person: Person) -> _Kind:
    """What the others signed; a signature in the reader's own name is theirs, whatever account it is recorded for."""
    own = form.signature_of(person.sub)
    return _Kind(
        ("form", form.id),
        tuple(
            (
                ("signature", form.id, str(signature.role), signature.person_id or signature.name),
                partial(_signature, form, signature.name),
            )
            for signature in form.signatures
            if signature.name
            and signature != own
            and signature.person_id != person.sub
            and not same_name(signature.name, person.name)
        ),
        lambda count: _signed(
            form, ngettext("%(num)s person has signed", "%(num)s people have signed", count)
        ),
    )


def _signature(form: ConsentForm, name: str) -> Row:
    return _signed(form, _("%(name)s has signed", name=name))


def _signed(form: ConsentForm, words: str) -> Row:
    title = with_lang(form.title, form.language) or _("Consent form")
    return Row(title, words, url_for("consents.show", consent_id=form.id))
