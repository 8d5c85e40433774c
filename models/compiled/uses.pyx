# cython: language_level=3, boundscheck=True, wraparound=False, initializedcheck=False
"""Loops over requests and their uses.

Numbers count from 0 by first appearance, -1 stands for what is not known. Tables of what was seen are hash tables with
a seed of the process: strangers choose host names, ports and ids, and with a hash that they know they could choose ones
that all fall into one place.
"""

from random import SystemRandom

import numpy as np

cdef extern from *:
    """
    /* Both halves of the product of two numbers, as one. */
    static inline unsigned long long folded(unsigned long long one, unsigned long long other) {
        unsigned __int128 product = (unsigned __int128) one * other;
        return (unsigned long long) (product >> 64) ^ (unsigned long long) product;
    }
    """
    unsigned long long folded(unsigned long long one, unsigned long long other) noexcept nogil

cdef unsigned long long ONE = SystemRandom().getrandbits(64)
cdef unsigned long long OTHER = SystemRandom().getrandbits(64)


def runs(const long long[:] one, const long long[:] other):
    """Of each row the number of its run of equal pairs, and of each run its first row."""
    cdef Py_ssize_t row, rows = one.shape[0]
    numbers, firsts = np.empty(rows, np.int64), np.empty(rows, np.int64)
    cdef long long[::1] number = numbers, first = firsts
    cdef long long run = -1
    for row in range(rows):
        if row == 0 or one[row] != one[row - 1] or other[row] != other[row - 1]:
            run += 1
            first[run] = row
        number[row] = run
    return numbers, firsts[:run + 1].copy()


def in_order(const long long[::1] page, const double[::1] started, const int[::1] request_id):
    """Whether rows are by ``page``, then ``started`` (NaN, which is not known, last), then ``request_id``."""
    cdef Py_ssize_t row
    for row in range(1, page.shape[0]):
        if page[row] < page[row - 1]:
            return False
        if page[row] == page[row - 1] and not started[row] > started[row - 1]:
            if started[row] != started[row]:
                # Not known: after all that is, and by number among its like.
                if started[row - 1] == started[row - 1] or request_id[row] > request_id[row - 1]:
                    continue
            elif started[row] == started[row - 1] and request_id[row] > request_id[row - 1]:
                continue
            return False
    return True


def number_pairs(const long long[:] one, const long long[:] other, const unsigned char[::1] known, long long expected):
    """A number for each different pair of ``one`` and ``other`` in the rows that are ``known``.

    ``expected``: about how many differ; a table that is small stays near the processor. Returns the number of each row
    (-1 where not known), and of each number its first row.
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


def alike(
    const long long[::1] page,
    const long long[::1] connection_id,
    const int[::1] port,
    const unsigned char[::1] kind,
    const long long[:, :] host,
    const long long[:, :] address,
    const int[::1] request_id,
    const unsigned char[::1] refused,
):
    """Requests that are the same in page, connection, port, kind and the bytes of host and address (two numbers each).

    ``kind``: a number for whatever else tells them apart. Returns of each request its group; and of each group its
    first row, least ``request_id``, how many requests it has and how many of them were refused.
    """
    cdef Py_ssize_t row, rows = page.shape[0]
    numbers, firsts, least = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    requests, denied = np.empty(rows, np.int64), np.empty(rows, np.int64)
    cdef long long[::1] number = numbers, first = firsts, least_id = least, many = requests, few = denied
    # Pages have several requests for each connection.
    cdef int[::1] table = _table(rows // 4)
    cdef unsigned long long mask = table.shape[0] - 1, slot
    cdef long long found, head, count = 0, again
    cdef unsigned long long[::1] hashes = np.empty(rows, np.uint64)
    cdef unsigned long long hashed
    # Nearly every request is like one of its connection not long before, which is found without a hash.
    cdef int[256] recent
    cdef unsigned char place
    for again in range(256):
        recent[again] = -1
    for row in range(rows):
        place = <unsigned char> (connection_id[row] ^ host[row, 1] ^ host[row, 1] >> 32)
        found = recent[place]
        if found >= 0:
            head = first[found]
            if page[head] == page[row] and connection_id[head] == connection_id[row] and port[head] == port[row] \
                    and kind[head] == kind[row] \
                    and host[head, 0] == host[row, 0] and host[head, 1] == host[row, 1] \
                    and address[head, 0] == address[row, 0] and address[head, 1] == address[row, 1]:
                number[row] = found
                many[found] += 1
                few[found] += refused[row]
                if request_id[row] < least_id[found]:
                    least_id[found] = request_id[row]
                continue
        hashed = mixed(
            mixed(mixed(page[row], connection_id[row]), (<long long> port[row]) << 8 | kind[row]),
            mixed(mixed(host[row, 0], host[row, 1]), mixed(address[row, 0], address[row, 1])),
        )
        slot = hashed & mask
        while True:
            found = table[slot]
            if found < 0:
                break
            head = first[found]
            if hashes[found] == hashed and page[head] == page[row] and connection_id[head] == connection_id[row] \
                    and port[head] == port[row] and kind[head] == kind[row] \
                    and host[head, 0] == host[row, 0] and host[head, 1] == host[row, 1] \
                    and address[head, 0] == address[row, 0] and address[head, 1] == address[row, 1]:
                break
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            count += 1
            table[slot] = <int> found
            hashes[found] = hashed
            first[found] = row
            least_id[found] = request_id[row]
            many[found] = 0
            few[found] = 0
            if 2 * count > table.shape[0]:
                table = _table(2 * count)
                mask = table.shape[0] - 1
                for again in range(count):
                    slot = hashes[again] & mask
                    while table[slot] >= 0:
                        slot = (slot + 1) & mask
                    table[slot] = <int> again
        recent[place] = <int> found
        number[row] = found
        many[found] += 1
        few[found] += refused[row]
        if request_id[row] < least_id[found]:
            least_id[found] = request_id[row]
    return (numbers, *(values[:count].copy() for values in (firsts, least, requests, denied)))


def reduce_groups(
    const long long[::1] page,
    const long long[::1] connection,
    const long long[::1] host,
    const long long[::1] address,
    const long long[::1] way,
    const unsigned char[::1] certain,
    const long long[::1] least,
    const long long[::1] requests,
    const long long[::1] refused,
):
    """Groups (see :func:`alike`) as uses: one for each page, connection, host, address, way and certainty.

    ``way``: a number for scheme and port. Returns of each group its use; and of each use its first group, least request
    id, how many requests it has, how many of them were refused, and a number for its page, host and way: its origin.
    """
    cdef Py_ssize_t row, rows = page.shape[0]
    uses, firsts, ids = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    counts, denied, origins = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.empty(rows, np.int64)
    cdef long long[::1] use = uses, first = firsts, least_id = ids, many = counts, few = denied, origin = origins
    cdef int[::1] table = _table(rows), by_origin = _table(rows)
    cdef unsigned long long mask = table.shape[0] - 1, slot
    cdef long long found, head, count = 0, origin_count = 0
    for row in range(rows):
        slot = mixed(
            mixed(page[row], connection[row]), mixed(host[row] << 32 ^ address[row], way[row] << 1 | certain[row])
        ) & mask
        while True:
            found = table[slot]
            if found < 0:
                break
            head = first[found]
            if page[head] == page[row] and connection[head] == connection[row] and host[head] == host[row] \
                    and address[head] == address[row] and way[head] == way[row] and certain[head] == certain[row]:
                break
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            count += 1
            table[slot] = <int> found
            first[found] = row
            least_id[found] = least[row]
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
        many[found] += requests[row]
        few[found] += refused[row]
        if least[row] < least_id[found]:
            least_id[found] = least[row]
    return (uses, *(values[:count].copy() for values in (firsts, ids, counts, denied, origins)))


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


def least_of_pages(const long long[::1] page, const unsigned char[::1] preference, const int[::1] request_id, pages):
    """Of each of so many ``pages`` its row with the least ``preference``, then ``request_id``; -1 where it has none."""
    cdef Py_ssize_t row
    cdef long long best
    found = np.full(pages, -1)
    cdef long long[::1] least = found
    for row in range(page.shape[0]):
        best = least[page[row]]
        if best < 0 or preference[row] < preference[best] \
                or (preference[row] == preference[best] and request_id[row] < request_id[best]):
            least[page[row]] = row
    return found


def count_different(const long long[::1] page, const long long[::1] value, const unsigned char[::1] counted, pages):
    """Of each of so many ``pages`` how many different values its ``counted`` rows have.

    By :func:`number_pairs` it would take a fifth more of all that is counted of pages.
    """
    cdef Py_ssize_t row, rows = page.shape[0]
    counts = np.zeros(pages, np.int64)
    cdef long long[::1] count = counts
    cdef int[::1] table = _table(rows)
    cdef unsigned long long mask = table.shape[0] - 1, slot
    cdef long long found
    for row in range(rows):
        if not counted[row]:
            continue
        slot = mixed(page[row], value[row]) & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = <int> row
                count[page[row]] += 1
                break
            if page[found] == page[row] and value[found] == value[row]:
                break
            slot = (slot + 1) & mask
    return counts


def sums_of_pages(const long long[::1] page, const long long[::1] number, const unsigned char[::1] counted, pages):
    """Of each of so many ``pages`` the sum of its ``counted`` rows' numbers."""
    cdef Py_ssize_t row
    sums = np.zeros(pages, np.int64)
    cdef long long[::1] whole = sums
    for row in range(page.shape[0]):
        if counted[row]:
            whole[page[row]] += number[row]
    return sums


def _table(long long rows):
    """An empty table with room for so many, at most half full."""
    size = 1 << max(4, (2 * rows - 1).bit_length())
    return np.full(size, -1, np.int32)


cdef inline unsigned long long mixed(unsigned long long one, unsigned long long other) noexcept nogil:
    return folded(one ^ ONE, other ^ OTHER)
