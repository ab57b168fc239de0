"""What the sandbox keeps and shows: lookups with their lag, the file, digests and references."""

from pathlib import Path
from urllib.parse import urlencode

import pytest

from counterfoil.testing.loopback.exchange import Request
from counterfoil.testing.sandbox import SandboxContract
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.writes import read_write
from tests.unit.sandbox_bench import Bench


def test_what_a_lookup_finds(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    for n in range(3):
        bench.send({"amount": n % 2}, idempotency_key=f"k-{n}", counterfoil_operation=f"op_{n}")
    assert bench.found() == ["case-814", "case-815", "case-816"]
    assert bench.found(reference="op_1") == bench.found(key="k-1") == bench.found(amount="1") == ["case-815"]
    assert bench.found(reference="op_1", amount="0") == []
    assert bench.ask("/cases/case-815")[1]["payload"] == {"amount": 1}
    assert bench.ask("/cases/case-999")[0] == 404
    assert bench.ask("/refunds", reference="op_1") == (200, {"data": [], "has_more": False})


def test_the_pages_of_a_lookup(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "lookup")
    for _ in range(3):
        bench.send()
    first = bench.ask(reference="op_1", limit="2")[1]
    assert first["has_more"] is True
    last = bench.ask(reference="op_1", limit="2", starting_after="case-815")[1]
    assert (last["has_more"], [item["id"] for item in last["data"]]) == (False, ["case-816"])
    assert bench.ask(limit="0")[0] == bench.ask(limit="x")[0] == bench.ask(starting_after="case-1")[0] == 400


def test_a_selector_that_the_contract_lacks_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "lookup")
    bench.send()
    assert bench.ask(key="k-1")[0] == 400


def test_a_receiver_without_lookup_shows_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "none")
    bench.send()
    assert bench.ask(reference="op_1")[0] == bench.ask("/cases/case-814")[0] == 405


def test_a_lookup_lags(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SandboxContract(lookup_lag_seconds=60))
    bench.send()
    assert bench.found(reference="op_1") == []
    assert bench.ask("/cases/case-814")[0] == 404
    assert len(bench.receiver.witness()) == 1
    bench.receiver.advance(60)
    assert [bench.found(reference="op_1") for _ in range(4)] == [["case-814"]] * 4


def test_an_eventual_lookup_forgets_what_it_has_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SandboxContract(lookup_lag_seconds=60, lookup_consistency="eventual"))
    bench.send()
    bench.receiver.advance(60)
    assert [bench.found(reference="op_1") for _ in range(4)] == [["case-814"], [], ["case-814"], []]
    bench.receiver.advance(60)
    assert [bench.found(reference="op_1") for _ in range(2)] == [["case-814"]] * 2


@pytest.mark.parametrize("hidden", [False, True])
def test_records_and_their_keys_survive_a_restart(tmp_path: Path, hidden: bool) -> None:
    bench = Bench(tmp_path, "key")
    if hidden:
        bench.faults.arm("error-after-accept")
    before = bench.send().reply
    bench.restart()
    after = bench.send().reply
    assert (after.status, after.body) == (before.status, before.body)
    assert len(bench.lines()) == 1


def test_a_lost_key_store_stays_lost(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    bench.send()
    assert bench.receiver.forget_keys() == 1
    bench.restart()
    assert not bench.send().replayed
    assert len(bench.lines()) == 2


def test_a_torn_line_was_never_acknowledged(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "none")
    bench.send()
    with bench.file.open("a") as file:
        file.write('{"id": "case-815", "ref')
    bench.restart()
    bench.send()
    assert [line["id"] for line in bench.lines()] == ["case-814", "case-815"]


def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("hello\nworld\n")
    with pytest.raises(ValueError, match=r"line 1, is not a record"):
        Records(file)
    assert file.read_text() == "hello\nworld\n"


def test_a_form_is_shown_as_an_object_and_digested_as_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "A")
    body = urlencode(
        {"charge": "ch_1", "amount": "1200", "zip": "01234", "metadata[operation]": "op_7", "metadata[a][b]": "c"}
    )
    form = {"content-type": "application/x-www-form-urlencoded"}
    write = read_write(Request("POST", "/v1/refunds", "/v1/refunds", {}, form, body.encode()), "Idempotency-Key")
    bench.receiver.write(write)
    _, page = bench.ask("/v1/refunds", charge="ch_1", limit="100")
    shown = page["data"][0]
    assert (shown["amount"], shown["zip"], shown["reference"]) == (1200, "01234", "op_7")
    assert shown["metadata"] == {"operation": "op_7", "a": {"b": "c"}}
    sent = {"charge": "ch_1", "amount": "1200", "zip": "01234", "metadata[operation]": "op_7", "metadata[a][b]": "c"}
    assert write.digest == bench.write(sent).digest


def test_the_digest_is_of_the_canonical_form(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "key")
    assert bench.write({"b": 1, "a": 2.0}).digest == bench.write({"a": 2, "b": 1}).digest
    # printf '{"customer":"acme"}' | sha256sum
    expected = "sha256:0ef2770dcea9c65d067a56f34143fc82d1cfb487aa3245b1074f48b8d9938c30"
    assert bench.write({"customer": "acme"}).digest == expected


@pytest.mark.parametrize("body", [b"{", b'{"a": NaN}', b'{"a": 9007199254740993}', b"\xff\xfe"])
def test_a_body_without_a_canonical_form_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_write(Request("POST", "/cases", "/cases", {}, {}, body), None)


def test_the_reference_in_the_metadata_of_a_json_body(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "lookup")
    write = bench.write({"metadata": {"operation": "op_9"}})
    request = Request("POST", "/cases", "/cases", {}, {}, b'{"metadata": {"operation": "op_9"}}')
    assert write.reference == "op_1", "the header goes first"
    assert read_write(request, None).reference == "op_9"


def test_a_record_is_flushed_before_it_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, "key")
    flushed: list[int] = []
    monkeypatch.setattr("counterfoil.testing.sandbox.records.os.fsync", lambda _: flushed.append(len(bench.lines())))
    bench.send()
    assert flushed == [1], "one flush, and the line was in the file when it came"
