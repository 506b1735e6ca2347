"""What an erasure must do, in stores that can erase."""

# ruff: noqa: PT009, PT027 -- the contract runs under unittest as well as under pytest

from __future__ import annotations

from engram_core.errors import DuplicateEvent
from engram_core.ports import EraserStore, StreamAppend
from engram_core.testing.building import appending, new_event, whole_log
from engram_core.testing.contracts.base import Obligations

__all__ = ["Erasing"]

_MARKER = '{"erased":true}'


class Erasing(Obligations):
    """Obligations of an `EraserStore`."""

    def owned(self) -> EraserStore:
        """Events of two owners in each other's streams."""
        store = self.eraser()
        mine, other = new_event("4", owner="a", text="secret"), new_event("5", owner="b")
        store.append([appending("a", "1", "2"), appending("b", "3")])
        store.append([StreamAppend("b", 1, [mine, other])])
        store.append([StreamAppend("p", 0, [new_event("6", owner="a"), new_event("7", owner="p")])])
        store.append([StreamAppend("a", 2, [new_event("8", owner="b")])])
        return store

    def test_erases_by_owner(self) -> None:
        """Every payload of the owner goes, in whichever stream, and no other payload."""
        store = self.owned()
        before = whole_log(store)
        answer = store.erase("a", _MARKER)
        self.assertEqual(["1", "2", "4", "6"], [event.id for event in answer])
        expected = tuple(event._replace(data=_MARKER) if event.owner == "a" else event for event in before)
        self.assertEqual(expected, whole_log(store))
        self.assertEqual(tuple(event for event in expected if event.owner == "a"), answer)
        self.assertEqual(expected[2:5], store.read_stream("b"))

    def test_erasing_nobody(self) -> None:
        """An owner without events is no error; nothing changes."""
        store = self.owned()
        before = whole_log(store)
        self.assertEqual((), store.erase("nobody", _MARKER))
        self.assertEqual(before, whole_log(store))

    def test_erasing_twice(self) -> None:
        """To erase again gives the same answer, and changes nothing more."""
        store = self.owned()
        first = store.erase("a", _MARKER)
        after = whole_log(store)
        self.assertEqual(first, store.erase("a", _MARKER))
        self.assertEqual(after, whole_log(store))

    def test_positions_go_on(self) -> None:
        """Erasing the tail gives no position and no version back."""
        store = self.eraser()
        store.append([appending("a", "1"), appending("b", "2")])
        store.erase("b", _MARKER)
        self.assertEqual(2, store.head())
        answer = store.append([appending("b", "3", expected=1)])
        self.assertEqual([(3, "b", 2)], [event[:3] for event in answer.events])

    def test_retry_after_erasure(self) -> None:
        """A retry is still recognised when its payload is gone, by its commitment, and restores nothing."""
        store = self.owned()
        store.erase("a", _MARKER)
        again = store.append([appending("a", "1", "2")])
        self.assertTrue(again.duplicate)
        self.assertEqual([_MARKER] * 2, [event.data for event in again.events])
        with self.assertRaises(DuplicateEvent):
            store.append([appending("a", "1", "2", text="other")])
        self.assertEqual(_MARKER, store.read_stream("a")[0].data)

    def test_scrub(self) -> None:
        """With no reader in the way, the remains are removed, and all else is as before."""
        store = self.owned()
        store.erase("a", _MARKER)
        before = whole_log(store)
        self.assertIs(True, store.scrub())
        self.assertEqual(before, whole_log(store))
        self.assertEqual((9,), store.append([appending("a", "9", expected=3)]).positions)
