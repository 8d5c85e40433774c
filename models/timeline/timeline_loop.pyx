# cython: language_level=3, boundscheck=True, wraparound=False, initializedcheck=False
"""Loops over the requests of pages: what each waited for, and what coalescing does to it."""

import numpy as np

from libc.math cimport INFINITY

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    NONE = -1


cdef inline double _ms(double phase) noexcept:
    # Of a time that is not a number no comparison is true.
    return phase if phase > 0 else 0


def measured_timeline(requests, bint by_time):
    """The fields of :class:`originset.models.timeline.timeline_rules.MeasuredTimeline`, from ``Requests`` of that module.

    Takes memory for the greatest number and lane. Of several requests with one number the first stands for them.
    """
    rows = requests.started.size
    handshake, established, first_byte, ended = (np.empty(rows) for _ in range(4))
    _times(requests, established, handshake, first_byte, ended)
    opener, overlap = np.full(rows, NONE), np.zeros(rows)
    _openers(requests.lane, requests.started, established, handshake, opener, overlap)
    predecessor = np.full(rows, NONE)
    if not by_time:
        _by_initiator(requests.starts, requests.number, requests.initiator, requests.started, ended, predecessor)
    _by_time(requests.starts, requests.started, first_byte, predecessor)
    return handshake, established, ended, predecessor, opener, overlap


def _times(requests, double[::1] established, double[::1] handshake, double[::1] first_byte, double[::1] ended):
    cdef const double[::1] started = requests.started, blocked = requests.blocked
    cdef const double[::1] dns = requests.dns, connect = requests.connect
    cdef const double[::1] send = requests.send, wait = requests.wait, receive = requests.receive
    cdef Py_ssize_t row
    cdef double lookup, opening, now
    for row in range(started.shape[0]):
        lookup, opening = _ms(dns[row]), _ms(connect[row])
        handshake[row] = lookup + opening
        established[row] = now = started[row] + _ms(blocked[row]) + lookup + opening
        first_byte[row] = now = now + _ms(send[row]) + _ms(wait[row])
        ended[row] = now + _ms(receive[row])


def _openers(
    const Py_ssize_t[::1] lane,
    const double[::1] started,
    const double[::1] established,
    const double[::1] handshake,
    Py_ssize_t[::1] opener,
    double[::1] overlap,
):
    """Of each request the last before it in its lane with a handshake, if it queued meanwhile; and for how long."""
    cdef Py_ssize_t row, own, least = PY_SSIZE_T_MAX, most = NONE
    cdef double begun
    for row in range(lane.shape[0]):
        if lane[row] != NONE:
            least, most = min(least, lane[row]), max(most, lane[row])
    cdef Py_ssize_t[::1] last = np.empty(max(most - least + 1, 0), np.intp)
    cdef double[::1] until = np.full(last.shape[0], -np.inf)
    for row in range(lane.shape[0]):
        if lane[row] == NONE:
            continue
        own = lane[row] - least
        begun = established[row] - handshake[row]
        if until[own] > started[row] and begun > started[row]:
            opener[row] = last[own]
            overlap[row] = max(0.0, min(until[own], begun) - max(until[own] - handshake[last[own]], started[row]))
        if handshake[row] > 0:
            last[own], until[own] = row, established[row]


def _by_initiator(
    const Py_ssize_t[::1] starts,
    const int[::1] number,
    const int[::1] initiator,
    const double[::1] started,
    const double[::1] ended,
    Py_ssize_t[::1] predecessor,
):
    """The row of the initiator, where it is before that of the request and had not ended when the request started."""
    cdef Py_ssize_t row, page, first, own, cause, most = NONE
    for row in range(number.shape[0]):
        most = max(most, number[row])
    # What an earlier page left here is known by its row.
    cdef Py_ssize_t[::1] rows = np.full(most + 1, NONE)
    for page in range(starts.shape[0] - 1):
        first = starts[page]
        for row in range(first, starts[page + 1]):
            own, cause = number[row], initiator[row]
            if 0 <= cause < rows.shape[0] and rows[cause] >= first and ended[rows[cause]] >= started[row]:
                predecessor[row] = rows[cause]
            if own >= 0 and rows[own] < first:
                rows[own] = row


def _by_time(
    const Py_ssize_t[::1] starts, const double[::1] started, const double[::1] first_byte, Py_ssize_t[::1] predecessor
):
    """Of the rows that have none yet, the row of the page whose first byte came last before they started."""
    cdef Py_ssize_t page, row, first, questions, place, many, half, after, last, longest = 0
    cdef double came
    for page in range(starts.shape[0] - 1):
        longest = max(longest, starts[page + 1] - starts[page])
    cdef Py_ssize_t[::1] asking = np.empty(longest, np.intp), answer = np.empty(longest, np.intp)
    cdef double[::1] asked = np.empty(longest), latest = np.empty(longest)
    for page in range(starts.shape[0] - 1):
        first, questions, after = starts[page], 0, 0
        # Few branches here and below, as no processor could foresee them.
        for row in range(first + 1, starts[page + 1]):
            asking[questions], asked[questions] = row, started[row]
            questions += predecessor[row] == NONE
        if questions == 0:
            continue
        for place in range(questions):
            latest[place], answer[place] = -INFINITY, NONE
        # A row answers the first question after it that is asked when its first byte has come, and maybe later ones.
        for row in range(first, asking[questions - 1]):
            came = first_byte[row]
            after += asking[after] == row
            if asked[questions - 1] < came:
                continue
            place, many = after, 1 if came <= asked[after] else questions - after
            while many > 1:
                half = many >> 1
                place += half * (asked[place + half - 1] < came)
                many -= half
            answer[place] += (row - answer[place]) * (came >= latest[place])
            latest[place] = max(latest[place], came)
        last = NONE
        for place in range(questions):
            if answer[place] == NONE or (last != NONE and latest[place] < first_byte[last]):
                answer[place] = last
            last = predecessor[asking[place]] = answer[place]


def paper_timeline(requests, times, coalesced, const double[::1] handshake, bint freed):
    """``shift``, ``blocked`` and ``loaded`` of :class:`originset.models.timeline.timeline_rules.Changes`.

    ``requests`` and ``times``: ``Requests`` and ``MeasuredTimeline`` of that module. ``handshake``: what each of the requests
    ``coalesced`` saves, in ms. ``freed``: what queued for a handshake that is saved queues no longer.
    """
    cdef const Py_ssize_t[::1] starts = requests.starts, predecessor = times.predecessor, opener = times.opener
    cdef const double[::1] loaded = requests.loaded, started = requests.started
    cdef const double[::1] ended = times.ended, overlap = times.overlap
    cdef const unsigned char[::1] again = coalesced.view(np.uint8)
    cdef Py_ssize_t rows = started.shape[0], pages = loaded.shape[0], page, row, before
    cdef double was, now, own, moved
    out_shift, out_blocked, out_loaded = np.empty(rows), np.zeros(rows), np.array(requests.loaded)
    cdef double[::1] shift = out_shift, blocked = out_blocked, now_loaded = out_loaded
    cdef double[::1] saved = np.empty(rows)  # without what it is shifted by
    for page in range(pages):
        was = now = -INFINITY
        for row in range(starts[page], starts[page + 1]):
            own = handshake[row] if again[row] else 0
            if freed and opener[row] != NONE and again[opener[row]]:
                # The handshake that it queued behind no longer happens.
                blocked[row] = min(overlap[row], handshake[opener[row]])
                own += blocked[row]
            moved = 0
            before = predecessor[row]
            if before != NONE:
                moved = shift[before] + min(saved[before], started[row] - started[before])
            shift[row], saved[row] = moved, own
            if ended[row] <= loaded[page]:
                was, now = max(was, ended[row]), max(now, ended[row] - moved - own)
        if was > -INFINITY:
            now_loaded[page] -= was - now
    return out_shift, out_blocked, out_loaded


cdef Py_ssize_t _most(const Py_ssize_t[::1] numbers) noexcept:
    cdef Py_ssize_t row, most = NONE
    for row in range(numbers.shape[0]):
        most = max(most, numbers[row])
    return most


def causal_timeline(
    requests, times, const Py_ssize_t[::1] server, earlier, const double[::1] handshake, bint freed
):
    """``shift``, what each request saves itself, which ride, and ``loaded``, as in :func:`paper_timeline`.

    ``server``: a number for page and server, or ``NONE``. ``earlier``: an earlier request of the page went there too.
    ``handshake``: what a request at most saves that rides on the connection of an earlier one, in ms. What a request
    saves itself is negative where it waits for a connection that would not be there when it now is ready.
    """
    cdef const Py_ssize_t[::1] starts = requests.starts, lane = requests.lane
    cdef const Py_ssize_t[::1] predecessor = times.predecessor, opener = times.opener
    cdef const double[::1] loaded = requests.loaded, started = requests.started, full = times.handshake
    cdef const double[::1] established = times.established, ended = times.ended, overlap = times.overlap
    cdef Py_ssize_t rows = started.shape[0], pages = loaded.shape[0], page, row, before
    cdef const unsigned char[::1] again = earlier.view(np.uint8)
    cdef double was, now, moved, latest, sent
    out_shift, out_saved, out_loaded = np.empty(rows), np.empty(rows), np.array(requests.loaded)
    out_rides = np.zeros(rows, np.uint8)
    cdef double[::1] shift = out_shift, saved = out_saved, now_loaded = out_loaded
    cdef unsigned char[::1] rides = out_rides
    cdef double[::1] opening = np.zeros(rows)  # how much less its handshake takes
    # When the first connection to a server, or in a lane, is established.
    cdef double[::1] at_server = np.full(_most(server) + 1, np.inf), in_lane = np.full(_most(lane) + 1, np.inf)
    for page in range(pages):
        was = now = -INFINITY
        for row in range(starts[page], starts[page + 1]):
            moved = 0
            before = predecessor[row]
            if before != NONE:
                moved = shift[before] + min(saved[before], started[row] - started[before])
            latest = established[row] - moved
            if freed and opener[row] != NONE:
                latest -= min(overlap[row], opening[opener[row]])
            sent = latest
            if full[row] > 0:
                if again[row]:
                    sent = max(latest - handshake[row], min(latest, at_server[server[row]]))
                    opening[row], rides[row] = latest - sent, sent < latest
            elif lane[row] != NONE and in_lane[lane[row]] < INFINITY:
                sent = max(latest, min(established[row], in_lane[lane[row]]))
            if server[row] != NONE:
                at_server[server[row]] = min(at_server[server[row]], sent)
            if lane[row] != NONE:
                in_lane[lane[row]] = min(in_lane[lane[row]], sent)
            shift[row], saved[row] = moved, established[row] - moved - sent
            if ended[row] <= loaded[page]:
                was, now = max(was, ended[row]), max(now, ended[row] - moved - saved[row])
        if was > -INFINITY:
            now_loaded[page] -= was - now
    return out_shift, out_saved, out_rides.view(np.bool_), out_loaded
