"""The care API's records and enumerations by resource, and properties derived from a single record.

Only members that a record is meaningless without are required; the others are None, empty or "" if not given. For
members, enumerations and status changes see docs/assumptions.md.
"""
