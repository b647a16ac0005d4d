"""`python -m portal.careservice`: run the service, or replace its signing keys."""

from __future__ import annotations

import sys

from portal.careservice import database
from portal.careservice.app import create_app
from portal.careservice.settings import Settings


def main() -> None:
    """Run what the command line asks for."""
    settings = Settings(database_url=sys.argv[1], issuer=sys.argv[2])
    database.create_tables(database.connect(settings.database_url))
    create_app(settings)


if __name__ == "__main__":
    main()
