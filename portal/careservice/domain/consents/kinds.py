"""The kinds of consent form that rules depend on. Any other text is a valid kind too, under the general rules."""

from __future__ import annotations

TREATMENT = "treatment"
STORAGE = "storage"
STORAGE_RENEWAL = "storagerenewal"
DISPOSITION = "disposition"
DONATION = "donation"
LEGAL_PARENTHOOD = "legalparenthood"
SURROGACY = "surrogacy"

PARTNER_SIGNS = frozenset({TREATMENT, STORAGE_RENEWAL, DISPOSITION, DONATION, SURROGACY})
"""Forms that the patient's partner, if there is one, has to sign too."""

ONE_PERSON_SIGNS = frozenset({STORAGE, LEGAL_PARENTHOOD})
"""Forms of which each of a couple has their own: the patient or the partner signs, not both."""

DECIDES = frozenset({DISPOSITION, DONATION})
"""Forms that decide what happens to embryos."""

STORES = frozenset({STORAGE, STORAGE_RENEWAL})
"""Forms that allow embryos to be stored."""

ALLOWS_MOVES = DECIDES | {TREATMENT}
"""Forms that allow embryos to leave storage."""


LISTED = (
    *("Treatment", "Storage", "StorageRenewal", "Disposition", "GeneticTesting"),
    *("Donation", "Surrogacy", "LegalParenthood", "Disclosure", "Research"),
)
"""The kinds by the names under which they are stored and hashed."""


def named(text: str) -> str:
    """A kind by its listed name, whatever its case and spaces; any other text unchanged."""
    return next((name for name in LISTED if folded(name) == folded(text)), text)


def folded(text: str) -> str:
    """A kind or title in the form in which it is compared: without case and spaces."""
    return "".join(text.split()).casefold()
