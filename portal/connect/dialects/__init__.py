"""API dialects, defined by configuration files (docs/dialects.md).

`file` reads and validates a dialect file, `rules` holds its content, `reading` and `writing` are built from that once, and
`dialect` is what the client uses. Without a dialect file none of this is used.
"""
