"""Connecting the API of another vendor: dialects, conformance, what the portal needs of an API, and what never came.

The services know of it by `portal.services.interfaces` alone, and a portal whose clinics have no dialect doesn't load the
translation at all.
"""
