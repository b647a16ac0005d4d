"""Relationships between a patient and other people."""

from __future__ import annotations

from datetime import date

from portal.services.decoding import Choice, Id, Record


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


class Relationship(Record, frozen=True, kw_only=True):
    """Another person in a patient's care, and whether the treatment is shared with them."""

    id: Id
    patient_id: Id | None = None
    related_patient_id: Id | None = None
    related_name: str = ""
    type: RelationshipType | None = None
    is_portal_shared: bool = False
    start_date: date | None = None
    end_date: date | None = None

    def is_ended(self, today: date) -> bool:
        """Whether it has ended: nothing is shared any more, and only signed records still name the person."""
        return self.end_date is not None and self.end_date <= today
