"""The authors' files: each number of the paper from their own data, what stands in for what, what is no such file."""

import polars as pl
import pytest

from originset.data.errors import InputError
from originset.queries.figures import authors
from originset.queries.figures.all_figures import FIGURES

# Sections 2 and 3 of what was read in the paper and computed from its data, as shown there.
PAPER = {
    "figure-1": {
        "sites": 315_796, "pages that need 1 AS": 6.46, "pages that need 2 ASes": 13.86,
        "pages that need 3 ASes": 13.00, "pages that need 3 ASes or fewer": 33.3,
        "pages that need 6 ASes or fewer": 61.5, "pages that need 10 ASes or fewer": 81.2,
        "pages that need 20 ASes or fewer": 94.4, "most ASes of a page": 114,
    },
    "figure-3": {
        "measured DNS lookups, median": 14, "measured TLS connections, median": 16, "ideal IP, median": 13,
        "ideal ORIGIN, median": 5, "measured DNS lookups, p25": 7, "measured DNS lookups, p75": 26,
        "measured DNS lookups, p90": 47, "measured DNS lookups, p99": 167, "measured TLS connections, p25": 8,
        "measured TLS connections, p75": 30, "measured TLS connections, p90": 53, "measured TLS connections, p99": 199,
        "ideal IP, p25": 6, "ideal IP, p75": 24, "ideal IP, p90": 43, "ideal IP, p99": 145, "ideal ORIGIN, p25": 3,
        "ideal ORIGIN, p75": 9, "ideal ORIGIN, p90": 14, "ideal ORIGIN, p99": 44,
        "ideal ORIGIN against measured DNS, at the median": -64.3,
        "ideal ORIGIN against measured TLS, at the median": -68.8, "ideal IP against measured DNS, at the median": -7.1,
        "ideal IP against measured TLS, at the median": -18.8,
    },
    "figure-4": {
        "certificates": 313_517, "certificates without any addition": 62.42,
        "certificates with 10 additions or fewer": 92.66, "names, median": 2, "names with additions, median": 3,
        "names, p99": 99, "names with additions, p99": 117, "certificates with 0 names": 11_131,
        "certificates with 1 name": 30_278, "certificates with 2 names": 143_037, "certificates with 3 names": 73_124,
        "certificates with 0 names, with additions": 11_129, "certificates with 1 name, with additions": 11_456,
        "certificates with 2 names, with additions": 104_604, "certificates with 3 names, with additions": 46_772,
    },
    "figure-5": {
        "certificates with additions": 117_823, "additions to them, median": 3, "names more over all sites": 1_255_619,
        "certificates with more than 100 names": 1743, "certificates with more than 100 names, with additions": 4554,
        "certificates with more than 250 names": 230, "certificates with more than 250 names, with additions": 529,
    },
    "figure-7a": {
        "control, visits": 1716, "experiment, visits": 1735, "control, without a new connection": 8.86,
        "experiment, without a new connection": 69.80, "new connections, experiment against control": -67.6,
        "control, with one": 83.33, "control, with two": 7.05, "control, with more": 0.76,
        "control, new connections": 1.002, "experiment, with one": 28.41, "experiment, with two": 1.61,
        "experiment, with more": 0.17, "experiment, new connections": 0.325,
    },
    "figure-7b": {
        "control, visits": 1685, "experiment, visits": 1694, "control, without a new connection": 5.58,
        "experiment, without a new connection": 64.11, "new connections, experiment against control": -63.0,
        "control, with one": 84.63, "control, with two": 9.38, "control, with more": 0.42,
        "control, new connections": 1.047, "experiment, with one": 33.29, "experiment, with two": 2.42,
        "experiment, with more": 0.18, "experiment, new connections": 0.387,
    },
    "figure-8": {
        "before, control": 774.6, "before, experiment": 754.3, "during, control": 744.1, "during, experiment": 358.2,
        "after, control": 741.8, "after, experiment": 698.3,
        "periods": 51, "during, experiment against control": -51.9, "before, experiment against control": -2.6,
        "after, experiment against control": -5.9, "during against before": -50.6, "during against after": -48.9,
        "during, in the median period": -51.9, "during, in the period with the least change": -49.1,
        "during, in the period with the most change": -54.3,
    },
    "figure-9a": {
        "measured, median": 5746, "ideal IP, median": 5080, "ideal ORIGIN, median": 4167,
        "ideal ORIGIN at one provider, median": 5661, "ideal IP against measured, at the median": -11.6,
        "ideal ORIGIN against measured, at the median": -27.5,
        "ideal ORIGIN at one provider against measured, at the median": -1.5,
    },
    "figure-9b": {
        "control, visits": 2237, "control, p25": 1547, "control, median": 2421, "control, p75": 3615,
        "control, p90": 5304, "control, p5": 595, "control, p10": 950, "control, p95": 7080, "experiment, p5": 599,
        "experiment, p10": 960, "experiment, p95": 7159, "control, p99": 13_687,
        "experiment, visits": 2241, "experiment, p25": 1505,
        "experiment, median": 2412, "experiment, p75": 3729, "experiment, p90": 5552, "experiment, p99": 12_877,
        "experiment less control, at the median, 95 % interval from": -96,
        "experiment less control, at the median, 95 % interval to": 95, "rank test, control against experiment": -0.11,
    },
}  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_the_papers_numbers_from_the_authors_data(shared, figure) -> None:
    found = {}
    for number in figure.numbers(figure.theirs(shared / "paper" / "data")):
        if number.unit != "sites" or number.what not in found:
            found[number.what] = number.rounded
    expected = PAPER[figure.name]
    assert {what: found[what] for what in expected} == expected


def test_every_figure_of_the_paper_but_the_drawings() -> None:
    assert [figure.name[7:] for figure in FIGURES] == ["1", "3", "4", "5", "7a", "7b", "8", "9a", "9b"]
    assert set(PAPER) == {figure.name for figure in FIGURES}


def test_the_curves_read_back_agree_with_one_another(shared) -> None:
    """A page's ideal ORIGIN count is its number of ASes, so the two figures hold one distribution."""
    folder = shared / "paper" / "data"
    ases, ideal = authors.figure_1(folder)["ASes"], authors.figure_3(folder)["origin_dns_tls"]
    assert ases.total == ideal.total == 315_796
    assert all(abs(ases.share_up_to(n) - ideal.share_up_to(n)) < 1e-4 for n in range(50))


def test_the_release_itself_comes_before_what_was_read_back(tmp_path) -> None:
    columns = ["dns", "tls", "ip_dns_tls", "origin_dns_tls"]
    (tmp_path / "figure-3-dataframe.csv").write_text("x," + ",".join(columns) + "\n0,9,8,7,6\n1,9,8,,6\n")
    (tmp_path / "recovered-figure-3-curves.csv").write_text("not read")
    found = authors.figure_3(tmp_path)
    assert {name: curve.quantile(0.5) for name, curve in found.items()} == dict(zip(columns, (9, 8, 7, 6), strict=True))
    (tmp_path / "figure-9a-dataframe.csv").write_text(
        "page_load_times,ip_page_load_times,as_page_load_times,cf_only_page_load_times\n10,5,-1,\n20,-1,-1,\n"
    )
    loads = authors.figure_9a(tmp_path)
    assert {name: curve.total for name, curve in loads.items()} == {"page_load_times": 2, "ip_page_load_times": 1}


def test_what_is_not_there_is_none(tmp_path) -> None:
    assert [figure.theirs(tmp_path) for figure in FIGURES] == [None] * 9


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("figure-5-dataframe.csv", b"original_san_list,updated_san_list\n1,2\n"),
        ("figure-5-dataframe.csv", b"original_san_list,updated_san_list,mapped_san_additions\n"),
        ("figure-5-dataframe.csv", b"original_san_list,updated_san_list,mapped_san_additions\n1,2,\x00\xff\n"),
        ("figure-5-dataframe.csv", b""),
        ("figure-1-dataframe-asn-share.csv", b"ASes;Count\n1;2\n"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, name, content) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as the authors' file") as caught:
        [figure.theirs(tmp_path) for figure in FIGURES]
    assert "\n" not in str(caught.value)


def test_days_that_are_none(tmp_path) -> None:
    for group in ("control", "experiment"):
        (tmp_path / f"origin_frame_{group}_timeline.csv").write_text("Time,Count\nMonday,3\n")
    with pytest.raises(InputError, match="not a day"):
        authors.figure_8(tmp_path)
    assert isinstance(authors.curves(pl.DataFrame({"a": [None]}, schema={"a": pl.Float64}), ("a",)), dict)
