"""`python -m portal.careservice end-storage`: end an embryo's storage without the patients' decision."""

from __future__ import annotations

import argparse
import sys

from portal.careservice import database
from portal.careservice.domain.enumerations import EmbryoStatus
from portal.careservice.domain.rules import Invalid
from portal.careservice.domain.storage_ends import ENDS, EndReason, end_storage


def main(arguments: list[str]) -> int:
    """End the storage of one embryo; return the exit status, 2 if the end is refused."""
    given = _parser().parse_args(arguments)
    engine = database.connect(given.database)
    try:
        with database.new_session(engine) as session:
            end = end_storage(
                session,
                given.embryo,
                status=EmbryoStatus(given.to),
                reason=EndReason(given.reason),
                explanation=given.explanation,
                names=(given.by[0], given.by[1]),
            )
            session.commit()
    except Invalid as error:
        print(f"--{error.members[0]}: {error.message}", file=sys.stderr)
        return 2
    finally:
        engine.dispose()
    print(f"{given.embryo}: {end.status}, for {end.first_name} and {end.second_name}.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m portal.careservice end-storage",
        description="End an embryo's storage when a limit has passed, after a death or by a court's order.",
    )
    parser.add_argument("--database", required=True, help="sqlite:///path or postgresql+psycopg://…")
    parser.add_argument("--embryo", required=True, metavar="ID")
    parser.add_argument("--to", required=True, choices=[status.value for status in ENDS])
    parser.add_argument("--reason", required=True, choices=[reason.value for reason in EndReason])
    parser.add_argument(
        "--explanation", required=True, help="which limit, whose death, or the order's court and number"
    )
    parser.add_argument(
        "--by", required=True, nargs=2, metavar="NAME", help="the two people responsible for it"
    )
    return parser
