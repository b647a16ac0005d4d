"""The identity server: OpenID Connect for people, Client Credentials for servers."""
