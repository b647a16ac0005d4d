"""The operator's command that disables an account or changes its roles."""

from __future__ import annotations

import pytest

from portal.careservice.__main__ import main
from tests.careservice.identity.identity_server import IdentityServer


def run(server: IdentityServer, *options: str, username: str = "nora", clinic: str = "riverside") -> int:
    return main(["account", "--database", server.url, "--clinic", clinic, "--username", username, *options])


def test_disabling_refuses_tokens_and_enabling_allows_signing_in(
    server: IdentityServer, capsys: pytest.CaptureFixture[str]
) -> None:
    token = server.tokens("nora")["access_token"]
    assert run(server, "--disable") == 0
    assert "disabled, roles: nurse" in capsys.readouterr().out
    assert server.userinfo(token).status_code == 401
    assert run(server, "--enable") == 0
    assert "active, roles: nurse" in capsys.readouterr().out
    assert server.userinfo(server.tokens("nora")["access_token"]).status_code == 200


def test_enabling_revives_no_sign_in_and_no_token_of_before(server: IdentityServer) -> None:
    before, other = server.tokens("nora"), server.tokens("amelia")
    assert run(server, "--disable") == run(server, "--enable") == 0
    assert server.userinfo(before["access_token"]).status_code == 401
    assert server.refresh(before["refresh_token"]).status_code == 400
    assert server.userinfo(other["access_token"]).status_code == 200


def test_roles_are_replaced_and_another_clinics_namesake_is_left_alone(
    server: IdentityServer, capsys: pytest.CaptureFixture[str]
) -> None:
    refresh_token = server.tokens("nora")["refresh_token"]
    assert run(server, "--roles", "nurse", "coordinator") == 0
    assert run(server, clinic="harbour") == 2
    assert run(server) == 0, "without a change it shows the account"
    printed = capsys.readouterr()
    assert printed.out.count("active, roles: coordinator, nurse") == 2
    assert "no account nora at the clinic harbour" in printed.err
    renewed = server.refresh(refresh_token).get_json()["access_token"]
    assert server.read(renewed).claims["role"] == ["coordinator", "nurse"]
    assert run(server, "--roles") == 0
    assert "roles: none" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [("--roles", "surgeon"), ("--disable", "--enable"), ("--roles", "patient", "nurse")]
)
def test_unusable_options_are_explained(
    server: IdentityServer, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(server, *options)
    assert options[0] in capsys.readouterr().err
    assert run(server) == 0
    assert "active, roles: nurse" in capsys.readouterr().out, "nothing has changed"
