"""The three webhook operations, which are authenticated by a signature instead of a token."""

from __future__ import annotations

from portal.careservice.openapi.operations import Json
from portal.careservice.openapi.schemas import REF

_TEXT: Json = {"type": "string"}
_WEBHOOK_BODIES: dict[str, Json] = {
    "/smsinbound": {
        "application/x-www-form-urlencoded": {
            "schema": {
                "type": "object",
                "properties": {
                    "MessageSid": {"type": "string", "minLength": 1, "maxLength": 64},
                    "From": {"type": "string", "minLength": 1, "maxLength": 40},
                    "To": {"type": "string", "minLength": 1, "maxLength": 40},
                    "Body": _TEXT,
                    "NumMedia": {"type": "integer", "minimum": 0, "maximum": 999},
                },
                "required": ["MessageSid", "From", "To", "Body"],
            }
        }
    },
    "/emailinbound": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(("from", "to", "subject", "text", "html", "headers"), _TEXT),
                    "envelope": {
                        "type": "string",
                        "description": 'JSON: {"to": [addresses], "from": address}',
                    },
                    "SPF": {
                        "type": "string",
                        "description": "the result of SPF for the envelope's sender: pass, fail …",
                    },
                    "dkim": {
                        "type": "string",
                        "description": "results of DKIM: {@domain : pass, @other : fail}",
                    },
                    "charsets": {
                        "type": "string",
                        "description": 'JSON: the charset of each field that is not UTF-8, {"text": "iso-8859-1"}',
                    },
                    "attachments": {"type": "integer", "description": "the number of files attachment1 …"},
                    "attachment1": {"type": "string", "contentMediaType": "application/octet-stream"},
                },
                "required": ["from", "to"],
            }
        }
    },
    "/api/payment/webhook/payment-provider": {
        "application/json": {"schema": {"$ref": REF.format(name="PaymentEvent")}}
    },
}

_KEPT = (
    " Bounds hold before anything is parsed: 200 parts, HTML and headers 256 KiB each, a single header or field 8 KiB, 50"
    " addresses, charsets of a fixed list, JSON nested 10 deep. What a clinic got but can't be read completely is stored"
    " for its staff alone with the original attached, and answered with 200."
)

_TWILIO = (
    " Texts of a clinic whose settings hold its Twilio Auth Token may carry `X-Twilio-Signature` instead of the three"
    " headers; the answer is then empty TwiML."
)


def webhook_operation(path: str) -> Json:
    """The document's description of the operation at `path`."""
    error: Json = {"application/json": {"schema": {"$ref": REF.format(name="ErrorBody")}}}
    receipt: Json = {"application/json": {"schema": {"$ref": REF.format(name="Receipt")}}}
    meanings = {
        200: (
            "Accepted, or without effect (`accepted` false); the same answer for the same webhook-id",
            receipt,
        ),
        400: ("Bad Request: malformed", error),
        401: ("Unauthorized: no valid signature, or one older than five minutes", None),
        413: ("Content Too Large: over 64 KiB (SMS), 25 MiB (e-mail) or 256 KiB (payment)", None),
        500: ("Internal Server Error", None),
        503: ("Service Unavailable: not accepted, to be delivered again after Retry-After", None),
    }
    waits: Json = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}, "x-assumed": True}}
    return {
        "description": "A signature over the raw body (Standard Webhooks) authenticates the sender, not a bearer token."
        + _TWILIO * (path == "/smsinbound")
        + _KEPT * (path == "/emailinbound"),
        "x-assumed": True,
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "schema": {"type": "string", "pattern": pattern},
                "x-assumed": True,
            }
            for name, pattern in (("webhook-id", "^[!-~]{1,200}$"), ("webhook-timestamp", "^[0-9]{1,12}$"))
        ],
        "security": [{"webhookSignature": []}],
        "requestBody": {"required": True, "content": _WEBHOOK_BODIES[path], "x-assumed": True},
        "responses": {
            str(code): {
                "description": meaning,
                "x-assumed": True,
                **({"content": content} if content else {}),
                **({"headers": waits} if code == 503 else {}),
            }
            for code, (meaning, content) in meanings.items()
        },
    }
