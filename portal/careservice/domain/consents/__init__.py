"""Consent forms: what they say, who signs them, how they are made, signed and withdrawn."""
