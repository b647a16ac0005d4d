"""docs/dialects.md documents every key of a dialect file, and its example works."""

from __future__ import annotations

import json
import re
from pathlib import Path

from portal.careservice.domain.rules import Rule
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.connect.dialects.tables import KEYS
from portal.services import decoding
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus, SignerRole
from portal.services.decoding import Page
from portal.services.refusal_codes import RULES
from portal.web.refusals import refusal_message

PAGE = (Path(__file__).parents[3] / "docs/dialects.md").read_text(encoding="utf-8")
WITH_KEYS_OF_THEIR_OWN = ("names", "envelopes", "lists", "times", "values", "errors")


def test_the_table_names_every_key() -> None:
    known = {key for key in KEYS[""] if key not in WITH_KEYS_OF_THEIR_OWN}
    known |= {f"{table}.{key}" for table in WITH_KEYS_OF_THEIR_OWN for key in KEYS[table]}
    assert named_in("Keys") == known


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
    into = Page[ConsentForm]
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
