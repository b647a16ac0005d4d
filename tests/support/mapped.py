"""Maps the care service's classes to its tables when imported: each fork would do it again."""

from sqlalchemy.orm import configure_mappers

import portal.careservice.__main__  # noqa: F401  # declares them

configure_mappers()
