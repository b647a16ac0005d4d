"""`python -m portal.careservice account`: show an account, disable or enable it, or change its roles."""

from __future__ import annotations

import argparse
import sys

from sqlalchemy import select

from portal.careservice import database
from portal.careservice.domain.permissions import EVERYONE, PATIENT
from portal.careservice.identity import sessions
from portal.careservice.identity.tables import Person, Tenant


def main(arguments: list[str]) -> int:
    """Change one account as asked and print it; return the exit status, 2 if there is no such account."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.roles and set(given.roles) > PATIENT:
        parser.error("--roles: staff who are patients of their own clinic have a second account for it")
    engine = database.connect(given.database)
    named = select(Person).join(Tenant).where(Tenant.name == given.clinic, Person.username == given.username)
    try:
        with database.new_session(engine) as session:
            person = session.scalar(named.with_for_update(of=Person))
            if person is None:
                print(f"There is no account {given.username} at the clinic {given.clinic}.", file=sys.stderr)
                return 2
            if given.is_active is not None:
                person.is_active = given.is_active
                if not person.is_active:
                    sessions.revoke_all(session, person)
            if given.roles is not None:
                person.roles = sorted(set(given.roles))
            session.commit()
            state = "active" if person.is_active else "disabled"
            print(f"{person.username} ({person.name}): {state}, roles: {', '.join(person.roles) or 'none'}")
    finally:
        engine.dispose()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m portal.careservice account",
        description="Show an account, disable or enable it, or change its roles. "
        "Disabling ends its sign-ins and tokens for good; those that name a role it has lost are refused at once.",
    )
    parser.add_argument("--database", required=True, help="sqlite:///path or postgresql+psycopg://…")
    parser.add_argument("--clinic", required=True, help="the clinic's name in its address, such as riverside")
    parser.add_argument("--username", required=True)
    active = parser.add_mutually_exclusive_group()
    active.add_argument("--disable", dest="is_active", action="store_const", const=False)
    active.add_argument("--enable", dest="is_active", action="store_const", const=True)
    parser.add_argument(
        "--roles", nargs="*", choices=sorted(EVERYONE), metavar="ROLE",
        help=f"all roles that it shall have: {', '.join(sorted(EVERYONE))}",
    )  # fmt: skip
    return parser
