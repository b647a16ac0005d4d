"""Authentication-Results (RFC 8601): what the sender could write into them counts for nothing."""

from __future__ import annotations

import pytest

from portal.careservice.webhooks.senders import Result, is_verified, of_headers

RECEIVER = "mx.riverside.example"
PATIENT = "amelia@home.example"


@pytest.mark.parametrize(
    "results",
    [
        'spf=pass smtp.mailfrom="x; dmarc=pass header.from=home.example"@evil.example',
        'spf=pass smtp.mailfrom="\\"; dmarc=pass header.from=home.example; \\""@evil.example',
        'spf=pass smtp.mailfrom="("@evil.example; dkim=none (;) ; x=")"; spf=none',
        "spf=pass smtp.mailfrom=dmarc=pass@evil.example",
        'spf=pass smtp.mailfrom="a@home.example "@evil.example',
        'dkim=pass header.i="a@home.example"@evil.example',
        "spf=pass smtp.helo=header.from=home.example",
        "spf=pass smtp.mailfrom=header.from=home.example@evil.example",
        "iprev=pass policy.iprev=192.0.2.1 smtp.mailfrom=dmarc=pass@home.example",
        "spf=pass (x (dmarc=pass); dmarc=pass header.from=home.example) smtp.mailfrom=x@evil.example",
        'dkim=fail reason="; dkim=pass header.d=home.example" header.d=home.example',
        "x-dkim=pass header.d=home.example",
        "dmarc=none header.from=home.example",
        "dmarc=none header.from=home.example; spf=pass smtp.mailfrom=x@evil.example",
        "dmarc=temperror header.from=home.example; dkim=pass header.d=home.example",
        "dmarc=fail; dkim=pass header.d=home.example",
        "dmarc=fail header.from=home.example; dmarc=pass header.from=home.example",
        "dmarc=pass header.from=evil.example",
        "dmarc=pass header.from=mail.home.example",
        "dkim=pass header.d=example",
        "dkim=pass header.d=athome.example",
        "spf=pass",
    ],
)
def test_words_of_the_sender_verify_nobody(results: str) -> None:
    assert not is_verified(PATIENT, of_headers([f"{RECEIVER}; {results}"], RECEIVER))


@pytest.mark.parametrize(
    "results",
    [
        "dmarc=none header.from=home.example; dkim=pass header.d=home.example",
        "dmarc=none; spf=pass smtp.mailfrom=amelia@home.example",
        "dkim/1=pass (2048-bit key; secure) header.d=home.example header.b=abc",
        'spf=pass smtp.mailfrom="amelia@home.example"',
        'spf=pass smtp.mailfrom="a b;c"@home.example',
        "dkim=fail header.d=evil.example;\r\n dkim = pass header.i=@home.example",
        "spf=pass smtp.mailfrom=x@bounce.home.example",
        "dmarc=fail header.from=evil.example; dkim=pass header.d=home.example",
        "dmarc=pass; spf=fail smtp.mailfrom=amelia@home.example",
        "dmarc=PASS header.from=HOME.example",
    ],
)
def test_a_policy_or_without_one_an_aligned_signature_or_envelope_verifies(results: str) -> None:
    assert is_verified(PATIENT, of_headers([f"{RECEIVER}; {results}"], RECEIVER))


def test_a_parents_signature_verifies_but_not_another_servers_word() -> None:
    assert is_verified("amelia@mail.home.example", [Result("dkim", True, "home.example")])
    for given, receiver in (("mx.evil.example", RECEIVER), (f"{RECEIVER}.evil.example", RECEIVER), ("", "")):
        assert not of_headers([f"{given}; dmarc=pass header.from=home.example"], receiver)
