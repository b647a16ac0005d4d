"""The kinds of consent form that rules know. A kind is data: any other text is one too, under the general rules."""

from __future__ import annotations

TREATMENT = "treatment"
STORAGE = "storage"
STORAGE_RENEWAL = "storagerenewal"
DISPOSITION = "disposition"
DONATION = "donation"
LEGAL_PARENTHOOD = "legalparenthood"
SURROGACY = "surrogacy"

PARTNER_SIGNS = frozenset(
    {TREATMENT, STORAGE, STORAGE_RENEWAL, DISPOSITION, DONATION, LEGAL_PARENTHOOD, SURROGACY}
)
"""Forms that the patient's partner signs too, where there is one."""

DECIDES = frozenset({DISPOSITION, DONATION})
"""Forms that say what becomes of embryos."""

STORES = frozenset({STORAGE, STORAGE_RENEWAL})
"""Forms that let embryos be kept."""


LISTED = (
    *("Treatment", "Storage", "StorageRenewal", "Disposition", "GeneticTesting"),
    *("Donation", "Surrogacy", "LegalParenthood", "Disclosure", "Research"),
)
"""The kinds by the names under which they are kept and hashed."""


def named(text: str) -> str:
    """A kind by its listed name, however case and spaces were given; any other as it was given."""
    return next((name for name in LISTED if folded(name) == folded(text)), text)


def folded(text: str) -> str:
    """A kind or title as it is compared: without case and spaces."""
    return "".join(text.split()).casefold()
