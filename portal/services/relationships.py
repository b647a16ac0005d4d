"""Patient relationships (care API specification §4, group PatientRelationship); read as part of an episode."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar

from portal.folding import folded
from portal.services.api import Group
from portal.services.client import Care
from portal.services.decoding import Choice, Id, Timed
from portal.services.demand import FRESH, Demand


class RelationshipType(Choice):
    """The type of a relationship to a patient."""

    PARTNER = "Partner"
    SPOUSE = "Spouse"
    EGG_DONOR = "EggDonor"
    SPERM_DONOR = "SpermDonor"
    EMBRYO_DONOR = "EmbryoDonor"
    GESTATIONAL_CARRIER = "GestationalCarrier"
    INTENDED_PARENT = "IntendedParent"
    EMERGENCY_CONTACT = "EmergencyContact"
    PROXY = "Proxy"


PARTNERS = (RelationshipType.PARTNER, RelationshipType.SPOUSE, RelationshipType.INTENDED_PARENT)
"""The types of those who share a treatment."""


class Relationship(Timed, frozen=True, kw_only=True):
    """Another person in a patient's care, and whether the treatment is shared with them."""

    shown_on: ClassVar = ("relationships", "me", "episodes")

    id: Id
    patient_id: Annotated[Id | None, "patient"] = None
    related_patient_id: Annotated[Id | None, "related patient's record"] = None
    related_name: Annotated[str, "related person's name"] = ""
    type: Annotated[RelationshipType | None, "relation to the patient"] = None
    is_portal_shared: Annotated[bool, "whether they see the treatment"] = False
    start_date: Annotated[date | None, "start date"] = None
    end_date: Annotated[date | None, "end date"] = None

    def is_ended(self, today: date) -> bool:
        """Whether it has ended: nothing is shared any more, and only signed records still name the person."""
        return self.end_date is not None and self.end_date <= today

    def has_begun(self, today: date) -> bool:
        return self.start_date is None or self.start_date <= today

    @property
    def may_share(self) -> bool:
        """Whether it shares the treatment while it lasts: only partners' does, or one of a type that isn't known may."""
        is_other = self.type is not None and self.type.known and self.type not in PARTNERS
        return self.is_portal_shared and not is_other

    def shares_on(self, day: date) -> bool:
        """Whether the person sees the treatment on this day."""
        return self.may_share and self.has_begun(day) and not self.is_ended(day)

    def is_between_same_people(self, other: Relationship) -> bool:
        """Whether both are on one patient's record and name one person; without a record of that person, by the name."""
        if self.related_patient_id and other.related_patient_id:
            is_same_person = self.related_patient_id == other.related_patient_id
        else:
            is_same_person = folded(self.related_name) == folded(other.related_name) != ""
        is_same_record = None in (self.patient_id, other.patient_id) or self.patient_id == other.patient_id
        return is_same_person and is_same_record


DELETE_RELATIONSHIP = Group("PatientRelationship").delete(
    "/api/care/relationships/{id}", demand=Demand(FRESH)
)


def delete_relationship(care: Care, relationship_id: str) -> None:
    """End the relationship and all sharing at once; read its episode again afterwards.

    The record stays, with its end date, while a form or a stored embryo names both people. Raises `NotFound` if it
    has already ended or been removed.
    """
    care.act(DELETE_RELATIONSHIP, None, id=relationship_id)
