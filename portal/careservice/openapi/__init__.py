"""The OpenAPI 3.1 document of the care API."""
