# cython: language_level=3, boundscheck=True, wraparound=False, initializedcheck=False
"""Loops over requests and their uses.

Numbers count from 0 by first appearance, -1 stands for what is not known. Tables of what was seen are hash tables with
a seed of the process: strangers choose host names, ports and ids, and with a hash that they know they could choose ones
that all fall into one place.
"""

from random import SystemRandom

import numpy as np

cdef unsigned long long SEED = SystemRandom().getrandbits(64)


def number_pairs(const long long[:] one, const long long[:] other, const unsigned char[::1] known, long long expected):
    """A number for each different pair of ``one`` and ``other`` in the rows that are ``known``.

    ``expected``: about how many differ; a table that is small stays near the processor. Returns the number of each row (-1 where not known), and of each number its first row.
    """
    cdef Py_ssize_t row, rows = known.shape[0]
    numbers = np.full(rows, -1)
    firsts = np.empty(rows, np.int64)
    cdef long long[::1] number = numbers, first = firsts
    cdef int[::1] table = _table(expected)
    cdef unsigned long long mask = table.shape[0] - 1, slot
    cdef long long found, count = 0, again
    for row in range(rows):
        if not known[row]:
            continue
        slot = mixed(one[row], other[row]) & mask
        while True:
            found = table[slot]
            if found < 0:
                break
            if one[first[found]] == one[row] and other[first[found]] == other[row]:
                break
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            count += 1
            table[slot] = <int> found
            first[found] = row
            if 2 * count > table.shape[0]:
                table = _table(2 * count)
                mask = table.shape[0] - 1
                for again in range(count):
                    slot = mixed(one[first[again]], other[first[again]]) & mask
                    while table[slot] >= 0:
                        slot = (slot + 1) & mask
                    table[slot] = <int> again
        number[row] = found
    return numbers, firsts[:count].copy()


def find_pairs(
    const long long[:] one, const long long[:] other, const long long[::1] asked_one, const long long[::1] asked_other
):
    """Of each asked pair its first row among those of ``one`` and ``other``, -1 where it is not there."""
    cdef Py_ssize_t row, rows = one.shape[0]
    places = np.full(asked_one.shape[0], -1)
    cdef long long[::1] place = places
    cdef int[::1] table = _table(rows)
    cdef unsigned long long mask = table.shape[0] - 1, slot
    cdef long long found
    for row in range(rows):
        slot = mixed(one[row], other[row]) & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = <int> row
                break
            if one[found] == one[row] and other[found] == other[row]:
                break
            slot = (slot + 1) & mask
    for row in range(asked_one.shape[0]):
        slot = mixed(asked_one[row], asked_other[row]) & mask
        while True:
            found = table[slot]
            if found < 0:
                break
            if one[found] == asked_one[row] and other[found] == asked_other[row]:
                place[row] = found
                break
            slot = (slot + 1) & mask
    return places


def reduce_requests(
    const long long[::1] page,
    const long long[::1] connection,
    const long long[::1] heads,
    const long long[::1] host,
    const long long[::1] address,
    const long long[::1] way,
    const unsigned char[::1] certain,
    const int[::1] request_id,
    const unsigned char[::1] refused,
):
    """Requests as uses: one for each page, connection, host, address, way and certainty.

    ``way``: a number for scheme and port. ``heads``: of each connection its first row. Returns of each request its use;
    and of each use its first row, least ``request_id``, how many requests it has, how many of them were refused, and a
    number for its page, host and way: its origin.
    """
    cdef Py_ssize_t row, rows = page.shape[0]
    uses = np.empty(rows, np.int64)
    firsts, least, requests = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    denied, origins = np.empty(rows, np.int64), np.empty(rows, np.int64)
    cdef long long[::1] use = uses, first = firsts, least_id = least, many = requests, few = denied, origin = origins
    # Nearly every connection serves one host: what equals its connection's first request needs no search.
    cdef int[::1] table = _table(rows), by_origin = _table(rows)
    cdef unsigned long long mask = table.shape[0] - 1, slot
    cdef long long found, head, count = 0, origin_count = 0
    for row in range(rows):
        found = -1
        head = -1
        if connection[row] >= 0:
            head = heads[connection[row]]
            if head != row and host[head] == host[row] and address[head] == address[row] and way[head] == way[row] \
                    and certain[head] == certain[row]:
                found = use[head]
        if found < 0 and head != row:
            slot = mixed(mixed(page[row], connection[row]), mixed(host[row] << 32 ^ address[row],
                                                                  way[row] << 1 | certain[row])) & mask
            while True:
                found = table[slot]
                if found < 0:
                    table[slot] = <int> count
                    break
                head = first[found]
                if page[head] == page[row] and connection[head] == connection[row] and host[head] == host[row] \
                        and address[head] == address[row] and way[head] == way[row] and certain[head] == certain[row]:
                    break
                slot = (slot + 1) & mask
        if found < 0:
            found = count
            count += 1
            first[found] = row
            least_id[found] = request_id[row]
            many[found] = 0
            few[found] = 0
            slot = mixed(page[row] << 32 ^ host[row], way[row]) & mask
            while True:
                head = by_origin[slot]
                if head < 0:
                    by_origin[slot] = <int> found
                    origin[found] = origin_count
                    origin_count += 1
                    break
                if page[first[head]] == page[row] and host[first[head]] == host[row] and way[first[head]] == way[row]:
                    origin[found] = origin[head]
                    break
                slot = (slot + 1) & mask
        use[row] = found
        many[found] += 1
        few[found] += refused[row]
        if request_id[row] < least_id[found]:
            least_id[found] = request_id[row]
    return (uses, *(values[:count].copy() for values in (firsts, least, requests, denied, origins)))


def first_opened(
    const long long[::1] origin,
    const long long[::1] connection,
    const unsigned char[::1] refused,
    const double[::1] opened,
    const double[::1] started,
    const long long[::1] request_id,
):
    """Of each origin its use on the connection that was opened first.

    One row a use, except ``opened``, of each connection (ms, NaN where not known). Where that is not known, the least
    ``started`` (ms) of its uses stands for it, then infinity; of two opened at one time the one with the least
    ``request_id`` is first. Connections that only ``refused`` the origin come after all others. Returns rows,
    ascending.
    """
    cdef Py_ssize_t row, rows = origin.shape[0]
    cdef long long at, before
    cdef double[::1] when = np.full(opened.shape[0], np.inf)
    cdef long long[::1] number = np.full(opened.shape[0], np.iinfo(np.int64).max)
    for row in range(rows):
        at = connection[row]
        if started[row] < when[at]:
            when[at] = started[row]
        if request_id[row] < number[at]:
            number[at] = request_id[row]
    for row in range(opened.shape[0]):
        if opened[row] == opened[row]:
            when[row] = opened[row]
    best = np.full(np.max(origin, initial=-1) + 1, -1)
    cdef long long[::1] chosen = best
    for row in range(rows):
        before = chosen[origin[row]]
        if before < 0:
            chosen[origin[row]] = row
            continue
        if refused[row] != refused[before]:
            if refused[before]:
                chosen[origin[row]] = row
            continue
        at, before = connection[row], connection[before]
        if when[at] < when[before] or (when[at] == when[before] and number[at] < number[before]):
            chosen[origin[row]] = row
    return np.sort(best[best >= 0])


def _table(long long rows):
    """An empty table with room for so many, at most half full."""
    size = 1 << max(4, (2 * rows - 1).bit_length())
    return np.full(size, -1, np.int32)


cdef inline unsigned long long mixed(unsigned long long one, unsigned long long other) noexcept nogil:
    cdef unsigned long long mix = (one ^ SEED) * 0x9E3779B97F4A7C15ull
    mix = (mix ^ (mix >> 32) ^ other) * 0xD6E8FEB86659FD93ull
    mix = (mix ^ (mix >> 32)) * 0xD6E8FEB86659FD93ull
    return mix ^ (mix >> 32)
