"""Names of conditions: aliases, the k of a bench, and what is none of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.evidence.conditions import parse
from pyrite.store.conditions import canonical


@pytest.mark.parametrize(
    ("written", "last_k", "name"),
    [
        ("final", 4, "E1-final"),
        ("full+claim", 4, "E3-full+claim"),
        ("E2-lastk", 4, "E2-last4"),
        ("E2-lastk", 6, "E2-last6"),
        ("lastk", 6, "E2-last6"),
        ("E2", 6, "E2-last6"),
        ("E2-last4", 6, "E2-last4"),
        ("last8", 6, "E2-last8"),
        ("E2+claim", 4, "E2+claim"),
        ("E2+claim", 6, "E2-last6+claim"),
        ("last4+claim", 6, "E2+claim"),
        ("E2-last0", 4, None),
        ("E4", 4, None),
        ("", 4, None),
        ("E1-final+x", 4, None),
    ],
)
def test_names(written: str, last_k: int, name: str | None) -> None:
    assert canonical(written, last_k=last_k) == name


@given(
    st.sampled_from(["final", "full", "E1-final", "E2", "E2-lastk", "lastk", "last3", "E2-last12"]),
    st.sampled_from(["", "+claim"]),
    st.integers(1, 99),
)
def test_a_true_name_is_its_own_and_shows_that_many_screens(base: str, claim: str, k: int) -> None:
    name = canonical(base + claim, last_k=k)
    assert name is not None
    assert canonical(name) == name
    found = parse(base + claim, last_k=k)
    assert found == parse(name)
    assert found.with_claim is bool(claim)
    if base in {"E2", "E2-lastk", "lastk"}:
        assert found.last_screens == k
