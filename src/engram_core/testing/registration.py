"""Tells Hypothesis how to make the values of this library; it calls `register` when it is imported itself."""

from __future__ import annotations

__all__ = ["register"]


def register() -> None:
    """Makes `st.from_type` know every attribute class of the twelve kinds, and the small values."""
    from hypothesis import strategies as st

    from engram_core import values
    from engram_core.kinds import KINDS
    from engram_core.testing import strategies

    for spec in KINDS:
        st.register_type_strategy(spec.attributes, strategies.attributes)
    st.register_type_strategy(values.Actor, strategies.actors())
    st.register_type_strategy(values.EvidenceRef, strategies.evidence())
    st.register_type_strategy(values.Lifetime, strategies.lifetimes())
    st.register_type_strategy(values.Link, strategies.links())
    st.register_type_strategy(values.PartialDate, strategies.partial_dates())
    st.register_type_strategy(values.Period, strategies.periods())
    st.register_type_strategy(values.Provenance, strategies.provenances())
    st.register_type_strategy(values.Validity, strategies.validities())
    st.register_type_strategy(values.Visibility, strategies.visibilities())
