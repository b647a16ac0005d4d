"""What must hold after each act, stated independently of the service's code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import requests
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from tests.careservice.api.calls import CONSENTS, EPISODES, Api, person
from tests.careservice.families import Families
from tests.careservice.rules.terms import (
    COUPLES_SIGN,
    DECIDES,
    EACH_THEIR_OWN,
    ENDED,
    FINAL,
    FINAL_WISHES,
    FOR_THE_CLINIC,
    FOR_THE_PATIENT,
    PATIENTS,
    STORES,
    SUBS,
    USES,
    folded,
    is_ended,
)


class Checked(RuleBasedStateMachine):
    """One family with four embryos: what its people did in their own sessions, and what must hold after each act."""

    def __init__(self, api: Api, families: Families) -> None:
        super().__init__()
        self.api, self.families = api, families
        self.step = 0
        self.signed: dict[tuple[str, str], tuple[str, int]] = {}
        """By form and account: the role that they signed in, in their own session, and at which step."""
        self.stopped: dict[str, int] = {}
        """By embryo: the step at which its people last stopped it."""
        self.void: set[str] = set()
        self.bound: dict[str, str | None] = {}
        """By record: the account that it is bound to."""
        self.emails: dict[str, tuple[str | None, str]] = {}
        """By record that staff have written to: its e-mail, and who gave it last."""
        self.shares = True
        self.forms: dict[str, dict[str, Any]] = {}
        self.embryos: dict[str, dict[str, Any]] = {}
        self.last_act: tuple[str, str] = ("", "")

    @initialize(partner=st.sampled_from(["daniel", "daniel", None, "without account"]))
    def begin(self, partner: str | None) -> None:
        account = partner if partner in PATIENTS else None
        self.family = self.families.add("amelia", account, has_partner=partner is not None, embryos=4)
        self.accounts = {self.family.patient: {"amelia"}}
        if self.family.partner:
            self.accounts[self.family.partner] = {account} if account else set[str]()
        self.free = {account: self.families.add_account() for account in ("free", "another")}
        self.bound = {
            record: next((person(who) for who in accounts), None)
            for record, accounts in self.accounts.items()
        }
        self._read_again()

    def _record(self, whose: str) -> dict[str, Any]:
        return self.api.get("nora", f"{EPISODES}/{self.family.episode}")[whose]

    @invariant()
    def only_its_signers_brought_a_form_to_signed(self) -> None:
        for form in self.forms.values():
            for signature in form["signatures"]:
                role, _ = self.signed.get((form["id"], SUBS[signature["personId"]]), ("nobody's", 0))
                assert role == signature["role"], f"{signature} was not given in the signer's own session"
            if form["status"] != "Signed":
                continue
            roles = {SUBS[signature["personId"]]: signature["role"] for signature in form["signatures"]}
            patients = {who for who, role in roles.items() if role in FOR_THE_PATIENT and who in PATIENTS}
            whose = self.accounts[self.family.patient]
            if folded(form["kind"]) in EACH_THEIR_OWN:
                whose = whose | self.accounts.get(self.family.partner or "", set())
            assert patients & whose, f"the patient did not sign {form}"
            if self.family.partner and folded(form["kind"]) in COUPLES_SIGN and form.get("episodeId"):
                given = {who for who, role in roles.items() if role not in FOR_THE_CLINIC and who in PATIENTS}
                assert given & self.accounts[self.family.partner], f"the partner did not sign {form}"

    @invariant()
    def nobody_reads_what_is_kept_from_them(self) -> None:
        path = f"{EPISODES}/{self.family.episode}"
        partner = self.accounts.get(self.family.partner or "", set())
        for who in ("daniel", "grace"):
            answer = self.api(who, "GET", path)
            may_read = self.shares and who in partner
            assert answer.status_code == (200 if may_read else 404), f"{who} reads the treatment"
            if may_read:
                assert set(answer.json()["patient"]) == {"id", "firstName", "lastName", "preferredName"}
        for form in self.forms.values():
            named = {signer["personId"] for signer in form["requiredSigners"]}
            if person("grace") not in named:
                assert self.api("grace", "GET", f"{CONSENTS}/{form['id']}").status_code == 404
        for record, account in self.bound.items():
            if record == self.family.partner or account is None:
                continue
            assert self._record("patient")["userId"] == account, "a record changed hands"

    def is_open(self, form: dict[str, Any]) -> bool:
        """Whether anything is left that the form allows, or signatures are missing."""
        if form["status"] not in ("Pending", "PartiallySigned", "Signed"):
            return False
        under = [self.embryos[id_] for id_ in self._under(form)]
        return form["status"] != "Signed" or not under or any(not is_ended(one) for one in under)

    def may_withdraw(self, who: str, form: dict[str, Any], told_by: str) -> bool:
        """Whether it is theirs to withdraw, or recorded for one whose it is, or nobody's yet."""
        theirs = {
            SUBS.get(one["personId"]) for one in form["requiredSigners"] if one["role"] not in FOR_THE_CLINIC
        }
        if not theirs or folded(form["kind"]) not in EACH_THEIR_OWN:
            theirs |= self.accounts[self.family.patient]
        if who in PATIENTS:
            return who in theirs and not told_by
        if told_by:
            return told_by in theirs
        return all(one["role"] in FOR_THE_CLINIC for one in form["signatures"])

    def _under(self, form: dict[str, Any]) -> list[str]:
        """The embryos that a form allows to be stored, moved or given away."""
        named = form.get("embryoStorageIds", ()) if folded(form["kind"]) in DECIDES | STORES | USES else ()
        stored = [id_ for id_, one in self.embryos.items() if one["consentFormId"] == form["id"]]
        return sorted({*named, *stored})

    def _check_end(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Assert that a form ended as it may, and that what was open under it is on hold."""
        who, was_signed = self.last_act[0], before["status"] == "Signed"
        successor = self.forms.get(after["supersededById"] or "", {})
        if after["status"] == "Expired":
            assert not was_signed, "a form in force expired"
        elif after["status"] == "Superseded":
            assert folded(successor["kind"]) == folded(before["kind"]), "a form of another kind ended it"
            assert successor["status"] == "Signed" or not was_signed, "an unsigned form ended a Signed one"
            signers = {one["personId"] for one in successor["requiredSigners"]}
            left_out = {one["personId"] for one in before["requiredSigners"]} - signers
            assert not left_out, f"a form that {left_out} need not sign ended it"
        else:
            told_by = SUBS.get(after.get("onBehalfOf", ""), "")
            assert self.may_withdraw(who, before, told_by), f"{who} ended a patient's form"
        if not was_signed:
            return
        self.void.add(before["id"])
        stopped = [id_ for id_ in self._under(before) if id_ not in successor.get("embryoStorageIds", ())]
        self._stop(id_ for id_ in stopped if not is_ended(self.embryos[id_]))
        for embryo_id in stopped:
            embryo = self.embryos[embryo_id]
            assert is_ended(embryo) or embryo["holdReason"], f"{embryo} stays in use under nothing"

    @invariant()
    def no_embryo_is_kept_under_an_ended_form(self) -> None:
        for embryo in self.embryos.values():
            form = self.forms.get(embryo["consentFormId"] or "")
            if form is None or form["status"] == "Signed" or is_ended(embryo) or embryo["holdReason"]:
                continue
            agreed = [
                one for one in self._signed_about(embryo["id"]) if folded(one["kind"]) in DECIDES | STORES
            ]
            assert agreed, f"{embryo} stays under {form}"

    def _signed_about(self, embryo_id: str) -> list[dict[str, Any]]:
        return [
            form
            for form in self.forms.values()
            if form["status"] == "Signed"
            and embryo_id in form.get("embryoStorageIds", ())
            and form["id"] not in self.void
        ]

    def _is_said_since_the_stop(self, form: dict[str, Any], embryo_id: str) -> bool:
        steps = [
            self.signed[form["id"], SUBS[signature["personId"]]][1]
            for signature in form["signatures"]
            if signature["role"] not in FOR_THE_CLINIC
        ]
        return min(steps, default=0) > self.stopped.get(embryo_id, 0)

    def _check_embryo(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Assert that the embryo's people agreed to its change."""
        if is_ended(before):
            assert after == before, "an embryo that is gone was written"
        embryo_id, who = before["id"], self.last_act[0]
        about = self._signed_about(embryo_id)
        decisions = [
            form
            for form in about
            if folded(form["kind"]) in DECIDES and self._is_said_since_the_stop(form, embryo_id)
        ]
        if after["disposition"] in FINAL_WISHES and after["disposition"] != before["disposition"]:
            wishes = [form.get("disposition") for form in decisions]
            assert after["disposition"] in wishes, f"{who} set {after['disposition']} without a form"
        agreed = [
            form
            for form in about
            if folded(form["kind"]) in DECIDES | STORES and self._is_said_since_the_stop(form, embryo_id)
        ]
        if embryo_id in self.stopped and not agreed:
            assert after["status"] in (before["status"], "OnHold"), f"{who} moved what its people stopped"
        if after["status"] == before["status"] or after["status"] in ("Stored", "Reserved", "OnHold"):
            return
        assert before["status"] != "OnHold", f"{who} moved an embryo that was on hold"
        if after["status"] in ("Thawed", "Transferred") or before["status"] == "Thawed":
            allowing = [form for form in about if folded(form["kind"]) == "treatment"]
            if after["status"] != "Discarded":
                assert before["disposition"] not in FINAL_WISHES, f"{who} thawed against the wish"
        else:
            fitting = FINAL[after["status"]]
            allowing = [form for form in decisions if form.get("disposition") in fitting]
            assert before["disposition"] in fitting, f"{who} ended storage against the wish"
            allowing = [form for form in allowing if form["disposition"] == before["disposition"]]
        assert allowing, f"{who} made an embryo {after['status']} without a form"
        seen = {
            signature["personId"]
            for form in allowing
            for signature in form["signatures"]
            if signature["role"] in ("Witness", "Clinician")
        }
        assert seen - {person(who)}, f"{who} made an embryo {after['status']} alone"

    def _act(
        self,
        who: str,
        method: str,
        path: str,
        body: dict[str, Any],
        *,
        signing: tuple[str, str] | None = None,
        check: bool = True,
    ) -> requests.Response:
        self.step += 1
        self.last_act = (who, path)
        answer = self.api(who, method, path, body)
        assert answer.status_code in (200, 400, 403, 404), answer.text
        if signing is not None and answer.status_code == 200:
            form_id, role = signing
            self.signed[form_id, who] = (role, self.step)
        if check and answer.status_code == 200:
            self._read_again()
        return answer

    def _read_again(self) -> None:
        """Read everything again, as a staff member, and check how the embryos changed."""
        found = self.api.get("nora", CONSENTS, PatientId=self.family.patient, MaxResultCount=1000)["items"]
        known, self.forms = self.forms, {form["id"]: form for form in found}
        before_all, embryos = (
            self.embryos,
            self.api.get("nora", f"{EPISODES}/{self.family.episode}")["embryos"],
        )
        self.embryos = {embryo["id"]: embryo for embryo in embryos}
        for form in self.forms.values():
            before = known.get(form["id"])
            if before is not None and before["status"] != form["status"] and form["status"] in ENDED:
                self._check_end(before, form)
        for embryo_id, before in before_all.items():
            self._check_embryo(before, self.embryos[embryo_id])

    def _stop(self, embryo_ids: Iterable[str]) -> None:
        for embryo_id in embryo_ids:
            self.stopped[embryo_id] = self.step

    def _form(self, pick: int) -> dict[str, Any]:
        forms = list(self.forms.values())
        return forms[pick % len(forms)]
