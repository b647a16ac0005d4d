"""The machine's people, and the terms of the consent rules, defined independently of the service's code."""

from __future__ import annotations

from typing import Any

from tests.careservice.api.calls import person

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
COUPLES_SIGN = {"treatment", "storagerenewal", "disposition", "donation", "surrogacy"}
EACH_THEIR_OWN = {"storage", "legalparenthood"}
DECIDES, STORES = {"disposition", "donation"}, {"storage", "storagerenewal"}
USES = {"treatment"}
ENDED = {"Revoked", "Expired", "Superseded"}
FINAL = {
    "Discarded": {"Discard"}, "Donated": {"DonateResearch", "DonatePatient"}, "ShippedOut": {"Transport"},
}  # fmt: skip
FINAL_WISHES = {wish for wishes in FINAL.values() for wish in wishes}


def is_ended(embryo: dict[str, Any]) -> bool:
    return embryo["status"] in {"Transferred", *FINAL}


def folded(kind: str) -> str:
    return "".join(kind.split()).lower()
