"""Stores that read wrongly what they hold."""

from __future__ import annotations

from engram_core.ports import Recorded
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing.zoo.base import breaks, listed

__all__ = ["READS"]

Page = tuple[Recorded, ...]


class _Reading(InMemoryStore):
    """Has both reads go through one method that a fault can change."""

    def read_stream(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None, backwards: bool = False
    ) -> Page:
        return self.stream_page(stream, after, upto, limit, backwards)

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> Page:
        return self.page(after, upto, limit)

    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        return super().read_stream(stream, after=after, upto=upto, limit=limit, backwards=backwards)

    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return super().read(after=after, upto=upto, limit=limit)


@breaks("`read` begins after `after`")
class ReadsFromAfter(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return super().page(max(0, after - 1), upto, limit)


@breaks("`read` includes `upto`")
class ReadsBelowUpto(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return super().page(after, max(0, upto - 1) if upto is not None else None, limit)


@breaks("`read` keeps to its limit")
class ReadsBeyondTheLimit(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return super().page(after, upto, limit + 1)


@breaks("a bound of 0 is a bound")
class TakesZeroForNoBound(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return super().page(after, upto or None, limit)

    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        return super().stream_page(stream, after, upto or None, limit or None, backwards)


@breaks("negative bounds are refused")
class CountsFromTheEnd(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return tuple(self._events[after:upto][:limit]) if after < 0 else super().page(after, upto, limit)


@breaks("`read` gives positions in order")
class ReadsStreamByStream(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return tuple(sorted(super().page(after, upto, limit), key=lambda event: (event.stream, event.version)))


@breaks("`read` gives the first events of those it may give")
class ReadsTheLatestFirst(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        found = super().page(after, upto, 10**6)
        return found[max(0, len(found) - limit) :]


@breaks("a stream is bounded by versions, not by positions")
class BoundsStreamsByPosition(_Reading):
    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        found = super().stream_page(stream, 0, None, None, backwards)
        found = tuple(e for e in found if e.position > after and (upto is None or e.position <= upto))
        return found[:limit]


@breaks("a stream is read from its first event")
class SkipsTheFirstOfAStream(_Reading):
    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        return super().stream_page(stream, after + 1 if after else 0, upto, limit, backwards)


@breaks("backwards means from the last version down")
class IgnoresBackwards(_Reading):
    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        return super().stream_page(stream, after, upto, limit, False)


@breaks("backwards, the limit keeps the last events")
class LimitsBeforeTurning(_Reading):
    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        found = super().stream_page(stream, after, upto, limit, False)
        return found[::-1] if backwards else found


@breaks("a stream without a limit is read whole")
class ReadsAThousandAtMost(_Reading):
    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        return super().stream_page(stream, after, upto, min(limit or 1_000, 1_000) if limit != 0 else 0, backwards)


@breaks("`read` gives a thousand unless told otherwise")
class ReadsAHundredByDefault(InMemoryStore):
    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 100) -> Page:
        return super().read(after=after, upto=upto, limit=limit)


@breaks("a stream holds its own events only")
class ReadsStreamsByPrefix(_Reading):
    def stream_page(self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool) -> Page:
        names = [name for name in self._streams if name.startswith(stream)]
        pages = [super(ReadsStreamsByPrefix, self).stream_page(n, after, upto, limit, backwards) for n in names]
        return tuple(event for page in pages for event in page)


@breaks("what was read is a value")
class ReadsLists(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        return list(super().page(after, upto, limit))  # type: ignore[return-value]


@breaks("what was read earlier does not change")
class ReadsALiveView(_Reading):
    def page(self, after: int, upto: int | None, limit: int) -> Page:
        whole = after == 0 and upto is None and limit >= 1_000
        return self._events if whole else super().page(after, upto, limit)  # type: ignore[return-value]


@breaks("the head is as new as the last answer")
class ShowsAnOldHead(InMemoryStore):
    _shown = 0

    def head(self) -> int:
        shown, self._shown = self._shown, super().head()
        return shown


@breaks("the head is the last position, not the number of streams")
class CountsStreamsForTheHead(InMemoryStore):
    def head(self) -> int:
        return len(self._streams)


@breaks("closing twice is no error")
class ClosesOnce(InMemoryStore):
    def close(self) -> None:
        if self._closed:
            raise RuntimeError("closed already")
        super().close()


READS = listed(
    ReadsFromAfter,
    ReadsBelowUpto,
    ReadsBeyondTheLimit,
    TakesZeroForNoBound,
    CountsFromTheEnd,
    ReadsStreamByStream,
    ReadsTheLatestFirst,
    BoundsStreamsByPosition,
    SkipsTheFirstOfAStream,
    IgnoresBackwards,
    LimitsBeforeTurning,
    ReadsAThousandAtMost,
    ReadsAHundredByDefault,
    ReadsStreamsByPrefix,
    ReadsLists,
    ReadsALiveView,
    ShowsAnOldHead,
    CountsStreamsForTheHead,
    ClosesOnce,
)
"""Broken stores by name: those that read wrongly."""
