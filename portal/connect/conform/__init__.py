"""`python -m portal conform`: how much of what the portal uses a clinic's API provides, and a draft dialect file.

`sign_in` gets a person's token, `walk` reads everything that person can reach, `judge` compares the responses with the
portal's records, `propose` drafts a dialect, `report` prints the results. docs/conformance.md is the operator's guide.
"""
