"""What `conform` says before two other vendors' APIs, whose every difference is known: nothing false, and nothing unsaid."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from portal.config.variables import Timeouts
from portal.connect.conform.command import Options, _found  # pyright: ignore[reportPrivateUsage]
from portal.connect.conform.judge import judge
from portal.connect.conform.plausible import doubts
from portal.connect.conform.report import Report
from portal.connect.conform.sealed_summary import is_sealed, summary
from portal.connect.conform.sign_in import HeldToken
from portal.connect.conform.walk import rules_of
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.http import transport
from portal.services.client import Care
from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE
from tests.pages.test_facts import EPISODE, HERS, ONE_EPISODE, PENDING
from tests.support.fake_api import FakeApi, samples
from tests.support.vendors import VENDORS, Vendor, VendorsApi

ANSWERS = {
    "fiord": """
[query]
PatientId = "PatientId"
CaseId = "CaseId"
EpisodeId = "EpisodeId"
Status = "Status"
IsRead = "IsRead"
Type = "Type"
LocationId = "LocationId"
IncludeArchived = "IncludeArchived"
From = "From"
To = "To"
""",
    "lattice": """
[members.Prospect]
firstName = "firstName"
lastName = "lastName"
email = "email"
phoneNumber = "phoneNumber"
[query]
Type = "type"
LocationId = "location-id"
From = "from"
To = "to"
""",
}
"""What the vendor says to the questions."""

NONE_OMITTED = (
    "ConsentForm.effectiveAt",
    "ConsentForm.revokedAt",
    "ConsentForm.signatures",
    "ConsentForm.supersededById",
    "Notification.data",
)
"""What the second leaves out where there is nothing."""


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    return request.param


def report(vendor: Vendor, dialect: str, monkeypatch: pytest.MonkeyPatch) -> Report:
    fake = FakeApi()
    api = VendorsApi(fake, vendor)
    listed = [one["id"] for one in PENDING[LIST_CONSENTS]["items"]]
    talks = samples(LIST_CONVERSATIONS)
    for one in talks["items"]:
        one |= {"replyAddress": {"email": "reply@clinic.example", "sms": "+442079460120"}, "episodeId": "e-1"}
    briefs = [{**one, "id": id_} for one, id_ in zip(EPISODE["consentForms"], listed, strict=True)]
    for row, answer in (HERS | ONE_EPISODE | PENDING | {LIST_CONVERSATIONS: talks}).items():
        fake.gives(row, {**EPISODE, "consentForms": briefs} if row is READ_EPISODE else answer)
    monkeypatch.setattr(transport, "send", api.send)
    monkeypatch.setattr(transport, "stream", api.stream)
    care = Care(
        base_url="http://api.localhost",
        bearer=HeldToken("t"),
        timeouts=Timeouts(),
        deadline=time.monotonic() + 600,
        language="en",
        correlation_id="c",
        references=None,
        adapter=Dialect(parse_dialect(dialect)),
        partition=("i", "t", "s", ""),
    )
    rules = rules_of(care)
    visits, proposal = _found(care, Options("riverside"), as_patient=False)
    return Report(
        clinic="riverside",
        base_url=care.base_url,
        side="staff",
        verdicts=judge(visits, as_patient=False, accepted=rules.accepted),
        proposal=proposal,
        doubts=tuple(one for one in doubts(visits, rules) if one.about not in rules.accepted),
        accepted=rules.accepted,
    )


def test_the_questions_are_few_and_nothing_false_is_said(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = report(vendor, vendor.dialect, monkeypatch)
    assert len(found.proposal.undecided) <= 12, found.proposal.undecided
    assert not [one for one in found.proposal.undecided if "one of" in one], "a wrong candidate"
    for verdict in found.verdicts:
        assert not verdict.values and not verdict.other_type and not verdict.unreadable, verdict.endpoint
        assert set(verdict.missing) <= set(NONE_OMITTED if vendor.name == "lattice" else ())
    assert not found.doubts


def test_from_addresses_alone_the_questions_are_few(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = re.split(r"(?m)^(?=\[)", vendor.dialect)
    addresses = [one for one in tables if one.startswith(("base_path", "[addresses]", "[methods]"))]
    found = report(vendor, "".join(addresses), monkeypatch)
    assert 0 < len(found.proposal.undecided) <= 6, found.proposal.undecided


def test_the_end_is_within_reach_and_can_be_filed(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    heads, _, rest = vendor.dialect.partition("[addresses]")
    said = f"accepted = {list(NONE_OMITTED)}\n".replace("'", '"') + heads + "[addresses]" + rest
    members, _, query = ANSWERS[vendor.name].partition("[query]")
    said = said.replace("[query]", f"{members}[query]{query}")
    found = report(vendor, said, monkeypatch)
    assert found.status == 0, found.text()
    (tmp_path / "d.toml").write_text(said)
    filed = summary(found, tmp_path / "d.toml", "key", time.time())
    assert is_sealed(filed, ["other", "key"]) and not is_sealed(filed.replace(b"staff", b"stuff"), ["key"])
