"""Document seals: PAdES signatures (ETSI EN 319 142-1, level B-B: no time stamp, no revocation data).

A seal certifies that nothing is changed afterwards, is invisible on the page, and keeps the document PDF/UA-1.
"""

# Much of pyHanko and asn1crypto has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import io
from typing import Any

import tzlocal
from asn1crypto import keys, x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign.fields import InvisSigSettings, MDPPerm, SigFieldSpec, SigSeedSubFilter
from pyhanko.sign.signers import PdfSignatureMetadata, PdfSigner, SimpleSigner
from pyhanko.sign.signers.constants import ESIC_EXTENSION_1
from pyhanko.sign.signers.pdf_cms import PdfCMSSignedAttributes
from pyhanko_certvalidator.registry import SimpleCertificateStore

from portal.printing import Seal
from portal.printing.credentials import Credentials

_FIELD = "Seal"


class DocumentSealer:
    """Seals documents with these credentials. Everything it needs from the system is read on construction."""

    def __init__(self, credentials: Credentials) -> None:
        tzlocal.get_localzone()  # reads system files and caches the result; pyHanko needs it for each document
        self._loop = asyncio.new_event_loop()
        certificates = [
            x509.Certificate.load(certificate.public_bytes(Encoding.DER))
            for certificate in credentials.certificates
        ]
        issuers = SimpleCertificateStore()
        issuers.register_multiple(certificates[1:])
        key = credentials.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        self._signer = SimpleSigner(certificates[0], keys.PrivateKeyInfo.load(key), issuers)

    def sealed(self, document: bytes, seal: Seal) -> bytes:
        return self._loop.run_until_complete(self._signed(document, seal))

    async def _signed(self, document: bytes, seal: Seal) -> bytes:
        about = PdfSignatureMetadata(
            field_name=_FIELD,
            md_algorithm="sha256",
            name=seal.name,
            reason=seal.reason,
            subfilter=SigSeedSubFilter.PADES,
            certify=True,
            docmdp_permissions=MDPPerm.NO_CHANGES,
        )
        field = SigFieldSpec(
            _FIELD,
            # A field that is neither visible nor read aloud (ISO 14289-1 §7.18.1).
            invis_sig_settings=InvisSigSettings(box_out_of_bounds=True),
            readable_field_name=seal.reason,
        )
        session = _PdfSigner(about, self._signer, new_field_spec=field).init_signing_session(
            IncrementalPdfFileWriter(io.BytesIO(document))
        )
        session.system_time = seal.made_at
        size = await session.estimate_signature_container_size(None)
        prepared = session.prepare_tbs_document(None, size)
        output = io.BytesIO()
        digest, _ = prepared.digest_tbs_document(output=output)
        attributes = PdfCMSSignedAttributes(signing_time=seal.made_at)
        await prepared.perform_signature(digest.document_digest, attributes)
        return output.getvalue()


class _PdfSigner(PdfSigner):
    """Doesn't mark documents signed with an elliptic curve as PDF 2.0, as pyHanko does: PDF/UA-1 is based on PDF 1.7."""

    def register_extensions(self, pdf_out: Any, *, md_algorithm: str) -> None:
        pdf_out.register_extension(ESIC_EXTENSION_1)
