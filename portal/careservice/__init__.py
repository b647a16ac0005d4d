"""The embedded care service: an OpenID Connect identity server and the care API over one database.

It runs as a separate process (`python -m portal.careservice`) and imports nothing from the portal,
which reaches it over HTTP only, like any other care service.
"""
