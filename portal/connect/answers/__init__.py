"""Observations of a clinic's API: which members it sends, what can't be decoded, how long it takes."""
