from typing import Any

import numpy as np

_Ints = np.ndarray[Any, np.dtype[np.int64]]
_Numbers = np.ndarray[Any, np.dtype[np.int32]]
_Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_Floats = np.ndarray[Any, np.dtype[np.float64]]

def number_pairs(one: _Ints, other: _Ints, known: _Bytes, expected: int) -> tuple[_Ints, _Ints]: ...
def find_pairs(one: _Ints, other: _Ints, asked_one: _Ints, asked_other: _Ints) -> _Ints: ...
def reduce_requests(
    page: _Ints,
    connection: _Ints,
    heads: _Ints,
    host: _Ints,
    address: _Ints,
    way: _Ints,
    certain: _Bytes,
    request_id: _Numbers,
    refused: _Bytes,
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...
def first_opened(
    origin: _Ints, connection: _Ints, refused: _Bytes, opened: _Floats, started: _Floats, request_id: _Ints
) -> _Ints: ...
