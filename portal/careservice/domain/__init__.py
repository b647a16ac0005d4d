"""The clinics' records: their tables, and the rules that keep them, away from HTTP."""
