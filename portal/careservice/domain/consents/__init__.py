"""Consent forms: their content and signers, and how they are created, signed and withdrawn."""
