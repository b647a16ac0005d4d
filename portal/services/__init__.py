"""The thin layer between the pages and the care API: one module per resource of the specification."""
