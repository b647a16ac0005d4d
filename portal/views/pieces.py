"""What the living page of all pieces shows in them: a form of each kind of field, a conflict, pictures from made-up records."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

from markupsafe import Markup
from wtforms import BooleanField, Form, RadioField, SelectField, StringField, TextAreaField
from wtforms.fields import choices

from portal.services.records import Check, Follicles, Medication, MonitoringDay
from portal.web.drawings.monitoring import monitoring_chart
from portal.web.drawings.schedule import medication_grid
from portal.web.drawings.storage import Reach, storage_reaches
from portal.web.drawings.week import Column, week
from portal.web.filters import long_date, now, today
from portal.web.static import FOLDER


def _choice(value: str, label: str) -> Any:
    return cast("Any", choices).SelectChoice(value, label)


class Fields(Form):
    """One field of each kind; two of them are wrong."""

    straw = StringField("Embryo code", default="GO-3")
    reason = TextAreaField("Why", default="Two lines\nof a reason")
    contact = SelectField(
        "How to contact first", choices=[_choice("sms", "Text message"), _choice("email", "E-mail")]
    )
    wish = RadioField(
        "Your wish", choices=[_choice("keep", "Keep in storage"), _choice("let-go", "Let go")], default="keep"
    )
    agrees = BooleanField("Send it by text message too")


def pieces(*, rtl: bool) -> dict[str, Any]:
    """Return what the page is rendered with."""
    form = Fields()
    form.reason.errors = ["Write a shorter reason, at most 500 characters."]
    form.wish.errors = ["Choose one of these."]
    return {
        "form": form,
        "edit": _conflict(),
        "icons": _icons(),
        "pictures": _pictures(rtl=rtl),
        "an_hour_ago": now() - timedelta(hours=1),
    }


def _conflict() -> SimpleNamespace:
    town = SimpleNamespace(
        id="conflict-town",
        label="Town or city",
        was="Bristol",
        yours="Bath",
        now="Cardiff",
        keep="mine",
        error=None,
    )
    return SimpleNamespace(
        errors=[],
        changed_at=now() - timedelta(minutes=5),
        carried=[],
        differences=[town],
        mine_alone=[("Postcode", "BS1 3XX", "BA1 1AA")],
    )


@cache
def _icons() -> list[str]:
    return re.findall(r'<symbol id="([\w-]+)"', (FOLDER / "icons.svg").read_text(encoding="utf-8"))


def _pictures(*, rtl: bool) -> list[tuple[str, Markup | None]]:
    day = today()
    working = [
        Column(f"{number + 1}", [(9, 12.5), (13.5, 17)], [(10, 11)], number == 2) for number in range(5)
    ]
    return [
        ("Monitoring", monitoring_chart(_monitoring(day), rtl=rtl)),
        ("Medicines", medication_grid(_medications(), [Check(day=5), Check(day=8)], today=7, rtl=rtl)),
        ("Storage", storage_reaches(_reaches(day), today=day, write=long_date, rtl=rtl)),
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


def _reaches(day: date) -> list[Reach]:
    return [
        Reach("Storage is paid until", day + timedelta(days=200)),
        Reach("You agreed to storage until", day + timedelta(days=3600)),
        Reach("The law allows storage until", day + timedelta(days=20000)),
    ]
