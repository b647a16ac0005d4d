"""APIs of other vendors: the fake API in other names, forms and addresses, each with its dialect file.

What a vendor does otherwise is declared in tables of its own (`Vendor`); nothing here knows of the portal's dialects.
"""

from tests.support.vendors.fiord import FIORD
from tests.support.vendors.lattice import LATTICE
from tests.support.vendors.vendor import Vendor, VendorsApi

VENDORS = (FIORD, LATTICE)

__all__ = ["FIORD", "LATTICE", "VENDORS", "Vendor", "VendorsApi"]
