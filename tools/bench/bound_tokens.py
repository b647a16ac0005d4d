"""The cost of tokens bound to a key (DPoP, RFC 9449): a page whose calls each carry a proof, against one whose calls don't."""

from __future__ import annotations

import statistics
from dataclasses import replace

from tools.bench.measures import Row, Size, _ratio, cost_of, in_turns
from tools.bench.servers import PAGE, Bench


def page_with_proofs(bench: Bench, size: Size) -> list[Row]:
    """One portal and two sessions: of a sign-in before the clinic asked for DPoP, and of one after it."""
    portal = bench.portal()
    plain = bench.sign_in(portal, "nora")
    portal.stop()
    tenants = bench.folder / "tenants-bound.toml"
    tenants.write_text(bench.tenants_text().replace("[care]\n", "[care]\ndpop = true\n", 1))
    portal = bench.portal(PORTAL_TENANTS=str(tenants))
    bound = bench.sign_in(portal, "nora")
    sessions = {"bound": bound, "plain": plain}
    costs = in_turns(
        {
            name: cost_of(replace(portal, headers=session), PAGE, size.pages)
            for name, session in sessions.items()
        },
        size.rounds,
    )
    portal.stop()
    found = statistics.median(costs["bound"])
    return [_ratio("CPU of a page with DPoP ÷ a page", 1.15, costs["bound"], costs["plain"], found)]
