"""A question that names a date lifts what happened then."""

from __future__ import annotations

from datetime import UTC, datetime

from engram_core import Episode, Fact, MemorySpace, user
from engram_core.testing import FrozenClock


def test_a_named_date_lifts_what_was_told_then() -> None:
    """By the instant at which a memory began, or at which its episode happened; the explanation says so."""
    with MemorySpace.in_memory(clock=FrozenClock(datetime(2026, 6, 1, tzinfo=UTC))) as space:
        ann = space.session(user("ann"))
        for month in range(1, 6):
            ann.remember(
                Fact("Bob cooked dinner"), occurred_at=datetime(2025, month, 3, tzinfo=UTC), on_duplicate="create"
            )
        then = ann.remember(Episode(occurred_at=datetime(2025, 3, 20, tzinfo=UTC)), title="Bob cooked dinner").memory_id
        hits = ann.recall("what dinner did Bob cook in March 2025?")
        assert then in [hit.id for hit in hits[:2]]
        assert all(hit.explanation["dated"] > 0 for hit in hits[:2])
        assert not any("dated" in hit.explanation for hit in hits[2:])
        assert all(hit.score == sum(hit.explanation.values()) for hit in hits)
