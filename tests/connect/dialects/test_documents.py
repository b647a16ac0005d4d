"""docs/dialects.md documents every key of a dialect file, and its example works."""

from __future__ import annotations

import json
import re
from pathlib import Path

from portal.careservice.domain.rules import Rule
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.documents import skeleton
from portal.connect.dialects.file import parse_dialect
from portal.connect.dialects.named_records import query_names, records
from portal.connect.dialects.rules import Rules
from portal.services import decoding
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus, SignerRole
from portal.services.decoding import PagedResult
from portal.services.members import members_of
from portal.services.refusal_codes import RULES
from portal.web.refusals import refusal_message

PAGE = (Path(__file__).parents[3] / "docs/dialects.md").read_text(encoding="utf-8")


def test_the_skeleton_changes_nothing_and_every_line_of_it_can_be_used() -> None:
    text = skeleton()
    assert parse_dialect(text) == Rules()
    used = re.sub(r"^# (?=\[|[\w\"-]+ = )", "", text, flags=re.MULTILINE)
    rules = parse_dialect(used)
    assert rules.concurrency == "etag"
    for name, shape in records().items():
        assert f"[members.{name}]\n" in used
        assert set(rules.members[name]) == {one.name for one in members_of(shape)}
    assert set(rules.errors.codes.values()) == {*RULES}
    assert {*rules.query} == {*query_names()}


def test_all_rules_are_documented_and_have_a_message() -> None:
    missing = set(Rule) - set(RULES)
    assert not missing, f"add {missing} to RULES in portal/services/refusal_codes.py"
    assert named_in("Error codes") == set(RULES), "the error codes of docs/dialects.md aren't those of RULES"
    unknown = refusal_message("NoSuchRule")
    assert {rule for rule in RULES if refusal_message(rule) == unknown} == {"ConcurrencyConflict"}


def named_in(heading: str) -> set[str]:
    """What a chapter's table names."""
    chapter = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w.]+)` \|", chapter, re.MULTILINE))


def test_the_example_is_read_by_its_dialect() -> None:
    example = PAGE.partition("## A worked example")[2]
    answer = re.findall(r"```json\n(.*?)```", example, re.DOTALL)[0]
    dialect = Dialect(parse_dialect(re.findall(r"```toml\n(.*?)```", example, re.DOTALL)[0]))
    into = PagedResult[ConsentForm]
    page = decoding.decode(answer.encode(), into, dialect.translation(into))
    form = page.items[0]
    assert (page.total, form.id, form.title) == (1, "4711", "Storage of embryos")
    assert form.status is ConsentStatus.PENDING
    assert str(form.sent_at) == "2026-11-21 09:30:00+00:00"
    assert str(form.procedure_date) == "2026-12-04"
    assert form.required_signers[0].role is SignerRole.PATIENT
    assert form.concurrency_stamp == "AAAB"
    assert json.loads(answer)["data"][0]["row_version"] == "AAAB"
    asked = dialect.query(LIST_CONSENTS, {"SkipCount": 0, "MaxResultCount": 20, "Filter": "storage"})
    assert asked == {"page": "1", "size": "20", "q": "storage"}
    assert dialect.template(LIST_CONSENTS) == "/fertility/v3/clinical/consent-forms"
