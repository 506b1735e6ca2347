"""The space for asyncio: the same answers, on worker threads, and a commit that no cancellation undoes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from engram_core import AsyncMemorySpace, Draft, Fact, MemorySpace, NotFoundError, StoreError, assistant, system, user
from engram_core.stores import InMemoryStore

T = TypeVar("T")
ANN, BOT = user("ann"), assistant("claude")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end, in ten seconds at most."""

    async def bounded() -> T:
        return await asyncio.wait_for(main, 10)

    return asyncio.run(bounded())


def test_what_is_written_is_read() -> None:
    """Verbs and reads are awaited, and answer as the plain ones do."""

    async def main() -> None:
        async with await AsyncMemorySpace.in_memory() as space:
            ann = space.session(ANN)
            receipt = await ann.remember(Fact("Oslo is wet"), tags=["weather"])
            assert "created" == receipt.status
            assert "Oslo is wet" == (await ann.get(receipt)).attributes.statement
            assert [receipt.memory_id] == [hit.id for hit in await ann.recall("wet")]
            assert {"weather": 1} == await ann.tags()
            with pytest.raises(NotFoundError):
                await ann.get("00000000-0000-7000-8000-000000000000")

    run(main())


def test_an_opening_is_awaited_or_entered(tmp_path: Path) -> None:
    """`async with` opens and closes; awaiting opens; both also where a coroutine is wanted, such as a task."""

    async def main() -> None:
        async with AsyncMemorySpace.open(tmp_path / "brain.db") as space:
            receipt = await space.session(ANN).remember(Fact("kept"))
        with pytest.raises(StoreError, match="closed"):
            await space.session(ANN).get(receipt.memory_id)
        with pytest.raises(StoreError, match="closed"):
            await space.session(ANN).remember(Fact("too late"))
        await space.close()
        again = await asyncio.create_task(AsyncMemorySpace.open(tmp_path / "brain.db"))
        assert "kept" == (await again.session(ANN).get(receipt.memory_id, kind=Fact)).attributes.statement
        await again.close()
        for made in (AsyncMemorySpace.in_memory(), AsyncMemorySpace.over(InMemoryStore())):
            async with made as space:
                assert 0 == await space.position()

    run(main())

    class Mine(AsyncMemorySpace):
        """An application's own."""

    space = run(Mine.in_memory())
    assert isinstance(space, Mine)
    run(space.close())


def test_an_opening_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    """Entered, awaited or given up before it began."""

    async def main() -> None:
        missing = tmp_path / "missing.db"
        with pytest.raises(StoreError, match="does not exist"):
            async with AsyncMemorySpace.open(missing, create=False):
                raise AssertionError("unreachable")
        with pytest.raises(StoreError, match="does not exist"):
            await AsyncMemorySpace.open(missing, create=False)
        AsyncMemorySpace.open(missing).close()
        assert not missing.exists()

    run(main())


def test_a_file_outlives_its_space(tmp_path: Path) -> None:
    """What was acknowledged is there for the next one, of either sort."""

    async def main() -> str:
        async with await AsyncMemorySpace.open(tmp_path / "brain.db") as space:
            receipt = await space.session(ANN).remember(Fact("kept"))
            return str(receipt.memory_id)

    id = run(main())
    with MemorySpace.open(tmp_path / "brain.db", create=False) as space:
        assert "kept" == space.session(ANN).get(id, kind=Fact).attributes.statement


def test_listings_are_read_by_the_reading_thread() -> None:
    """`async for` over all memories, or all events, leaves the event loop free from the first page on."""
    seen: set[str] = set()

    async def main() -> None:
        async with await AsyncMemorySpace.in_memory() as space:
            ann = space.session(ANN)
            await ann.remember_many([Draft(Fact(f"number {n}")) for n in range(450)])
            find = ann._view.find

            def watched(**filters: Any) -> Any:
                seen.add(threading.current_thread().name)
                return find(**filters)

            ann._view.find = watched
            assert 450 == len([memory async for memory in ann.find_all(kind="fact")])
            assert await space.position() == len([event async for event in space.events()])
            assert (await space.anchor()).position == await space.position()

    run(main())
    assert {"engram-read"} == {name.rpartition("_")[0] for name in seen}


def test_a_batch_is_written_when_its_block_ends() -> None:
    """Verbs within collect at once; the block is one batch, and one that raises wrote nothing."""

    async def main() -> None:
        async with await AsyncMemorySpace.in_memory() as space:
            ann = space.session(ANN)
            async with ann.batch() as batch:
                one = batch.remember(Fact("one"))
                batch.tag(one, "first")
                assert 0 == await ann.count()
            assert ("first",) == tuple((await ann.get(one)).tags)
            with suppress(RuntimeError):
                async with ann.batch() as batch:
                    batch.remember(Fact("two"))
                    raise RuntimeError
            assert 1 == await ann.count()
            await ann.undo((await ann.history(one))[0].batch_id)
            assert 0 == await ann.count()

    run(main())


def test_proposals_are_opened_and_read() -> None:
    """`async with` opens one, `await` reads one, and a user approves it."""

    async def main() -> None:
        async with await AsyncMemorySpace.in_memory() as space:
            ann, bot = space.session(ANN), space.session(BOT)
            async with bot.proposal("What I heard") as drafts:
                drafts.remember(Fact("heard"))
            proposal = await ann.proposal(drafts.receipt)
            assert ("What I heard", "open") == (proposal.title, proposal.status)
            assert [proposal.id] == [p.id for p in await ann.proposals()]
            await ann.approve(proposal)
            assert "merged" == (await ann.proposal(drafts.receipt)).status
            async with ann.preview() as preview:
                preview.remember(Fact("not yet"))
            assert ["MemoryCreated"] == [type(event).__name__ for event in preview.events]
            assert 1 == await ann.count()

    run(main())


def test_upkeep_is_awaited(tmp_path: Path) -> None:
    """Passes, checks and copies run on the writing thread."""

    async def main() -> None:
        async with await AsyncMemorySpace.open(tmp_path / "brain.db") as space:
            await space.session(ANN).remember(Fact("kept"))
            upkeep = space.maintenance(system("nightly"))
            assert 0 == len(await upkeep.expire())
            assert (await upkeep.verify()).ok
            await upkeep.backup(tmp_path / "copy.db")
        async with await AsyncMemorySpace.open(tmp_path / "copy.db", read_only=True) as copy:
            assert 1 == await copy.session(ANN).count()

    run(main())


def test_a_past_view_is_awaited() -> None:
    """Views pinned to a time are had at once, and their reads are awaited."""

    async def main() -> None:
        async with await AsyncMemorySpace.over(InMemoryStore()) as space:
            ann = space.session(ANN)
            receipt = await ann.remember(Fact("dry"))
            before = ann.at((await ann.get(receipt)).created_at)
            await ann.update(receipt, statement="wet")
            assert "dry" == (await before.get(receipt)).attributes.statement

    run(main())


def test_a_cancelled_write_is_finished() -> None:
    """A commit that has begun is not torn; its command_id tells what became of it."""

    async def main() -> None:
        async with await AsyncMemorySpace.in_memory() as space:
            ann = space.session(ANN)
            gate = threading.Event()
            blocked = asyncio.ensure_future(space._threads.write(gate.wait))
            write = asyncio.ensure_future(ann.remember(Fact("shielded"), command_id="c-1"))
            await asyncio.sleep(0)
            write.cancel()
            gate.set()
            await blocked
            with pytest.raises(asyncio.CancelledError):
                await write
            again = await ann.remember(Fact("shielded"), command_id="c-1")
            assert "created" == again.status
            assert 1 == await ann.count()

    run(main())


def test_what_is_private_stays_so() -> None:
    """A session for asyncio gives no way to the space behind it."""

    async def main() -> None:
        async with await AsyncMemorySpace.in_memory() as space:
            session = space.session(BOT)
            for name in ("_engine", "no_such_read"):
                with pytest.raises(AttributeError):
                    getattr(session, name)

    run(main())
