"""The clinics' records: their tables and business rules, independent of HTTP."""
