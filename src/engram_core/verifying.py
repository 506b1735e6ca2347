"""Verification: the log against itself and against an anchor, the read model against a replay of the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from attrs import field, frozen

from engram_core.chain import ERASED_MARKER, chain_link, commitment, genesis
from engram_core.core import Core
from engram_core.errors import EngramError, HistoryError, StoreCorrupt
from engram_core.events import MemoryErased
from engram_core.log import Anchor
from engram_core.ports import Recorded

__all__ = ["VerifyReport", "verify"]

_MOST_PROBLEMS = 1_000

_TEXT: Final = (str,)
_MAYBE_TEXT: Final = (str, type(None))
_FORMS: Final[dict[str, tuple[type, ...]]] = {
    "position": (int,),
    "stream": _TEXT,
    "version": (int,),
    "id": _TEXT,
    "type": _TEXT,
    "schema_version": (int,),
    "owner": _TEXT,
    "data": _TEXT,
    "commitment": (bytes,),
    "occurred_at": (int,),
    "recorded_at": (int,),
    "actor_kind": _TEXT,
    "batch_id": _TEXT,
    "causation_id": _MAYBE_TEXT,
    "command_key": _MAYBE_TEXT,
    "link": (bytes, type(None)),
}


@frozen(kw_only=True)
class VerifyReport:
    """What a verification found.

    Attributes:
        ok: True when nothing is wrong.
        problems: What is wrong, in readable sentences; at most 1,000.
        events: How many events were read.
        erased: How many of them are erased.
        anchor: The end of the chain as it was found.
    """

    problems: tuple[str, ...] = field(default=(), repr=lambda p: f"<{len(p)}>")
    events: int = 0
    erased: int = 0
    anchor: Anchor = field(factory=lambda: Anchor(0, ""))

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok


def verify(
    core: Core, *, anchor: Anchor | None = None, progress: Callable[[int, int], None] | None = None
) -> VerifyReport:
    """Checks a whole space.

    Args:
        core: The space's core.
        anchor: An earlier `MemorySpace.anchor()` that was kept elsewhere: shows a cut tail and a recomputed chain.
        progress: Called with events done and to do.

    Returns: A report of all that is wrong, in a file that is damaged, too.
    Raises: StoreBusy, or another StoreError, when the log cannot be looked at now.
    """
    check = _LogCheck(core, anchor)
    with core.host.reading():  # one snapshot of log and read model, whoever is writing
        check.say_all(_problems_of_file(core))
        total = core.log.head()
        try:
            for page in core.log.pages(upto=total):
                for recorded in page:
                    check.take(recorded)
                if progress is not None:
                    progress(check.position, total)
        except StoreCorrupt as error:
            check.say(f"the log cannot be read beyond position {check.position}: {error}")
        else:
            check.end(total)
        if len(check.problems) < _MOST_PROBLEMS:
            check.say_all(_problems_of_read_model(core, harmed=bool(check.problems)))
    return VerifyReport(
        problems=tuple(check.problems),
        events=check.position,
        erased=check.erased,
        anchor=Anchor(check.position, check.link.hex() if check.position else ""),
    )


def _problems_of_file(core: Core) -> Sequence[str]:
    """What the store itself finds wrong with its file, if it can look."""
    look = getattr(core.store, "problems", None)
    if look is None:
        return ()
    found: Sequence[str] = look()
    return found


def _problems_of_read_model(core: Core, *, harmed: bool) -> Sequence[str]:
    try:
        return core.read_model.check()
    except (HistoryError, StoreCorrupt) as error:
        return (f"the read model cannot be compared with the log: {error}",)
    except Exception as error:
        # A history that nobody wrote may break what holds for all that can be written.
        if not harmed or isinstance(error, EngramError):
            raise
        return (f"the read model cannot be compared with the log: {error!r}",)


class _LogCheck:
    """The checks of the log, event by event."""

    def __init__(self, core: Core, anchor: Anchor | None) -> None:
        self.core = core
        self.anchor = anchor
        self.problems: list[str] = []
        self.position = 0
        self.erased = 0
        self.link = genesis(core.store.store_id)
        self._recorded_at = -(2**63)
        self._versions: dict[str, int] = {}
        self._ids: set[int] = set()
        self._commit: list[Recorded] = []
        self._gone: set[int] = set()
        self._markers: dict[str, int] = {}

    def say(self, problem: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)

    def say_all(self, problems: Sequence[str]) -> None:
        for problem in problems:
            self.say(problem)

    def take(self, r: Recorded) -> None:
        wrong = [name for name, value in zip(_FORMS, r, strict=True) if type(value) not in _FORMS[name]]
        if wrong:
            self.say(f"position {r.position}: {', '.join(wrong)} cannot be what was written")
            self.position = r.position
            self._commit = []
            return
        if r.position != self.position + 1:
            self.say(f"position {self.position + 1} is missing: {r.position} follows {self.position}")
        self.position = r.position
        version = self._versions.get(r.stream, 0) + 1
        if r.version != version:
            self.say(f"position {r.position}: version {r.version} of {r.stream} follows {version - 1}")
        self._versions[r.stream] = r.version
        if r.recorded_at < self._recorded_at:
            self.say(f"position {r.position}: recorded before the position in front of it")
        self._recorded_at = r.recorded_at
        name = hash(r.id)
        if name in self._ids:
            self.say(f"position {r.position}: the event id {r.id} is there twice")
        self._ids.add(name)
        self._payload(r)
        self._chain(r)

    def _payload(self, r: Recorded) -> None:
        if r.data == ERASED_MARKER:
            self.erased += 1
            self._markers[r.id] = r.position
            self._gone.add(hash(r.id))
        elif commitment(r.data) != r.commitment:
            self.say(f"position {r.position}: the payload of {r.type} is not the one that was committed")
            return
        try:
            event = self.core.codec.decode(r).event
        except (HistoryError, ValueError) as error:
            self.say(f"position {r.position}: {error}")
            return
        if isinstance(event, MemoryErased):
            for id in event.event_ids:
                self._markers.pop(id, None)
                if hash(id) not in self._gone:
                    self.say(f"position {r.position}: MemoryErased lists {id}, whose payload is there")

    def _chain(self, r: Recorded) -> None:
        self._commit.append(r)
        if r.link is not None:
            expected = chain_link(self.link, self._commit)
            if expected != r.link:
                self.say(f"position {r.position}: the hash chain is broken in the commit that ends here")
            self.link = r.link
            self._commit = []
        if self.anchor is not None and r.position == self.anchor.position:
            found = (r.link or b"").hex()
            if found != self.anchor.link:
                self.say(f"position {r.position}: the chain differs from the anchor that was kept")

    def end(self, head: int) -> None:
        if self._commit:
            self.say(f"position {self.position}: the last commit has no link")
        if self.position != head:
            self.say(f"the log ends at {self.position}, but its head is {head}")
        if self.anchor is not None and self.position < self.anchor.position:
            self.say(f"the log ends at {self.position}, before the anchor at {self.anchor.position}: its tail was cut")
        for id, position in self._markers.items():
            self.say(f"position {position}: the payload of {id} is erased, but no MemoryErased says so")
