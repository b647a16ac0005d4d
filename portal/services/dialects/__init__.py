"""An API's dialect by configuration: docs/dialects.md says how one is written.

`file` reads and checks, `rules` is what a file says, `reading` and `writing` are made from it once, `dialect` is what the
client works with. Without a dialect file none of this is used.
"""
