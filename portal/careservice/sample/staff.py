"""The sample clinics' physicians with their schedules, prospects, and connections to their EMR."""

from __future__ import annotations

from portal.careservice.domain.emr_endpoints import EmrEndpoint
from portal.careservice.domain.enumerations import DayOfWeek, ProspectStatus, Severity
from portal.careservice.domain.physicians import BusyTime, Physician, WorkingHours
from portal.careservice.domain.prospects import Prospect, details_for_staff
from portal.careservice.ids import sample_id
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic

_WEEK = (DayOfWeek.MONDAY, DayOfWeek.TUESDAY, DayOfWeek.WEDNESDAY, DayOfWeek.THURSDAY, DayOfWeek.FRIDAY)
_PHYSICIANS = {
    "riverside": (
        ("victor", None, "Consultant", "Reproductive medicine", "Quayside", "#0b6e4f", _WEEK),
        (
            "leila",
            "Leïla Benhamou-Świątek",
            "Consultant",
            "Reproductive surgery",
            "Quayside",
            "#7a3b8f",
            _WEEK[:3],
        ),
        ("siobhan", "Siobhán O’Rourke", "Specialist", "Andrology", "Harbourside", "#1d5c8f", _WEEK[1:]),
        (
            "kenji",
            "Kenji Watanabe 渡辺健司",
            "Specialist",
            "Reproductive genetics",
            "Quayside",
            "#8f5c1d",
            _WEEK[2:],
        ),
    ),
    "harbour": (("amina", "Amina Yusuf", "Consultant", "Reproductive medicine", "Pier", "#1d5c8f", _WEEK),),
}


def physician_id(key: str) -> str:
    """The id of a sample physician."""
    return sample_id("physician", key)


def physician_name(clinic: Clinic, key: str) -> str:
    """The name of a sample physician, as in a care team."""
    named = {row[0]: row[1] for row in _PHYSICIANS[clinic.name]}
    return f"Dr {named[key] or WITH_LOG_IN[key].name}"


def add_physicians(clinic: Clinic) -> None:
    """Add physicians with their working hours, and busy times in the weeks around now."""
    for key, name, title, specialty, place, color, days in _PHYSICIANS[clinic.name]:
        hours = [
            WorkingHours(day_of_week=day, start=start, end=end)
            for day in days
            for start, end in (("09:00", "12:30"), ("13:30", "17:00"))
        ]
        clinic.session.add(
            Physician(
                id=physician_id(key),
                tenant_id=clinic.id,
                person_id=WITH_LOG_IN[key].id if key in WITH_LOG_IN else None,
                name=f"Dr {name or WITH_LOG_IN[key].name}",
                title=title,
                specialty=specialty,
                location_id=sample_id("location", place),
                location_name=place,
                time_zone=clinic.time_zone,
                color=color,
                working_hours=hours,
                busy=_busy(clinic, key, days),
            )
        )


def _busy(clinic: Clinic, key: str, days: tuple[DayOfWeek, ...]) -> list[BusyTime]:
    taken = (("09:00", "10:30"), ("11:00", "11:30"), ("14:00", "15:15"))
    times: list[BusyTime] = []
    for offset in range(-7, 29):
        if list(DayOfWeek)[clinic.day(offset).isoweekday() % 7] in days:
            start, end = taken[(offset + len(key)) % 3]
            times.append(
                BusyTime(
                    id=sample_id("busy", f"{key}-{offset}"),
                    start=clinic.at(offset, start),
                    end=clinic.at(offset, end),
                )
            )
    return times


_PROSPECTS = (
    (
        "ines",
        "Inês",
        "Gonçalves",
        "ines.g@enquiry.example",
        "+447700900411",
        "Web form",
        ProspectStatus.NEW,
        "Egg freezing",
    ),
    (
        "ines-again",
        "Ines",
        "Goncalves",
        "ines.goncalves@mail.example",
        None,
        "Phone",
        ProspectStatus.CONTACTED,
        None,
    ),
    (
        "tomasz",
        "Tomasz",
        "Wójcik",
        None,
        "+447700900412",
        "Referral",
        ProspectStatus.QUALIFIED,
        "ICSI, two earlier cycles",
    ),
    (
        "noor",
        "نور",
        "الهاشمي",
        "noor@enquiry.example",
        "+447700900413",
        "Web form",
        ProspectStatus.NEW,
        "IVF",
    ),
    (
        "ruth",
        "Ruth",
        "O'Neill",
        "ruth.oneill@enquiry.example",
        None,
        "Open evening",
        ProspectStatus.LOST,
        "IUI",
    ),
)


def add_prospects(clinic: Clinic) -> None:
    """Add prospects of several statuses, two of them the same person, and notify those who deal with them."""
    made = {
        key: Prospect(
            id=sample_id("prospect", key),
            tenant_id=clinic.id,
            first_name=first,
            last_name=last,
            email=email,
            phone_number=phone,
            source=source,
            status=status,
            interest=interest,
        )
        for key, first, last, email, phone, source, status, interest in _PROSPECTS
    }
    clinic.session.add_all(made.values())
    for person in ("colin", "ada", "nora"):
        clinic.notify(
            WITH_LOG_IN[person],
            "ProspectReceived",
            "Two enquiries may be from one person",
            "Please compare them and merge them if they are.",
            ago=0.3,
            severity=Severity.WARNING,
            about=("Prospect", sample_id("prospect", "ines")),
            data={
                "mergeId": sample_id("prospect", "ines-again"),
                **details_for_staff(made["ines"]),
                **details_for_staff(made["ines-again"], "merge"),
            },
        )
        clinic.notify(
            WITH_LOG_IN[person],
            "ProspectReceived",
            "A new enquiry came in",
            "Somebody would like a first appointment.",
            ago=1.2,
            about=("Prospect", sample_id("prospect", "noor")),
            data=details_for_staff(made["noor"]),
        )


def add_emr_endpoints(clinic: Clinic) -> None:
    """Add an idle connection and one that is synchronizing, and notify the administrator of a failure."""
    for key, name, syncing in (("legacy", "Old laboratory system", False), ("main", "Hospital EMR", True)):
        clinic.session.add(
            EmrEndpoint(
                id=sample_id("emr-endpoint", f"{clinic.name}-{key}"),
                tenant_id=clinic.id,
                name=name,
                address=f"https://{key}.emr.{clinic.name}.example/fhir",
                is_syncing=syncing,
            )
        )
    if clinic.name == "riverside":
        clinic.notify(
            WITH_LOG_IN["ada"],
            "EmrSyncFailed",
            "A connection has stopped working",
            "“Old laboratory system” has not answered for three days.",
            ago=2.0,
            severity=Severity.URGENT,
            about=("EmrEndpointConfig", sample_id("emr-endpoint", "riverside-legacy")),
            data={"name": "Old laboratory system", "address": "https://legacy.emr.riverside.example/fhir"},
        )
