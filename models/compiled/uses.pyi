from typing import Any, TypeAlias

import numpy as np

_Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
_Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
_Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

def runs(one: _Ints, other: _Ints) -> tuple[_Ints, _Ints]: ...
def in_order(page: _Ints, started: _Floats, request_id: _Numbers) -> bool: ...
def number_pairs(one: _Ints, other: _Ints, known: _Bytes, expected: int) -> tuple[_Ints, _Ints]: ...
def find_pairs(one: _Ints, other: _Ints, asked_one: _Ints, asked_other: _Ints) -> _Ints: ...
def alike(
    page: _Ints,
    connection_id: _Ints,
    port: _Numbers,
    kind: _Bytes,
    host: _Ints,
    address: _Ints,
    request_id: _Numbers,
    refused: _Bytes,
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...
def reduce_groups(
    page: _Ints,
    connection: _Ints,
    host: _Ints,
    address: _Ints,
    way: _Ints,
    certain: _Bytes,
    least: _Ints,
    requests: _Ints,
    refused: _Ints,
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]: ...
def first_opened(
    origin: _Ints, connection: _Ints, refused: _Bytes, opened: _Floats, started: _Floats, request_id: _Ints
) -> _Ints: ...
def least_of_pages(page: _Ints, preference: _Bytes, request_id: _Numbers, pages: int) -> _Ints: ...
def count_different(page: _Ints, value: _Ints, counted: _Bytes, pages: int) -> _Ints: ...
def sums_of_pages(page: _Ints, number: _Ints, counted: _Bytes, pages: int) -> _Ints: ...
