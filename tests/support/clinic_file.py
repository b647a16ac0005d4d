"""A clinic as its tenants file says, with some keys of it replaced."""

from __future__ import annotations

from joserfc.jwk import RSAKey

from portal.config.tenants import Tenant
from portal.config.tenants_file import load_tenants
from portal.demo.stack import DemoSetup, tenants_file

KEY = RSAKey.generate_key(2048)
SECRET = "a+b/c=d%"  # what HTTP Basic has to encode
ROLES = 'claim = "role"\npatient = ["patient"]\nstaff = ["nurse"]'


def configured(where: DemoSetup, tenant: str = "", roles: str = ROLES) -> Tenant:
    """Riverside, with these lines in its table in place of others of the same keys, and these roles."""
    text, _, _rest = tenants_file(where).partition("[tenants.harbour]")
    before, _, after = text.partition("[tenants.riverside.roles]")
    own = tenant.splitlines()
    replaced = {line.partition(" = ")[0] for line in own} | {"tenant_id"}
    if "client_key_env" in replaced:
        replaced.add("client_secret_env")
    head, _, table = before.partition("[tenants.riverside]")
    kept = [line for line in table.splitlines() if line.partition(" = ")[0] not in replaced]
    written = "\n".join((head, "[tenants.riverside]", *kept, 'tenant_id = "riverside"', *own))
    _, _, service = after.partition("[tenants.riverside.service_client]")
    file = where.data / "clinic.toml"
    file.write_text(
        f"{written}\n[tenants.riverside.roles]\n{roles}\n[tenants.riverside.service_client]{service}"
    )
    secrets = {"RIVERSIDE_CLIENT_SECRET": SECRET, "RIVERSIDE_KEY": KEY.as_pem(private=True).decode()}
    return load_tenants(file, {**where.secrets, **secrets}).by_key["riverside"]
