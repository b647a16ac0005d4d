"""The embedded care service: an OpenID Connect identity server and the care API over one database.

It runs as a process of its own (`python -m portal.careservice`), imports nothing of the portal,
and is reached by it over HTTP alone, as any other care service would be.
"""
