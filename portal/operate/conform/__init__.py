"""`python -m portal conform`: what a clinic's API gives of all that the portal can use, and a dialect file to begin with.

`sign_in` gets a person's token, `walk` reads what that person can reach, `judge` holds the answers against the portal's
records, `propose` writes a dialect, `report` says it all. docs/conformance.md takes an operator through it.
"""
