"""The style guide: every component of templates/ui in its states, with invented records. Only in the demo."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, cast

from flask import Blueprint, Response, abort
from markupsafe import Markup
from wtforms import BooleanField, Form, RadioField, SelectField, StringField, TextAreaField
from wtforms.fields import choices

from portal.context import context
from portal.i18n.locale import is_rtl
from portal.services.episodes import Follicles, MonitoringDay
from portal.services.protocols import Check, Medication
from portal.web.alerts import ClinicAlert
from portal.web.drawings.monitoring import monitoring_chart
from portal.web.drawings.schedule import medication_grid
from portal.web.drawings.storage import DatedBar, storage_chart
from portal.web.drawings.week import Column, week
from portal.web.edit_form import Comparison, Difference
from portal.web.filters import long_date, now, today
from portal.web.htmx import render
from portal.web.pages import Page
from portal.web.patient_banner import PatientBanner
from portal.web.static import FOLDER

bp = Blueprint("style_guide", __name__)


def _choice(value: str, label: str) -> Any:
    return cast("Any", choices).SelectChoice(value, label)


class SampleForm(Form):
    """One field of each kind; two of them have errors."""

    straw = StringField("Embryo code", default="GO-3")
    reason = TextAreaField("Why", default="Two lines\nof a reason")
    contact = SelectField(
        "Preferred way to be contacted", choices=[_choice("sms", "Text message"), _choice("email", "E-mail")]
    )
    wish = RadioField(
        "Your wish",
        choices=[_choice("keep", "Keep in storage"), _choice("end-storage", "End storage")],
        default="keep",
    )
    agrees = BooleanField("Send it by text message too")


class StyleGuidePage(Page, template="style_guide.html"):
    """Every component; `form` has one field of each kind, `edit` a record that someone else changed, `someone` is a patient."""

    form: SampleForm
    edit: Comparison
    someone: PatientBanner
    icons: list[str]
    charts: list[tuple[str, Markup | None]]
    an_hour_ago: datetime


@bp.get("/styles")
def show() -> Response:
    """Show every component of the interface in all its states; only in the demo."""
    if not context().settings.demo:
        abort(404)
    form = SampleForm()
    form.reason.errors = ["Write a shorter reason, at most 500 characters."]
    form.wish.errors = ["Choose one of these."]
    page = StyleGuidePage(
        form=form,
        edit=_comparison(),
        someone=_someone(),
        icons=_icons(),
        charts=_charts(rtl=is_rtl()),
        an_hour_ago=now() - timedelta(hours=1),
    )
    return render(page)


def _someone() -> PatientBanner:
    return PatientBanner(
        "Amelia Hart",
        called="Millie",
        born="17 April 1991",
        age="35",
        mrn="RF-10482",
        partner="Daniel Hart",
        alerts=(
            ClinicAlert("attention", "Cetrorelix at the same hour every morning.", "until Sat 28 Nov, 08:00"),
        ),
    )


def _comparison() -> Comparison:
    town = Difference(
        name="town", label="Town or city", was="Bristol", yours="Bath", now="Cardiff", keep="mine"
    )
    return Comparison(
        differences=(town,),
        mine_alone=(("Postcode", "BS1 3XX", "BA1 1AA"),),
        carried=(),
        changed_at=now() - timedelta(minutes=5),
    )


@cache
def _icons() -> list[str]:
    return re.findall(r'<symbol id="([\w-]+)"', (FOLDER / "icons.svg").read_text(encoding="utf-8"))


def _charts(*, rtl: bool) -> list[tuple[str, Markup | None]]:
    day = today()
    working = [
        Column(f"{number + 1}", [(9, 12.5), (13.5, 17)], [(10, 11)], number == 2) for number in range(5)
    ]
    return [
        ("Monitoring", monitoring_chart(_monitoring(day), rtl=rtl)),
        ("Medicines", medication_grid(_medications(), [Check(day=5), Check(day=8)], today=7, rtl=rtl)),
        ("Storage", storage_chart(_storage_dates(day), today=day, write=long_date, rtl=rtl)),
        (
            "A physician’s week",
            week(
                working,
                opens=8,
                closes=18,
                hours=[str(hour) for hour in range(25)],
                title="A physician’s week",
                description="Works 9:00 to 17:00; 10:00 to 11:00 is taken.",
                id_="sample-week",
                rtl=rtl,
            ),
        ),
    ]


def _monitoring(day: date) -> list[MonitoringDay]:
    measured = [
        (2, (5, 4.5, 4), (6, 5, 5), 141, 3.1),
        (5, (9, 8, 7.5, 7), (9.5, 8.5, 8, 8), 786, 5.4),
        (8, (15, 14, 13, 12), (17.5, 17, 14, 12), 3910, 8.4),
    ]
    return [
        MonitoringDay(
            date=day - timedelta(days=9 - cycle_day),
            follicles=Follicles(left=left, right=right),
            cycle_day=cycle_day,
            e2=e2,
            endometrium_mm=lining,
            unit="pmol/L",
        )
        for cycle_day, left, right, e2, lining in measured
    ]


def _medications() -> list[Medication]:
    return [
        Medication(drug="rFSH", dose=225, unit="IU", start_day=1, stop_rule="Until trigger"),
        Medication(drug="Cetrorelix", dose=0.25, unit="mg", start_day=5, end_day=9),
        Medication(drug="hCG", drug_class="hCG trigger", dose=250, unit="µg", start_day=10, end_day=10),
    ]


def _storage_dates(day: date) -> list[DatedBar]:
    return [
        DatedBar("Storage is paid until", day + timedelta(days=200)),
        DatedBar("Storage agreed until", day + timedelta(days=3600)),
        DatedBar("The law allows storage until", day + timedelta(days=20000)),
    ]
