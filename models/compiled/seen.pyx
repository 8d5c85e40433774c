# cython: language_level=3, boundscheck=True, wraparound=False, initializedcheck=False
"""A number for each different key of 128 bits, over many calls."""

import numpy as np

cdef extern from *:
    """
    #define will_read(place) __builtin_prefetch(place)
    """
    void will_read(const void *place) noexcept nogil

cdef enum:
    # How many keys are looked for at a time: memory answers that many questions in the time of one.
    TOGETHER = 32


cdef class Seen:
    """Numbers from 0, by first appearance.

    Keys are hashes already, so a part of one is its place in the table. An entry has the number, plus 1, in its lower
    half, and in the upper half what nearly always tells that the key is another, without looking at the key.
    """

    cdef unsigned long long[::1] _table
    cdef unsigned long long[:, ::1] _keys
    cdef readonly long long count

    def __init__(self):
        self._table = np.zeros(1 << 12, np.uint64)
        self._keys = np.empty((1 << 11, 2), np.uint64)
        self.count = 0

    def numbers(self, const unsigned long long[::1] one, const unsigned long long[::1] other):
        """Of each key, given by its halves, its number; and the rows of keys that are new, of each its first."""
        cdef Py_ssize_t first, last, row, rows = one.shape[0]
        if other.shape[0] != rows:
            raise ValueError("halves of different length")
        self._make_room(self.count + rows)
        found, fresh = np.empty(rows, np.int64), np.empty(rows, np.int64)
        cdef long long[::1] number = found, new = fresh
        cdef unsigned long long[::1] table = self._table
        cdef unsigned long long[:, ::1] keys = self._keys
        cdef unsigned long long mask = table.shape[0] - 1, slot, entry, low = 0xFFFFFFFF
        cdef long long known, count = self.count
        for first in range(0, rows, TOGETHER):
            last = min(first + TOGETHER, rows)
            for row in range(first, last):
                will_read(&table[other[row] & mask])
            for row in range(first, last):
                entry = table[other[row] & mask]
                if entry:
                    known = <long long> (entry & low) - 1
                    will_read(&keys[known, 0])
            for row in range(first, last):
                slot = other[row] & mask
                while True:
                    entry = table[slot]
                    known = <long long> (entry & low) - 1
                    if entry == 0:
                        known = count
                        new[known - self.count] = row
                        keys[known, 0] = one[row]
                        keys[known, 1] = other[row]
                        count += 1
                        table[slot] = (one[row] >> 32 << 32) | <unsigned long long> count
                        break
                    if entry >> 32 == one[row] >> 32 and keys[known, 0] == one[row] and keys[known, 1] == other[row]:
                        break
                    slot = (slot + 1) & mask
                number[row] = known
        fresh = fresh[:count - self.count].copy()
        self.count = count
        return found, fresh

    cdef _make_room(self, long long keys):
        """For so many keys, with at most half of the table taken."""
        cdef unsigned long long mask, slot
        cdef unsigned long long[:, ::1] old = self._keys
        cdef Py_ssize_t number
        if keys > old.shape[0]:
            size = 1 << int(keys - 1).bit_length()
            self._keys, self._table = np.empty((size, 2), np.uint64), np.zeros(2 * size, np.uint64)
            mask = self._table.shape[0] - 1
            self._keys[:self.count] = old[:self.count]
            for number in range(self.count):
                slot = old[number, 1] & mask
                while self._table[slot]:
                    slot = (slot + 1) & mask
                self._table[slot] = (old[number, 0] >> 32 << 32) | <unsigned long long> (number + 1)
