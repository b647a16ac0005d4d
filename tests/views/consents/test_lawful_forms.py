"""Forms have what the law of the clinic's country asks: parenthood and storage one person each, and what the text says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portal.careservice.ids import sample_id
from portal.config.consent_templates import Template, load
from portal.config.consent_templates.law import Law, law_of
from portal.views.consents.lawful import template_faults
from tests.support.signing import TREATMENT_OF_AMELIA, change_record, fresh_form

FILL = "/consents/new/fill"
STORAGE = load(None, "GB").by_name["storage"]


@pytest.fixture
def nora(portal: Any) -> Any:
    return portal.sign_in("nora")


def template(nora: Any, name: str) -> Any:
    return nora.get(f"/consents/new?template={name}&episode={TREATMENT_OF_AMELIA}")


def with_own(law: Law, own: Template) -> dict[str, str]:
    found = load(None, "GB")
    return template_faults(replace(found, by_name={"own": own}, law=law))


@pytest.mark.parametrize("country", ["GB", "ES", "US", None])
def test_the_bundled_templates_fulfil_their_countrys_rules(country: str | None) -> None:
    found = load(None, country)
    assert not found.broken and template_faults(found) == {}


def test_a_witness_signs_after_whom_they_saw_sign() -> None:
    witnessed = [one for one in load(None, "GB").by_name.values() if "Witness" in one.signers]
    assert {one.order for one in witnessed} == {"Sequential"}


@pytest.mark.parametrize("country", ["US", None])
def test_only_a_countrys_pack_says_what_the_law_sets(country: str | None) -> None:
    for name, one in load(None, country).by_name.items():
        text = msgspec.json.encode(one).decode()
        assert "by law" not in text.casefold() and "55 years" not in text, name


def test_each_rule_names_its_paragraph() -> None:
    for country in ("GB", "ES"):
        assert all(any(letter.isdigit() for letter in rule.law) for rule in law_of(country).rules)


@pytest.mark.parametrize(
    ("matter", "said"),
    [
        ("use", "what the embryos may be used for"),
        ("period", "how long they are stored"),
        ("death", "what happens if the person dies"),
        ("incapacity", "what happens if the person can no longer decide"),
    ],
)
def test_a_storage_template_without_what_the_law_asks_is_refused_in_words(matter: str, said: str) -> None:
    clauses = tuple(clause for clause in STORAGE.clauses if matter not in clause.covers)
    words = with_own(law_of("GB"), msgspec.structs.replace(STORAGE, clauses=clauses))["own"]
    assert said in words and "Schedule 3" in words
    assert with_own(Law(), msgspec.structs.replace(STORAGE, clauses=clauses)) == {}


def test_a_joint_storage_template_is_refused_anywhere() -> None:
    joint = msgspec.structs.replace(STORAGE, signers=("Patient", "Partner"))
    assert "One person signs" in with_own(Law(), joint)["own"]


def test_parenthood_is_a_womans_and_a_partners_form_each_with_its_own_statement(nora: Any) -> None:
    hers = template(nora, "legal-parenthood-woman").form(FILL).submit(check_all=True)
    assert "I consent to Daniel Hart being the legal parent" in hers.words
    his = template(nora, "legal-parenthood-partner").form(FILL).submit(check_all=True)
    assert "I consent to being the legal parent of any child born from Amelia Hart" in his.words
    assert "I consent to Daniel Hart being" not in his.words
    form = his.form("/consents/new").submit()
    signers = [one.words for one in form.select("#signers li, .signers li")]
    assert not any("Amelia" in one for one in signers)


def test_parenthood_is_refused_for_own_eggs_and_sperm_unless_staff_say_otherwise(nora: Any) -> None:
    page = template(nora, "legal-parenthood-woman")
    refused = page.form(FILL).submit(status=422)
    assert refused.select('.error-summary a[href="#donated"]')
    assert "only for treatment with donated sperm or embryos" in refused.words


def test_parenthood_of_a_record_with_a_donor_needs_no_such_declaration(nora: Any) -> None:
    episode = sample_id("episode", "zofia-1")
    page = nora.get(f"/consents/new?template=legal-parenthood-woman&episode={episode}")
    assert not page.select("#donated")


def test_storage_is_one_persons_form_and_each_gets_their_own(nora: Any) -> None:
    page = template(nora, "storage")
    options = {one.words: str(one["value"]) for one in page.select("#signer-0 option")}
    refused = page.form(FILL).submit(status=422, **{"signer-0": "-"})
    assert refused.select('.error-summary a[href="#signer-0"]')
    for name in ("Amelia Hart", "Daniel Hart"):
        preview = template(nora, "storage").form(FILL).submit(title="Each", **{"signer-0": options[name]})
        assert preview.form("/consents/new").submit().heading == "Each"


def test_a_joint_form_of_before_is_not_copied(nora: Any, service: Any) -> None:
    joint = fresh_form(service.plan)
    change_record(service.plan, joint, kind="Storage")
    page = nora.get(f"/consents/new?copy={joint.rpartition('/')[2]}", status=403)
    assert "One person signs a form of this kind" in page.words


def test_a_clinics_template_that_the_law_does_not_allow_is_shown_with_the_reason(
    nora: Any, portal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'title = "Our own"\nkind = "Storage"\nversion = "1"\nsigners = ["GameteProvider"]\n'
    (tmp_path / "own.toml").write_text(text + '[[clauses]]\nheading = "H"\ntext = "T"\n')
    from portal.views.consents import form_sources

    monkeypatch.setattr(form_sources, "load", lambda _folder, country: load(tmp_path, country))
    listed = nora.get("/consents/new")
    assert "Our own This template can’t be used." in listed.words
    refused = nora.get(f"/consents/new?template=own&episode={TREATMENT_OF_AMELIA}", status=422)
    assert refused.select('.error-summary a[href="#template-own"]')
