"""The acts of everybody who could change a family's forms, embryos and records."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from portal.careservice.ids import new_id
from tests.careservice.api.calls import CONSENTS, EPISODES, person
from tests.careservice.rules.checks import Checked
from tests.careservice.rules.terms import (
    DECIDES,
    EACH_THEIR_OWN,
    FINAL,
    FINAL_WISHES,
    FOR_THE_CLINIC,
    NAMES,
    PATIENTS,
    ROLES,
    STAFF,
    SUBS,
    folded,
)

KINDS = (
    *("Treatment", "Treatment", "tREAT ment", "Disposition", "Disposition", " disposition", "Donation"),
    *("Storage", "StorageRenewal", "Research", "Dispositon", "GeneticTesting"),
)
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
"""What someone who knows the rules would leave out to get round them."""
SECOND = st.sampled_from(("Witness", "Clinician"))


class Rules(Checked):
    """One family with four embryos, and everybody who could do something about them."""

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
        is_own = folded(kind) in EACH_THEIR_OWN and signers
        if self.family.partner and left_out not in ("partner", "both") and not is_own:
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
        """A thaw with all its requirements but for one flaw."""
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
        """An end of storage with all its requirements but for one flaw."""
        wishes = sorted(FINAL[end if folded(kind) == "disposition" else "Donated"])
        self.agree(kind, wishes[number % len(wishes)], number, flaw, second)
        self.change_embryo(number, "victor" if flaw == "alone" else mover, {"status": end})

    @rule(kind=st.sampled_from(("Storage", "StorageRenewal")), number=NUMBER, flaw=FLAW)
    def store(self, kind: str, number: int, flaw: str) -> None:
        self.agree(kind, None, number, flaw, "")

    def agree(self, kind: str, wish: str | None, number: int, flaw: str, second: str) -> None:
        """A form about an embryo, signed by everybody it requires, but for the flaw."""
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
        """A staff member names themselves as the patient and signs in that role."""
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

    # Ends of forms

    @precondition(lambda self: self.forms)
    @rule(pick=PICK, who=ANYBODY, told_by=st.sampled_from(("", "", *PATIENTS, "victor")))
    def withdraw(self, pick: int, who: str, told_by: str) -> None:
        self.revoke(who, self._form(pick), told_by)

    def revoke(self, who: str, form: dict[str, Any], told_by: str = "") -> None:
        body = {"concurrencyStamp": form["concurrencyStamp"]}
        if told_by:
            body |= {"onBehalfOf": person(told_by), "toldBy": "Telephone"}
        may = self.may_withdraw(who, form, told_by) and self.is_open(form)
        answer = self._act(who, "POST", f"{CONSENTS}/{form['id']}/revoke", body)
        assert (answer.status_code == 200) == may, f"{who} for {told_by or who}: {answer.text}, {form}"

    @precondition(lambda self: self.forms)
    @rule(
        pick=PICK,
        keep=st.sampled_from((0, 1, 2)),
        flaw=st.sampled_from(("", "", "", "kind", "partner", "clinic")),
        without=st.sampled_from(("", "", "amelia", "daniel")),
    )
    def supersede(self, pick: int, keep: int, flaw: str, without: str) -> None:
        """A form that replaces another, of fewer embryos, perhaps of another kind or without a signer."""
        self.supersede_form(self._form(pick), keep, flaw, without)

    def supersede_form(self, old: dict[str, Any], keep: int, flaw: str = "", without: str = "") -> None:
        signers = [
            one for one in old["requiredSigners"]
            if not (flaw == "partner" and one["role"] == "Partner")
            and not (flaw == "clinic" and one["role"] in FOR_THE_CLINIC)
        ]  # fmt: skip
        copied = ("patientId", "episodeId", "version", "body", "statements", "signingOrder", "disposition")
        whole = self.api.get("nora", f"{CONSENTS}/{old['id']}")
        body = {name: whole[name] for name in copied if name in whole}
        body |= {
            "title": f"A form {new_id()[:8]}",
            "kind": "Research" if flaw == "kind" else old["kind"],
            "requiredSigners": signers,
            "embryoStorageIds": old.get("embryoStorageIds", [])[:keep],
            "supersedesId": old["id"],
        }
        if flaw == "kind":
            body.pop("disposition", None)
        answer = self._act("nora", "POST", CONSENTS, body)
        if answer.status_code == 200:
            assert self.is_open(old), "what was carried out was superseded"
            self.everybody_signs(str(answer.json()["id"]), without)

    @precondition(lambda self: self.forms)
    @rule(pick=PICK)
    def run_out_of_time(self, pick: int) -> None:
        """The time to sign a form is over; a Signed one stays in force."""
        self.expire(self._form(pick))

    def expire(self, form: dict[str, Any]) -> None:
        self.step += 1
        self.last_act = ("", "time")
        self.families.let_expire(str(form["id"]))
        self._read_again()

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
            self._read_again()

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
        """Somebody sets a record's e-mail address, and somebody binds it to an account."""
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
