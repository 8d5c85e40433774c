"""The numbers of HARs that are taken: JSON's have no end, columns have."""

from __future__ import annotations

from typing import Annotated

import msgspec

Place = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Number = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
# A duration, or a time on a page load's clock: none is longer than some four months. NaN and infinity are refused.
Milliseconds = Annotated[float, msgspec.Meta(ge=-1e10, le=1e10)]
# A count of bytes, a status, seconds since 1970: integers that a float holds exactly.
Quantity = Annotated[float, msgspec.Meta(ge=-(2.0**53), le=2.0**53)]
