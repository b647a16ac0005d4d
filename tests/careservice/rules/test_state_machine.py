"""A state machine test: no sequence of acts by anyone breaks a rule.

The machine states the rules independently of the service's code. It remembers who did what in their own session, and
checks every form and embryo against that after each act.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from portal.careservice.ids import new_id
from tests.careservice.api.calls import CONSENTS, EPISODES, Api, person
from tests.careservice.families import Families
from tests.support.tokens import TokenMaker

FULL = os.environ.get("CARE_TEST_FULL") == "1"
SETTINGS = settings(
    max_examples=200 if FULL else 12,
    stateful_step_count=40 if FULL else 22,
    derandomize=not FULL,
    phases=tuple(Phase) if FULL else (Phase.generate,),  # to shrink over HTTP takes minutes
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)

STAFF = ("nora", "victor", "elif", "colin", "ada")
PATIENTS = ("amelia", "daniel", "grace")
NAMES = {
    "nora": "Nora Lindqvist", "victor": "Victor Castellanos", "elif": "Elif Demir", "colin": "Colin Byrne",
    "ada": "Ada Whitfield", "amelia": "Amelia Hart", "daniel": "Daniel Hart", "grace": "Grace Okafor",
}  # fmt: skip
SUBS = {person(name): name for name in NAMES}
FOR_THE_PATIENT = {"Patient", "GameteProvider", "Donor", "Surrogate", "IntendedParent"}
FOR_THE_CLINIC = {"Witness", "Interpreter", "Clinician"}
ROLES = (*sorted(FOR_THE_PATIENT), "Partner", *sorted(FOR_THE_CLINIC))
COUPLES_SIGN = {
    "treatment", "storage", "storagerenewal", "disposition", "donation", "legalparenthood", "surrogacy",
}  # fmt: skip
DECIDES, STORES = {"disposition", "donation"}, {"storage", "storagerenewal"}
KINDS = (
    *("Treatment", "Treatment", "tREAT ment", "Disposition", "Disposition", " disposition", "Donation"),
    *("Storage", "StorageRenewal", "Research", "Dispositon", "GeneticTesting"),
)
FINAL = {
    "Discarded": {"Discard"}, "Donated": {"DonateResearch", "DonatePatient"}, "ShippedOut": {"Transport"},
}  # fmt: skip
FINAL_WISHES = {wish for wishes in FINAL.values() for wish in wishes}
WISHES = (None, "ContinueStorage", "Discard", "Discard", "DonateResearch", "DonatePatient", "Transport")
STATUSES = (
    *("Stored", "Reserved", "OnHold", "Thawed", "Thawed", "Transferred"),
    *("Discarded", "Discarded", "Donated", "ShippedOut"),
)
PICK = st.integers(0, 11)
NUMBER = st.integers(0, 3)
ANYBODY = st.sampled_from((*STAFF, *PATIENTS))
LABORATORY = st.sampled_from(("elif", "elif", "victor"))

FLAWS = (
    *("patient", "partner", "both", "unsigned", "half signed", "no second", "interpreter", "alone"),
    *("elsewhere", "no embryo", "withdrawn", "taken back", "signed before", "held", "other wish"),
)
FLAW = st.sampled_from(("", "", "", *FLAWS))
"""What one of those who know the rules would leave out to get round them."""
SECOND = st.sampled_from(("Witness", "Clinician"))


def folded(kind: str) -> str:
    return "".join(kind.split()).lower()


class Rules(RuleBasedStateMachine):
    """One family with four embryos, and everybody who could do something about them."""

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
        self._look()

    # Forms

    @rule(
        who=st.sampled_from(("nora", "nora", "nora", "victor", "elif", "amelia")),
        kind=st.sampled_from(KINDS),
        wish=st.sampled_from(WISHES),
        second=st.sampled_from(("", "", "Witness", "Clinician", "Interpreter")),
        about=st.sampled_from(((0,), (0,), (1,), (0, 1), ())),
        left_out=st.sampled_from(("", "", "", "", "patient", "partner", "both", "links")),
        forged=st.sampled_from(("", "", "", "", "", "nora", "grace", "record")),
        supersedes=st.sampled_from((False, False, False, True)),
        pick=PICK,
    )
    def put_a_form(
        self,
        who: str,
        kind: str,
        wish: str | None,
        second: str,
        about: tuple[int, ...],
        left_out: str,
        forged: str,
        supersedes: bool,
        pick: int,
    ) -> None:
        self.make_form(who, kind, wish, second, about, left_out, forged, supersedes, pick)

    def make_form(
        self,
        who: str,
        kind: str,
        wish: str | None,
        second: str,
        about: tuple[int, ...],
        left_out: str,
        forged: str,
        supersedes: bool,
        pick: int,
    ) -> str | None:
        first = self.family.patient if forged == "record" else person(forged or "amelia")
        signers = [] if left_out in ("patient", "both") else [("Patient", first)]
        if self.family.partner and left_out not in ("partner", "both"):
            signers.append(("Partner", self.bound[self.family.partner] or self.family.partner))
        if second or not signers:
            signers.append((second or "Clinician", person("victor")))
        body: dict[str, Any] = {
            "patientId": self.family.patient,
            "episodeId": self.family.episode,
            "title": f"A form {new_id()[:8]}",
            "kind": kind,
            "version": "1",
            "body": [{"id": "a", "heading": "What", "text": "It is agreed."}],
            "statements": [{"id": "s", "text": "I agree."}],
            "requiredSigners": [
                {"role": role, "personId": sub, "name": "Amelia Hart"} for role, sub in signers
            ],
            "signingOrder": "Any",
            "embryoStorageIds": [self.family.embryos[number] for number in about],
        }
        if wish is not None and folded(kind) in DECIDES:
            body["disposition"] = wish
        if left_out == "links":
            del body["episodeId"]
        elif left_out:
            body["embryostorageids"] = body.pop("embryoStorageIds")
        if supersedes and self.forms:
            body["supersedesId"] = self._form(pick)["id"]
        answer = self._act(who, "POST", CONSENTS, body)
        return str(answer.json()["id"]) if answer.status_code == 200 else None

    @rule(number=NUMBER, flaw=FLAW, second=SECOND, mover=LABORATORY)
    def treat(self, number: int, flaw: str, second: str, mover: str) -> None:
        """A thaw with all that it needs, but for one thing."""
        self.agree("Treatment", None, number, flaw, second)
        self.change_embryo(number, "victor" if flaw == "alone" else mover, {"status": "Thawed"})
        self.change_embryo(number, mover, {"status": "Transferred"})

    @rule(
        number=NUMBER,
        end=st.sampled_from(("Discarded", "Donated", "ShippedOut")),
        kind=st.sampled_from(("Disposition", " disPosition", "Donation")),
        flaw=FLAW,
        second=SECOND,
        mover=LABORATORY,
    )
    def decide(self, number: int, end: str, kind: str, flaw: str, second: str, mover: str) -> None:
        """An end of storage with all that it needs, but for one thing."""
        wishes = sorted(FINAL[end if folded(kind) == "disposition" else "Donated"])
        self.agree(kind, wishes[number % len(wishes)], number, flaw, second)
        self.change_embryo(number, "victor" if flaw == "alone" else mover, {"status": end})

    @rule(kind=st.sampled_from(("Storage", "StorageRenewal")), number=NUMBER, flaw=FLAW)
    def store(self, kind: str, number: int, flaw: str) -> None:
        self.agree(kind, None, number, flaw, "")

    def agree(self, kind: str, wish: str | None, number: int, flaw: str, second: str) -> None:
        """A form about an embryo, signed by everybody it needs but for the flaw."""
        about = {"elsewhere": ((number + 1) % 4,), "no embryo": ()}.get(flaw, (number,))
        second = {"no second": "", "interpreter": "Interpreter", "alone": "Clinician"}.get(flaw, second)
        left_out = flaw if flaw in ("patient", "partner", "both") else ""
        form_id = self.make_form("nora", kind, wish, second, about, left_out, "", False, 0)
        if form_id is None:
            return
        absent = {"unsigned": "amelia", "half signed": "daniel", "signed before": "victor"}.get(flaw, "")
        self.everybody_signs(form_id, absent)
        if flaw == "signed before":
            self.agree("Disposition", "Discard", number, "taken back", second)
            self.sign(form_id, "victor", second or "Clinician", NAMES["victor"])
        if flaw == "other wish":
            self.agree("Disposition", "Discard" if wish == "Transport" else "Transport", number, "", second)
        if flaw == "withdrawn":
            self.revoke("amelia", self.forms[form_id])
        if flaw == "taken back":
            self.change_embryo(number, "amelia", {"disposition": "Undecided"})
            self.change_embryo(number, "elif", {"status": "Stored"})
        if flaw == "held":
            self.change_embryo(number, "elif", {"status": "OnHold"})

    @rule(who=st.sampled_from(STAFF), kind=st.sampled_from(KINDS), wish=st.sampled_from(WISHES))
    def pass_for_the_patient(self, who: str, kind: str, wish: str | None) -> None:
        """One of the staff names themselves as the patient, and signs as that."""
        record = self.api.get("nora", f"{EPISODES}/{self.family.episode}")["patient"]
        path = f"/api/care/patients/{record['id']}"
        bound = self._act("ada", "PUT", path, {**record, "userId": person(who)}).status_code == 200
        form_id = self.make_form("nora", kind, wish, "", (0,), "partner", who, False, 0)
        if form_id is not None:
            self.everybody_signs(form_id, "amelia")
        if bound:
            record = self.api.get("nora", f"{EPISODES}/{self.family.episode}")["patient"]
            self._act("ada", "PUT", path, {**record, "userId": person("amelia")})

    @precondition(lambda self: self.forms)
    @rule(pick=PICK, without=st.sampled_from(("", "amelia", "daniel", "victor")))
    def sign_in_turn(self, pick: int, without: str) -> None:
        self.everybody_signs(str(self._form(pick)["id"]), without)

    def everybody_signs(self, form_id: str, without: str) -> None:
        for signer in self.forms[form_id]["requiredSigners"]:
            who = SUBS.get(signer["personId"])
            if who is not None and who != without:
                self.sign(form_id, who, signer["role"], NAMES[who])

    @precondition(lambda self: self.forms)
    @rule(
        pick=PICK,
        who=ANYBODY,
        role=st.sampled_from(ROLES),
        typed=st.sampled_from(("", "", "", "Amelia Hart", "X")),
    )
    def sign_as(self, pick: int, who: str, role: str, typed: str) -> None:
        self.sign(str(self._form(pick)["id"]), who, role, typed or NAMES[who])

    def sign(self, form_id: str, who: str, role: str, typed: str) -> None:
        form = self.forms[form_id]
        body = {
            "signerRole": role,
            "method": "TypedName",
            "signature": typed,
            "acknowledgedStatementIds": [] if role in FOR_THE_CLINIC else ["s"],
            "contentHash": form["contentHash"],
            "concurrencyStamp": form["concurrencyStamp"],
        }
        self._act(who, "POST", f"{CONSENTS}/{form_id}/sign", body, signing=(form_id, role))

    @precondition(lambda self: self.forms)
    @rule(pick=PICK, who=st.sampled_from((*PATIENTS, "nora")))
    def withdraw(self, pick: int, who: str) -> None:
        self.revoke(who, self._form(pick))

    def revoke(self, who: str, form: dict[str, Any]) -> None:
        body = {"reason": "No longer", "concurrencyStamp": form["concurrencyStamp"]}
        answer = self._act(who, "POST", f"{CONSENTS}/{form['id']}/revoke", body)
        if answer.status_code == 200 and form["status"] == "Signed":
            self.void.add(form["id"])
            if folded(form["kind"]) in DECIDES | STORES:
                self._stop(form.get("embryoStorageIds", ()))

    # Embryos

    @rule(
        number=NUMBER,
        who=st.sampled_from(("elif", "elif", "victor", "nora", "amelia", "grace")),
        status=st.sampled_from(STATUSES),
        misspelt=st.sampled_from((False, False, False, True)),
        notes=st.sampled_from(({}, {"notes": "Seen to be lost"})),
    )
    def move(self, number: int, who: str, status: str, misspelt: bool, notes: dict[str, str]) -> None:
        self.change_embryo(number, who, {"state" if misspelt else "status": status, **notes})

    @rule(number=NUMBER, who=ANYBODY, wish=st.sampled_from(WISHES[1:]))
    def wish(self, number: int, who: str, wish: str) -> None:
        self.change_embryo(number, who, {"disposition": wish})

    @rule(number=NUMBER, who=st.sampled_from(("amelia", "amelia", "daniel", "grace", "elif")))
    def take_back(self, number: int, who: str) -> None:
        self.change_embryo(number, who, {"disposition": "Undecided"})

    def change_embryo(self, number: int, who: str, changes: dict[str, str]) -> None:
        before = self.embryos[self.family.embryos[number]]
        body = {"concurrencyStamp": before["concurrencyStamp"], **changes}
        path = f"/api/care/embryo-storage/{before['id']}"
        taken_back = before["disposition"] in FINAL_WISHES and changes.get("disposition") not in (
            None,
            *FINAL_WISHES,
        )
        decisions = [
            form["id"] for form in self._signed_about(before["id"]) if folded(form["kind"]) in DECIDES
        ]
        answer = self._act(who, "PUT", path, body, check=not taken_back)
        if taken_back and answer.status_code == 200:
            assert who in PATIENTS, f"{who} took back what the patient had decided"
            self.void |= set(decisions)
            self._stop([before["id"]])
        if taken_back:
            self._look()

    # Records

    @rule(
        who=st.sampled_from(("nora", "ada", "amelia")),
        whose=st.sampled_from(("patient", "partner")),
        name=st.sampled_from(("Nora", "Victor")),
    )
    def edit_person(self, who: str, whose: str, name: str) -> None:
        record = self.api.get("nora", f"{EPISODES}/{self.family.episode}")[whose]
        if record is not None:
            self._act(who, "PUT", f"/api/care/patients/{record['id']}", {**record, "firstName": name})

    @rule(
        editor=st.sampled_from(("nora", "ada", "amelia")),
        binder=st.sampled_from(("ada", "ada", "ada", "nora", "victor", "amelia")),
        whose=st.sampled_from(("patient", "partner", "partner")),
        account=st.sampled_from(("free", "free", "another", "grace", "nora")),
        email=st.sampled_from(("its own", "its own", "another")),
    )
    def bind(self, editor: str, binder: str, whose: str, account: str, email: str) -> None:
        """Somebody gives a record an e-mail, and somebody binds it to an account."""
        owner = self.family.patient if whose == "patient" else self.family.partner
        if owner is None:
            return
        user_id, verified = (
            self.free[account] if account in self.free else (person(account), f"{account}@riverside.example")
        )
        path = f"/api/care/patients/{owner}"
        record = self._record(whose)
        written = verified if email == "its own" else "someone@patients.example"
        if self._act(editor, "PUT", path, {**record, "email": written}).status_code == 200:
            was = self.emails.get(owner, (record["email"], ""))
            self.emails[owner] = (written, editor) if written != record["email"] else was
        record = self._record(whose)
        answer = self._act(binder, "PUT", path, {**record, "userId": user_id})
        if answer.status_code != 200 or user_id == self.bound[owner]:
            return
        kept, giver = self.emails.get(owner, (record["email"], ""))
        assert self.bound[owner] is None, f"{binder} bound a record anew"
        assert binder == "ada" and giver != binder, f"{binder} bound a record alone"
        assert account in self.free and kept == verified, f"{binder} bound a record to {account}"
        self.bound[owner] = user_id

    def _record(self, whose: str) -> dict[str, Any]:
        return self.api.get("nora", f"{EPISODES}/{self.family.episode}")[whose]

    @precondition(lambda self: self.shares and self.family.partner)
    @rule(who=st.sampled_from(("amelia", "nora", "grace", "daniel")))
    def end_sharing(self, who: str) -> None:
        found = self.api.get("nora", f"{EPISODES}/{self.family.episode}")["relationships"]
        path = f"/api/care/relationships/{found[0]['id']}"
        answer = self.api(who, "DELETE", path)
        if who in ("grace", "daniel"):
            assert answer.status_code in (403, 404), f"{who} ended what isn't theirs"
        else:
            assert answer.status_code == 204, "ending sharing was refused"
            self.shares = False

    @rule(who=st.sampled_from(("nora", "victor")), status=st.sampled_from(("Active", "OnHold", "Finished")))
    def edit_case(self, who: str, status: str) -> None:
        case = self.api.get("nora", f"{EPISODES}/{self.family.episode}")["case"]
        self._act(who, "PUT", f"/api/care/cases/{case['id']}", {**case, "status": status})

    # What is held against what was done

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
            assert patients & self.accounts[self.family.patient], f"the patient did not sign {form}"
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

    def _hold_against(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """An embryo's change must be one that its people agreed to."""
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
            self._look()
        return answer

    def _look(self) -> None:
        """Read everything anew, as one of the staff, and hold the embryos against what they were."""
        found = self.api.get("nora", CONSENTS, PatientId=self.family.patient, MaxResultCount=1000)["items"]
        self.forms = {form["id"]: form for form in found}
        embryos = self.api.get("nora", f"{EPISODES}/{self.family.episode}")["embryos"]
        for embryo in embryos:
            before = self.embryos.get(embryo["id"])
            self.embryos[embryo["id"]] = embryo
            if before is not None:
                self._hold_against(before, embryo)

    def _stop(self, embryo_ids: Iterable[str]) -> None:
        for embryo_id in embryo_ids:
            self.stopped[embryo_id] = self.step

    def _form(self, pick: int) -> dict[str, Any]:
        forms = list(self.forms.values())
        return forms[pick % len(forms)]


@pytest.fixture(scope="module")
def calls(care_service: TokenMaker) -> Iterator[Api]:
    api = Api(care_service)
    yield api
    api.close()


def test_no_sequence_of_acts_breaks_a_rule(calls: Api, families: Families) -> None:
    run_state_machine_as_test(lambda: Rules(calls, families), settings=SETTINGS)  # pyright: ignore[reportUnknownMemberType]


def test_the_state_machine_reaches_ends_of_storage_and_holds(calls: Api, families: Families) -> None:
    """What the machine tries does succeed where it should, so that its silence says something."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.agree("Treatment", None, 0, "", "Clinician")
    machine.move(0, "elif", "Thawed", False, {})
    machine.agree("Disposition", "Discard", 1, "taken back", "Witness")
    first, second = (machine.embryos[embryo_id]["status"] for embryo_id in machine.family.embryos[:2])
    assert (first, second) == ("Thawed", "OnHold")
    machine.decide(1, "Discarded", "Disposition", "", "Witness", "elif")
    assert machine.embryos[machine.family.embryos[1]]["status"] == "Discarded"
    machine.only_its_signers_brought_a_form_to_signed()


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_single_missing_requirement_stops_a_move(calls: Api, families: Families, flaw: str) -> None:
    """Each flaw at least once, whatever chance leaves out."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.decide(0, "Discarded", "Disposition", flaw, "Witness", "elif")
    machine.treat(1, flaw, "Witness", "elif")
    machine.only_its_signers_brought_a_form_to_signed()


@pytest.mark.parametrize("who", ["elif", "victor", "nora", "ada"])
def test_staff_cannot_undo_a_patients_decision(calls: Api, families: Families, who: str) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.agree("Disposition", "Discard", 0, "", "Witness")
    machine.change_embryo(0, who, {"disposition": "Undecided"})
    assert machine.embryos[machine.family.embryos[0]]["disposition"] == "Discard"


@pytest.mark.parametrize("kind", ["Storage", " storageRenewal", "Disposition"])
@pytest.mark.parametrize("status", ["Thawed", "Reserved", "Stored"])
def test_a_withdrawal_stops_moves_that_another_form_allows(
    calls: Api, families: Families, kind: str, status: str
) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.agree("Treatment", None, 0, "", "Witness")
    form_id = machine.make_form("nora", kind, "ContinueStorage", "", (0,), "", "", False, 0)
    machine.everybody_signs(str(form_id), "")
    machine.revoke("daniel", machine.forms[str(form_id)])
    machine.change_embryo(0, "elif", {"status": status})
    assert machine.embryos[machine.family.embryos[0]]["status"] == "OnHold"


@pytest.mark.parametrize("account", ["free", "grace", "nora"])
@pytest.mark.parametrize("binder", ["ada", "nora"])
@pytest.mark.parametrize("editor", ["ada", "nora"])
def test_binding_a_record_takes_two_people_and_happens_once(
    calls: Api, families: Families, editor: str, binder: str, account: str
) -> None:
    machine = Rules(calls, families)
    machine.begin("without account")
    machine.bind(editor, binder, "partner", account, "another")
    machine.bind(editor, binder, "partner", account, "its own")
    is_bound = (editor, binder, account) == ("nora", "ada", "free")
    partner = machine.family.partner or ""
    assert machine.bound[partner] == (machine.free["free"][0] if is_bound else None)
    machine.bind("nora", "ada", "partner", "another", "its own")
    machine.nobody_reads_what_is_kept_from_them()


@pytest.mark.parametrize("who", ["amelia", "nora"])
def test_ending_sharing_takes_effect_at_once(calls: Api, families: Families, who: str) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.nobody_reads_what_is_kept_from_them()
    machine.end_sharing(who)
    machine.nobody_reads_what_is_kept_from_them()


@pytest.mark.parametrize("kind", ["Disposition", "Storage", "Treatment", "Dispositon"])
def test_the_state_machine_detects_a_forged_signature(calls: Api, families: Families, kind: str) -> None:
    """A form that a clinician alone brought to Signed, past the rules, doesn't get by its invariant."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    families.older_form(machine.family, kind, signed_by="victor", embryos=machine.family.embryos)
    machine._look()
    with pytest.raises(AssertionError, match="own session"):
        machine.only_its_signers_brought_a_form_to_signed()
