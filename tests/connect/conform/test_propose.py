"""Which proposals and questions `conform` derives from given answers."""

from __future__ import annotations

import json
import tomllib

import pytest
from msgspec.structs import replace

from portal.connect.conform.codes import _meant
from portal.connect.conform.merge import merged
from portal.connect.conform.plausible import doubts
from portal.connect.conform.proposal import Proposal
from portal.connect.conform.propose import propose
from portal.connect.conform.walk import Visit
from portal.connect.dialects.file import parse_dialect
from portal.connect.dialects.rules import Rules
from portal.services.api import AnyEndpoint
from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.physicians import LIST_PHYSICIANS


def visit(endpoint: AnyEndpoint, answer: object) -> Visit:
    return Visit(endpoint, endpoint.answer, 200, "", json.dumps(answer).encode(), "application/json", 0.0)


def proposed(*visits: Visit, rules: Rules | None = None) -> Proposal:
    return propose(visits, as_patient=False, rules=rules)


def forms(*codes: object, **members: object) -> Visit:
    rows = [{"id": str(n), "title": "A form", "status": code, **members} for n, code in enumerate(codes)]
    return visit(LIST_CONSENTS, {"items": rows, "totalCount": len(rows)})


def test_numeric_values_are_not_assumed_to_be_the_portals_own() -> None:
    found = proposed(forms(1, 2, "3"))
    assert [one for one in found.undecided if one.startswith("names.enumerations: values are numbers")]
    assert "# [enumerations.ConsentStatus]  # 1, 2, 3 came, of Draft, Pending, " in found.toml()
    assert "enumerations" not in tomllib.loads(found.toml()).get("names", {})


def test_without_etags_a_missing_stamp_is_told() -> None:
    assert "ConsentForm.concurrencyStamp" in proposed(forms("Signed")).absent


def test_numeric_values_stay_a_question_until_the_dialect_defines_them() -> None:
    counted = parse_dialect('[names]\nenumerations = "integers"')
    assert proposed(forms(1, 2, 3), rules=counted).undecided == []
    partly = parse_dialect("[enumerations.ConsentStatus]\nSigned = 1\nDraft = 2")
    (question,) = proposed(forms("Signed", "Draft", "#3"), rules=partly).undecided
    assert question.startswith("enumerations.ConsentStatus: 3: each one of Pending, ")
    elsewhere = parse_dialect("[enumerations.Channel]\nPortal = 1")
    (question,) = proposed(forms(1, 2), rules=elsewhere).undecided
    assert question.startswith("enumerations.ConsentStatus: 1, 2 came")
    assert proposed(forms("Signed", 2), rules=partly).undecided == [], "2 is in the dialect's table"


def test_a_member_of_every_record_is_not_proposed_for_one() -> None:
    noise = {"_links": {"self": "x"}, "tenantNo": "17"}
    episode = {
        "id": "e",
        "status": "Active",
        "patient": {"id": "p", "address": {"city": "C", **noise}, **noise},
        "appointments": [{"id": "a", "start": "2026-01-01T00:00:00Z", "purpose": "Scan", **noise}],
        "timeline": [{"id": "t", "occurredAt": "2026-01-01T00:00:00Z", **noise}],
        **noise,
    }
    found = proposed(
        visit(READ_EPISODE, episode),
        visit(LIST_PHYSICIANS, {"items": [{"id": "1", "displayName": "Dr A", **noise}]}),
        forms("Signed", **noise),
    )
    assert "tenantNo" not in found.toml()
    assert "#   Appointment.kind: " in found.toml()
    assert not any(one.startswith("Appointment.kind: ") for one in found.undecided), (
        "pages are right without it"
    )


def test_a_word_that_nearly_every_record_has_is_no_members_value() -> None:
    live, gone = {"stand": "LIVE"}, {"stand": "GONE"}
    episode = {
        "id": "e",
        "status": "Active",
        "patient": {"id": "p", "address": {"city": "C", **live}, **live},
        "appointments": [{"id": "a", "start": "2026-01-01T00:00:00Z", "purpose": "Scan", **gone}],
        **live,
    }
    visits = (
        visit(READ_EPISODE, episode),
        visit(LIST_PHYSICIANS, {"items": [{"id": "1", **live}]}),
        forms(1, **live),
    )
    assert "stand" not in proposed(*visits).toml()
    (doubt,) = doubts(visits, Rules())
    assert doubt.about == "lists.deleted" and "stand" in doubt.settle


def test_a_member_of_the_portals_own_that_nearly_every_record_has_is_read() -> None:
    live = {"Status": "Live"}
    episode = {
        "id": "e",
        "patient": {"id": "p", "address": {"city": "C", **live}, **live},
        "appointments": [{"id": "a", "start": "2026-01-01T00:00:00Z", "purpose": "Scan", **live}],
        **live,
    }
    found = proposed(
        visit(READ_EPISODE, episode),
        visit(LIST_PHYSICIANS, {"items": [{"id": "1", **live}]}),
        visit(LIST_CONSENTS, {"items": [{"id": "1", "Status": "Signed"}, {"id": "2", "Status": "Pending"}]}),
    )
    assert found.matches["ConsentForm"].names["status"] == "Status"


def test_records_are_those_of_the_member_that_they_are_like_most() -> None:
    """Rows of who has to sign are like signatures by name, and would be believed to be those."""
    signers = [
        {"Role": role, "PersonNo": "5001", "Name": "Lena", "Order": 1} for role in ("Patient", "Partner")
    ]
    found = proposed(forms("Pending", Signatories=signers)).matches["ConsentForm"]
    assert found.names["requiredSigners"] == "Signatories"
    assert "signatures" not in {**found.names, **found.undecided}


def test_each_list_may_have_a_name_of_its_own_beside_other_objects() -> None:
    beside = {"_links": {"next": {"href": "x"}}, "page": {"totalElements": 1}}
    found = proposed(
        visit(
            LIST_CONSENTS, {**beside, "_embedded": {"forms": [{"id": "1", "title": "F", "status": "Signed"}]}}
        ),
        visit(LIST_PHYSICIANS, {**beside, "_embedded": {"people": [{"id": "1", "displayName": "Dr A"}]}}),
    )
    dialect = tomllib.loads(found.toml())
    assert dialect["lists"]["items"] == {"ConsentForm": "forms", "Physician": "people"}
    assert dialect["lists"]["total"] == "page.totalElements"
    parse_dialect(found.toml())


def test_a_missing_required_member_is_a_question_with_all_fitting_candidates() -> None:
    rows = [{"ref": "1", "caption": "A form", "state": 4, "sentAt": None}]
    found = proposed(visit(LIST_CONSENTS, {"items": rows}))
    asked = {one.partition(":")[0] for one in found.undecided}
    assert {"ConsentForm.id", "ConsentForm.title", "ConsentForm.status"} <= asked
    assert any(one.startswith('ConsentForm.status: one of "state", ') for one in found.undecided)


def test_unread_members_are_listed_with_missing_ones() -> None:
    people = [
        {"id": "1", "displayName": "Dr A", "line": "x", "desk": "y", "ward": "z", "badge": "w", "room": "v"}
    ]
    text = proposed(visit(LIST_PHYSICIANS, {"items": people})).toml()
    (line,) = [one for one in text.splitlines() if one.startswith("#   Physician.title: ")]
    assert "ward" in line
    declared = next(one for one in text.splitlines() if one.startswith("# absent_means_none"))
    assert "Physician.title" not in declared


def test_paths_of_counts_and_lists_start_inside_the_envelope() -> None:
    rows = [{"id": "1", "title": "t", "status": "Signed"}]
    news = [{"id": "1", "title": "t", "isRead": False}]
    found = proposed(
        visit(LIST_CONSENTS, {"payload": {"content": rows, "totalElements": 9}}),
        visit(LIST_NOTIFICATIONS, {"content": news, "totalElements": 1, "unseen": 0}),
    )
    dialect = tomllib.loads(found.toml())
    assert dialect["envelopes"] == {"answers": ["payload"]}
    assert dialect["lists"] == {"items": "content", "total": "totalElements"}
    assert [one for one in found.undecided if one.startswith("lists.")] == [
        'lists.unread: one of "unseen", or none of them?'
    ]


def test_ids_times_and_names_are_recognised_by_similar_names_and_format() -> None:
    patient = "0b0e9bd6-7d1e-4d6a-9f0f-8a1f6f3c2d11"
    rows = [
        {
            "id": str(n),
            "heading": "A form",
            "status": "Signed",
            "patient-ref": patient,
            "created-on": "1780000000000",
        }
        for n in range(3)
    ]
    episode = {
        "id": "e",
        "status": "Active",
        "start-date": "20261123",
        "patient": {"id": "p", "name": {"given": "Amelia", "family": "Hart"}, "mobile": "+44 20 7946 0100"},
    }
    found = proposed(visit(LIST_CONSENTS, {"items": rows}), visit(READ_EPISODE, episode))
    dialect = tomllib.loads(found.toml())
    assert dialect["members"]["ConsentForm"] == {"creationTime": "created-on", "patientId": "patient-ref"}
    assert dialect["members"]["Patient"] == {
        "firstName": "name.given",
        "lastName": "name.family",
        "phoneNumber": "mobile",
    }
    assert dialect["times"] == {"instants": "epoch_ms", "days": "yyyyMMdd"}
    (title,) = [one for one in found.undecided if one.startswith("ConsentForm.title: ")]
    assert "patient-ref" not in title, "an id can't be a title"


def test_a_member_only_acts_send_is_asked_with_a_similar_one_as_example() -> None:
    rows = [{"id": "1", "name": "Dr A", "siteRef": "x", "location-ref": "s1"}]
    found = proposed(visit(LIST_PHYSICIANS, {"items": rows}))
    (asked,) = [one for one in found.undecided if one.startswith("what only acts send")]
    assert 'BookingRequest.locationId "location-ref", as in Physician' in asked


@pytest.mark.parametrize(
    "member",
    [
        {"creationTime": "2026-11-23T09:00:00"},
        {"creationTime": "2026-11-23"},
        {"procedureDate": "2026-11-22T23:00:00Z"},
        {"procedureDate": 1_795_388_400_000},
    ],
)
def test_the_zone_of_times_without_one_is_a_question_until_the_dialect_defines_it(
    member: dict[str, str],
) -> None:
    local = forms("Signed", **member)
    assert [one for one in proposed(local).undecided if one.startswith("times.zone: ")]
    rules = parse_dialect('[times]\nzone = "Etc/UTC"')
    assert not [one for one in proposed(local, rules=rules).undecided if one.startswith("times.zone: ")]


def test_values_in_a_minority_style_are_listed() -> None:
    patient = {"id": "p", "preferredChannel": "EMAIL"}
    episode = {
        "id": "e",
        "status": "on_hold",
        "stage": "luteal_support",
        "outcome": "no_transfer",
        "patient": patient,
    }
    dialect = tomllib.loads(proposed(visit(READ_EPISODE, episode)).toml())
    assert dialect["names"] == {"enumerations": "snake_case"}
    assert dialect["enumerations"] == {"Channel": {"Email": "EMAIL"}}


def test_additions_are_put_into_the_clinics_own_file() -> None:
    own = '# Ours.\n[query]\nFilter = "q"  # by their manual\n\n[members.Patient]\nmrn = "no"\n'
    added = (
        '# decide: something?\nbom = true\n\n[query]\nSorting = "sort"\n\n[members.Patient]\nmrn = "number"\n'
    )
    whole = merged(own, added)
    assert tomllib.loads(whole) == {
        "bom": True,
        "query": {"Filter": "q", "Sorting": "sort"},
        "members": {"Patient": {"mrn": "number"}},
    }
    assert "# by their manual" in whole
    assert whole.startswith("# decide: something?\n\n# Ours.")
    assert merged('members = { Patient = { mrn = "no" } }\n', added) == added, (
        "an inline table can't be extended: only the additions are returned"
    )


def test_what_unlocks_most_is_asked_first_and_no_weak_candidate_stands_alone() -> None:
    rows = [
        {"FormNo": 1, "LegacyKey": "x", "Headline": "A form", "State": 20, "NeededOn": None, "BornHere": True}
        for _row in range(3)
    ]
    found = proposed(visit(LIST_CONSENTS, {"items": rows}))
    first = [one.partition(":")[0] for one in found.undecided][:3]
    assert first == ["ConsentForm.id", "ConsentForm.status", "ConsentForm.title"]
    (id_,) = [one for one in found.undecided if one.startswith("ConsentForm.id")]
    assert '"FormNo"' in id_ and '"LegacyKey"' in id_
    assert not any("NeededOn" in one for one in found.undecided)


def test_records_in_a_bundle_are_found_beside_its_links() -> None:
    entry = [
        {"fullUrl": "urn:x", "resource": {"id": str(n), "title": "A form", "status": "Signed"}}
        for n in range(3)
    ]
    links = [{"relation": "self", "url": "https://x.example/"}]
    found = proposed(visit(LIST_CONSENTS, {"total": 3, "link": links, "entry": entry}))
    assert found.undecided == []
    assert tomllib.loads(found.toml())["lists"] == {"items": "entry", "record": "resource", "total": "total"}
    with_gap = proposed(visit(LIST_CONSENTS, {"total": 3, "link": links, "entry": [*entry, None]}))
    assert with_gap.record == "resource"


def test_an_envelope_of_lists_is_that_of_single_records_and_names_may_begin_with_their_type() -> None:
    form = {"pk": "7", "strTitle": "A form", "codStatus": "SI", "fkEpisode": "e1", "strPatientName": "A"}
    head = {"rc": 0, "srv": "x"}
    found = proposed(
        replace(visit(READ_CONSENT, {"hdr": head, "body": form}), id="7"),
        replace(visit(READ_CONSENT, {"hdr": {"rc": 404}, "body": None}), id="8"),
        visit(LIST_CONSENTS, {"hdr": head, "body": {"rs": [form], "cnt": 1}}),
    )
    assert found.envelopes == ["body"]
    names = tomllib.loads(found.toml())["members"]["ConsentForm"]
    ours = ("id", "title", "status", "episodeId", "patientName")
    assert [names[one] for one in ours] == list(form)
    assert [one for one in found.undecided if "hdr" in one] == []


def test_many_codes_of_its_own_are_one_question() -> None:
    def asked(*kinds: str) -> list[str]:
        patient = {"id": "p", "relationships": []}
        return [
            one
            for one in proposed(
                visit(
                    READ_EPISODE,
                    {
                        "id": "e",
                        "status": "Active",
                        "patient": patient,
                        "relationships": [{"id": kind, "type": kind} for kind in kinds],
                        **dict.fromkeys(("stage", "outcome"), "Q1"),
                        "alerts": [{"severity": "Q1", "text": "x"}],
                        "embryos": [{"id": "s", "embryoCode": "x", "status": "Q1", "disposition": "Q1"}],
                    },
                )
            ).undecided
            if one.startswith("enumerations")
        ]

    (one,) = asked("Q1")
    assert "RelationshipType ('Q1'); Severity ('Q1'): what does each stand for?" in one


def test_an_unread_opposite_is_listed_as_one() -> None:
    rows = [{"id": "1", "title": "A scan", "Unread": True}]
    assert "#   Notification.isRead: !Unread" in proposed(visit(LIST_NOTIFICATIONS, {"items": rows})).toml()


@pytest.mark.parametrize("answer", [None, "x", 7, [], [None], {"items": 3}, {"": 1, "a.b": 2, "!c": True}])
def test_no_answer_stops_it(answer: object) -> None:
    visits = [replace(visit(one, answer), id="1") for one in ALL if one.is_safe and one.answer is not bytes]
    parse_dialect(proposed(*visits).toml())


@pytest.mark.parametrize(
    ("theirs", "is_same"),
    [
        ("Cancelled", True),
        ("Canceled", True),
        ("Cancled", True),  # of the first four letters, nothing else may differ
        ("Canselled", False),
        ("Uncancelled", False),
    ],
)
def test_a_code_that_is_nearly_a_word_is_read_as_it_only_if_it_begins_alike(
    theirs: str, is_same: bool
) -> None:
    assert (_meant(theirs, CareStatus) == "Cancelled") is is_same
