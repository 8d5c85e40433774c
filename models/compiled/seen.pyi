from typing import Any, TypeAlias

import numpy as np

_Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

class Seen:
    count: int
    def __init__(self) -> None: ...
    def numbers(self, one: _Hashes, other: _Hashes) -> tuple[_Ints, _Ints]: ...
