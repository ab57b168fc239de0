"""`counterfoil.Client` against a served installation: the verbs, the errors, lists part by part, and entries that follow a run."""

import asyncio
import signal
from collections.abc import AsyncIterator, Generator
from contextlib import closing

import httpx2
import pytest

from counterfoil import Client, CounterfoilError, Refused, blocking
from counterfoil.client.shapes.run import Entry
from tests.edges.api_bench import Served, served


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with served(tmp_path_factory.mktemp("client"), "--as", "oscar", "--development") as bench:
        bench.headers()
        yield bench


def client(here: Served) -> Client:
    return Client(here.url, here.headers()["Authorization"].split()[1])


def test_the_verbs_typed(here: Served) -> None:
    async def body() -> None:
        async with client(here) as ours:
            assert (await ours.me()).name == "ana"
            runs = [run async for run in ours.runs.each(workflow="letter")]
            assert [run.state for run in runs] == ["parked", "parked"]
            run = await ours.runs.show(runs[0].run_id)
            assert run.records.execution_state is not None
            operation = await ours.operations.show(run.uncertain[0])
            assert operation.status == "unknown"
            resolved = await ours.operations.resolve(
                operation.operation_id, as_="succeeded", reason="seen there", evidence=b"a photograph",
                expect_version=operation.version, reference="L-7",
            )  # fmt: skip
            assert resolved.receipts is not None
            assert resolved.receipts[-1].reference == "L-7"
            first, *_ = [review async for review in ours.reviews.each(state="open")]
            answered = await ours.reviews.reject(first.review_id, digest=first.digest, comment="not this one")
            assert (answered.state, answered.decided) == ("rejected", "now")
            stop = await ours.writes.suspend(reason="a test", receiver="shop")
            assert stop.scope == "receiver:shop"
            assert (await ours.writes.status()).suspended
            await ours.writes.resume(reason="a test", receiver="shop")
            assert (await ours.receivers.show("shop")).declared
            assert (await ours.workers.list()).items[0].alive
            assert (await ours.find("letter-300")).items[0].kind == "run"
            lines = b"ref;amount;at\nunknown-1;1.00;2026-11-29T10:00:00Z\n"
            how = {"name": "shop.csv", "receiver": "shop", "columns": {"reference": "ref"}, "currency": "EUR"}
            looked = await ours.statements.reconcile(lines, **how, dry_run=True)
            assert [line.reference for line in looked.theirs_not_ours] == ["unknown-1"]
            assert (await ours.statements.list()).items == []
            held = await ours.statements.reconcile(lines, **how)
            assert [each.import_id for each in (await ours.statements.list()).items] == [held.import_id]
            thing = (await ours.inbox.list()).items[0]
            assert (await ours.inbox.take(thing.subject)).taken_by == "ana"

    asyncio.run(body())


def test_what_is_refused_is_raised_with_its_code_and_words(here: Served) -> None:
    async def body() -> None:
        async with client(here) as ours:
            with pytest.raises(Refused) as told:
                await ours.runs.show("run-99999")
            assert told.value.code == "not_found"
            assert told.value.details == {"what": "run", "id": "run-99999"}
            assert "run-99999" in told.value.message
            assert told.value.safe_next
            with pytest.raises(Refused) as told:
                await ours.runs.submit("buy", {"nothing": 1}, request_id="x")
            assert told.value.code == "invalid_payload"
            with pytest.raises(Refused) as told:
                await ours.runs.show("../people")  # an id is one part of a path
            assert told.value.code == "not_found"
        async with Client(here.url, "cft_wrong") as stranger:
            with pytest.raises(Refused) as told:
                await stranger.me()
            assert told.value.code == "token_invalid"

    asyncio.run(body())


def test_no_answer_is_told_as_such() -> None:
    async def nothing(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("cut", request=request)

    async def a_page(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(502, text="<html>a proxy says</html>", request=request)

    async def body() -> None:
        for handler in (nothing, a_page):
            async with Client("http://127.0.0.1:1", "t", transport=httpx2.MockTransport(handler)) as ours:
                with pytest.raises(CounterfoilError) as told:
                    await ours.runs.submit("buy", {}, request_id="1")
                assert told.value.code == "no_answer"
                assert not isinstance(told.value, Refused)

    asyncio.run(body())


def test_a_program_without_a_loop(here: Served) -> None:
    ours = client(here)
    try:
        assert blocking(ours.me()).name == "ana"
        assert len(blocking(ours.runs.list(limit=2)).items) == 2
    finally:
        blocking(ours.close())


def test_entries_follow_a_run_to_its_end(here: Served) -> None:
    async def body() -> None:
        async with client(here) as ours:
            run = await ours.runs.submit("waits", {"number": "77"}, request_id="follow")
            seen: list[Entry] = []
            async for entry in ours.runs.entries(run.run_id):
                seen.append(entry)
                if entry.kind == "suspended" and len(seen) < 6:
                    await ours.runs.signal(run.run_id, "go", "now", signal_id="1")
            assert [entry.sequence for entry in seen] == list(range(len(seen)))
            assert seen[-1].kind == "finished"
            again = [entry async for entry in ours.runs.entries(run.run_id, after=seen[2].sequence)]
            assert again == seen[3:]

    asyncio.run(body())


class Cutting(httpx2.AsyncBaseTransport):
    """A network that cuts every stream after two messages."""

    def __init__(self) -> None:
        self.inner = httpx2.AsyncHTTPTransport()
        self.streams = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self.inner.handle_async_request(request)
        if request.headers["accept"] != "text/event-stream":
            return response
        self.streams += 1
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=Cut(response.stream), request=request
        )

    async def aclose(self) -> None:
        await self.inner.aclose()


class Cut(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self.inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = 3
        async for part in self.inner:
            for message in part.split(b"\n\n"):
                if not message:
                    continue
                if left == 0:
                    raise httpx2.ReadError("cut by the test")
                left -= 1
                yield message + b"\n\n"

    async def aclose(self) -> None:
        await self.inner.aclose()


def test_a_cut_stream_is_taken_up_where_it_was_cut(here: Served) -> None:
    async def body() -> None:
        transport = Cutting()
        token = here.headers()["Authorization"].split()[1]
        async with Client(here.url, token, transport=transport) as ours:
            entries = [entry.sequence async for entry in ours.runs.entries("run-1")]
        assert entries == list(range(entries[-1] + 1))
        assert transport.streams > 2

    asyncio.run(body())


def test_a_server_that_ends_ends_its_streams_and_the_reader_comes_back(here: Served) -> None:
    """Drained by SIGTERM while somebody follows a run that waits; the reader finds the next server at the same address."""

    async def body() -> None:
        async with client(here) as ours:
            run = await ours.runs.submit("waits", {"number": "78"}, request_id="restart")
            seen: list[Entry] = []
            port = int(here.url.rpartition(":")[2])
            async for entry in ours.runs.entries(run.run_id):
                seen.append(entry)
                if entry.kind == "suspended" and here.house.served is not None and len(seen) < 6:
                    assert await asyncio.to_thread(here.house.stop, signal.SIGTERM) == 0
                    await asyncio.to_thread(lambda: here.house.serve(port=port))
                    await ours.runs.signal(run.run_id, "go", "now", signal_id="1")
            assert [entry.sequence for entry in seen] == list(range(len(seen)))
            assert seen[-1].kind == "finished"

    asyncio.run(body())


def test_the_stream_speaks_as_it_is_described(here: Served) -> None:
    headers = here.headers() | {"Accept": "text/event-stream"}
    with closing(httpx2.Client(trust_env=False)) as http:
        address = f"{here.api}/runs/run-1/entries"
        with http.stream("GET", address, headers=headers, timeout=20) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            text = "".join(response.iter_text())
        assert text.startswith("retry: 1000\n\n")
        assert text.count("event: entry\n") == len(here.data("/runs/run-1/entries")["items"])
        assert text.rstrip().splitlines()[-2] == "event: end"
        assert http.get(address, headers=headers | {"Last-Event-ID": "x"}).json()["error"]["code"] == "usage"
        assert http.get(f"{here.api}/runs/run-999/entries", headers=headers).status_code == 404
