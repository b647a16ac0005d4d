"""What follows from a form alone: who may sign as what, which names are the same, what has changed, what is said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from flask_babel import Babel

from portal.careservice.domain.rules import Rule
from portal.config.consent_templates import load
from portal.config.tenants import Side
from portal.services.records.consents import (
    Clause,
    ConsentForm,
    Signature,
    Signer,
    SignerRole,
    SigningOrder,
    Statement,
)
from portal.views.consents.draft import episode_id_of
from portal.views.consents.eligibility import is_awaited, open_role, same_name, why_not_revoke
from portal.views.consents.signing import Progress
from portal.views.consents.snapshot import Snapshot, changes
from portal.web.refusals import refusal_message
from tests.support.builders import consent, person


@pytest.fixture(autouse=True)
def words() -> Any:
    """Words need an application to be said in."""
    from flask import Flask

    app = Flask("words")
    Babel(app)
    with app.test_request_context():
        yield


def form(*signers: Signer, **more: Any) -> ConsentForm:
    return consent(required_signers=signers, **more)


PATIENT = Signer(role=SignerRole.PATIENT, person_id="a", name="A", order=1)
WITNESS_OF_THE_CLINIC = Signer(role=SignerRole.WITNESS, name="", order=2)


def test_a_role_left_open_is_for_staff_who_sign_nothing_else_on_it() -> None:
    both = form(PATIENT, WITNESS_OF_THE_CLINIC)
    assert open_role(both, person("n", side=Side.STAFF)) == SignerRole.WITNESS
    assert open_role(both, person("n")) is None
    assert open_role(both, person("a", side=Side.STAFF)) == SignerRole.PATIENT
    signed = form(
        PATIENT, WITNESS_OF_THE_CLINIC, signatures=(Signature(role=SignerRole.PATIENT, person_id="a"),)
    )
    assert open_role(signed, person("a", side=Side.STAFF)) is None


def test_several_roles_of_one_person_come_one_by_one() -> None:
    twice = (PATIENT, Signer(role=SignerRole.GAMETE_PROVIDER, person_id="a", name="A", order=2))
    assert open_role(form(*twice), person("a")) == SignerRole.PATIENT
    after = form(*twice, signatures=(Signature(role=SignerRole.PATIENT, person_id="a"),))
    assert open_role(after, person("a")) == SignerRole.GAMETE_PROVIDER


def test_a_later_signer_is_awaited_but_not_yet_in_turn() -> None:
    waiting = form(
        PATIENT,
        Signer(role=SignerRole.PARTNER, person_id="b", order=2),
        signing_order=SigningOrder.SEQUENTIAL,
    )
    assert is_awaited(waiting, person("b")) and open_role(waiting, person("b")) is None


def test_a_witness_cannot_withdraw_what_others_agreed_to() -> None:
    witnessed = form(PATIENT, Signer(role=SignerRole.WITNESS, person_id="w", order=2))
    assert why_not_revoke(witnessed, person("w")) and not why_not_revoke(witnessed, person("a"))


@pytest.mark.parametrize(
    ("typed", "name", "same"),
    [
        ("amelia hart", "Amelia Hart", True),
        ("Leila Benhamou Swiatek", "Leïla Benhamou-Świątek", True),
        ("Siobhan O'Rourke", "Siobhán O’Rourke", True),
        ("Jurgen Grossmann", "Jürgen Großmann", True),
        ("فاطمة الزهراني", "فاطمة الزهراني", True),
        ("Amelia", "Amelia Hart", False),
        ("", "", False),
        ("...", "–", False),
    ],
)
def test_names_are_the_same_but_for_case_spaces_accents_and_marks(typed: str, name: str, same: bool) -> None:
    assert same_name(typed, name) is same


def test_changes_name_each_part_with_its_old_and_new_words() -> None:
    before = form()
    after = form(
        body=(
            Clause(id="c1", heading="One", text="First new words here"),
            Clause(id="c3", heading="Three", text="y"),
        ),
        statements=(Statement(id="s1", text="Agreed"), Statement(id="s2", text="Added")),
    )
    found = {change.part: change for change in changes(Snapshot.of(before), Snapshot.of(after))}
    assert set(found) == {"Clause 1", "Clause 2", "Clause 2 of the earlier form", "Statement 2"}
    assert [run.text for run in found["Clause 1"].new if run.differs] == ["new "]
    assert not found["Statement 2"].old and not found["Clause 2 of the earlier form"].new


def test_another_signature_changes_the_stamp_and_not_what_was_shown() -> None:
    before = form(concurrency_stamp="1")
    after = form(concurrency_stamp="2", signatures=(Signature(role=SignerRole.PARTNER, person_id="b"),))
    progress = Progress.of(before)
    assert progress.is_of(after) and progress.with_stamp_of(after).stamp == "2"
    assert msgspec.convert(msgspec.to_builtins(progress), Progress) == progress


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule != Rule.CONCURRENCY_CONFLICT])
def test_every_rule_of_the_care_service_is_said_in_words_of_its_own(rule: Rule) -> None:
    assert refusal_message(rule.value) != refusal_message("NoSuchRule")


def test_the_bundled_templates_can_all_be_used_and_a_broken_file_is_named(tmp_path: Any) -> None:
    (tmp_path / "own.toml").write_text(
        'title = "Own"\nkind = "Research"\nversion = "1"\nsigners = ["Patient"]\n[[clauses]]\nheading = "H"\ntext = "T"\n'
    )
    (tmp_path / "broken.toml").write_text("title = ")
    found = load(tmp_path)
    assert {"treatment", "storage", "genetic-testing", "own"} <= set(found.by_name)
    assert found.broken == ("broken.toml",)
    for template in found.by_name.values():
        assert all(SignerRole(role).known for role in template.signers) and SigningOrder(template.order).known


@pytest.mark.parametrize(
    ("typed", "id_"),
    [
        (" abc-1 ", "abc-1"),
        ("https://x.example/episodes/abc%201/timeline?x=1", "abc 1"),
        ("/episodes/7", "7"),
        ("https://x.example/consents/7", None),
        ("two words", None),
    ],
)
def test_an_episode_is_found_in_an_id_or_a_link(typed: str, id_: str | None) -> None:
    assert episode_id_of(typed) == id_
