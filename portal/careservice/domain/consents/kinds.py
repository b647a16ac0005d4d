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


def folded(text: str) -> str:
    """A kind or title as it is compared: without case and spaces."""
    return "".join(text.split()).casefold()
