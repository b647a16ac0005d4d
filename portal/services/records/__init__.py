"""The care API's records and enumerations by resource, and what follows from a record alone.

Only what a record is meaningless without is required; the rest is None, empty or "" when not given.
Members, enumerations and moves: docs/assumptions.md.
"""
