"""What the pages write and draw from plain values: times, money, charts, views in addresses."""

from datetime import UTC, datetime, timedelta

import pytest

from counterfoil.console.pages.charts import ceiling, chart, figure, measured
from counterfoil.console.pages.inbox_view import View, filters_only, kept_views, with_view, without_view
from counterfoil.console.pages.money import columns_of, sums_of
from counterfoil.console.pages.words import ago, budget, lasting, marked, money, plainly, short, until, utc
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import InboxFilter

NOW = "2026-11-29T12:00:00Z"
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (600, "10 min"), (3600, "1 h"), (7500, "2 h 5 min"), (90_000, "1 d 1 h")],
)  # fmt: skip
def test_lengths_of_time(seconds: int, said: str) -> None:
    assert lasting(seconds * SECOND) == said


def test_times_as_people_read_them() -> None:
    assert utc("2026-11-29T11:58:57.250000Z") == "2026-11-29 11:58:57 UTC"
    assert ago("2026-11-29T11:58:57Z", NOW) == "1 min ago"
    assert ago(NOW, NOW) == "just now"
    assert ago("2026-11-29T12:00:30Z", NOW) == "in 30 s"
    assert until("2026-11-29T14:05:00Z", NOW) == "in 2 h 5 min"
    assert until("2026-11-29T11:48:00Z", NOW) == "overdue by 12 min"


def test_money_digests_and_sentences() -> None:
    assert money({"minor": 123450, "currency": "EUR"}) == "1,234.50 EUR"
    assert money({"minor": -5, "currency": "JPY"}) == "-5 JPY"
    assert short("sha256:" + "ab" * 32) == "abababababab…"
    assert plainly("approve it, or type reject in place of approve.") == "approve it or reject it."


def test_a_budget_of_time_reads_as_time_and_code_in_a_sentence_as_code() -> None:
    assert [budget("34", "elapsed"), budget(432_000, "elapsed")] == ["34 s", "5 d"]
    assert [budget(3, "attempts"), budget("0.25", "spend")] == ["3", "0.25"]
    assert marked("Type `a <b>` now.") == "Type <code>a &lt;b&gt;</code> now."
    assert marked("It's `half & whole.") == "It&#39;s `half &amp; whole."


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (3, 5), (5, 5), (7, 10), (0.03, 0.05), (120, 200)])
def test_a_scale_ends_at_a_round_number(value: float, top: float) -> None:
    assert ceiling(value) == pytest.approx(top)


def test_a_scale_of_time_ends_at_a_round_time() -> None:
    assert ceiling(7000, "seconds") == 7200
    assert measured(7200, "seconds") == "2 h"
    assert measured(0.0015, "seconds") == "1.5 ms"
    assert figure(1200) == "1,200"


def test_a_chart_is_to_scale_and_has_gaps_where_nothing_was_measured() -> None:
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    ats = [now - timedelta(hours=12), now - timedelta(hours=12) + timedelta(minutes=1), now]
    points = [
        {"at": at.isoformat(), "value": value, "per_second": None} for at, value in zip(ats, (5, 10, 0), strict=True)
    ]
    history = {"kind": "gauge", "unit": "runs", "series": [{"labels": {"reason": "expired"}, "points": points}]}
    drawn = chart(history, now, timedelta(days=1))
    (line,) = drawn.lines
    assert line.path == "M300.0 70.0h0L300.4 0.0M600.0 140.0h0"
    assert (line.label, line.newest) == ("expired", 0)
    assert [level.text for level in drawn.levels] == ["0", "5", "10"]
    assert [hour.text for hour in drawn.hours] == ["18:00", "00:00", "06:00", "12:00"]


def test_a_view_reads_and_writes_its_address() -> None:
    view = View.named({"reason": "review", "mine": "yes", "cursor": "7", "owner": " "})
    assert view.wanted("ana") == InboxFilter(reason="review", mine="ana")
    assert view.query() == "?reason=review&mine=yes"
    assert view.query(reason=None, act="lookup") == "?mine=yes&act=lookup"
    assert filters_only("?receiver=crm&next=//elsewhere&act=cancel") == "?receiver=crm"


def test_kept_views_survive_a_broken_cookie() -> None:
    class Browser:
        cookies: dict[str, str]

    browser = Browser()
    browser.cookies = {"counterfoil-views": "no such thing"}
    assert kept_views(browser) == []  # type: ignore[arg-type]
    browser.cookies = {"counterfoil-views": with_view([("Mine", "?mine=yes")], "At the post", "?receiver=post&x=1")}
    assert kept_views(browser) == [("Mine", "?mine=yes"), ("At the post", "?receiver=post")]  # type: ignore[arg-type]
    browser.cookies = {"counterfoil-views": without_view([("Mine", "?mine=yes")], "Mine")}
    assert kept_views(browser) == []  # type: ignore[arg-type]


def test_columns_of_a_statement() -> None:
    assert columns_of("reference=Charge amount=Net") == {"reference": "Charge", "amount": "Net"}
    with pytest.raises(Refused) as refused:
        columns_of("sum=Net")
    assert refused.value.code == "usage"


def test_sums_of_a_day_are_by_currency() -> None:
    none = {"count": 0, "minor": 0}
    items = [
        {"currency": "EUR", "approved": none, "succeeded": {"count": 1, "minor": 5}, "failed": none, "unknown": none},
        {"currency": "EUR", "approved": none, "succeeded": {"count": 2, "minor": 7}, "failed": none, "unknown": none},
    ]
    (euro,) = sums_of(items)
    assert euro["succeeded"] == {"count": 3, "minor": 12}
