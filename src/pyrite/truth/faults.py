"""What is wrong with a task, in words, and what to change about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyrite.records import Outcome
from pyrite.truth.replay import ReplayResult, StateCheck
from pyrite.truth.verifier_output import Answer

_MUST_PASS = {"good", "harmless"}


@dataclass(frozen=True)
class Fault:
    """One reason why a task is not fit to ship."""

    kind: str
    """build | state | candidates | unstable | wrote | constant | undeclared | instruction | near_miss |
    equivalents | active | unreadable"""
    about: str
    """The state, near-miss or file."""
    observed: str
    why: str
    change: str


def of_replay(result: ReplayResult) -> Iterator[Fault]:
    """What the replay of the declared states shows."""
    if not result.checks:
        kind = "build"
        yield Fault(
            kind, "states", result.cause or "no states", result.detail, "mend setup, or the state's script"
        )
        return
    for check in result.checks:
        if check.answer.outcome is not check.expected:
            yield _of_state(check)
        elif not check.candidates_ok:
            declared = ", ".join(sorted(check.expected_candidates or ())) or "none"
            said = ", ".join(sorted(check.answer.candidates)) or "none"
            why = f"declared {declared}; the verifier names {said}"
            change = f"declare what it names, or mend how it tells them: state {check.name}"
            yield Fault("candidates", check.name, "other candidates", why, change)
    if result.flake is not None:
        change = "do not look at clocks, chance, file times or where the home lies"
        yield Fault("unstable", result.flake.state, "one state, several answers", result.flake.said(), change)
    kinds = {check.kind for check in result.checks}
    for kind in ("good", "bad"):
        if kind not in kinds:
            why = f"nothing shows that the verifier {'accepts' if kind == 'good' else 'rejects'} anything"
            yield Fault("undeclared", kind, f"no {kind} state", why, f"declare a {kind} state in states/")
    outcomes = {check.answer.outcome for check in result.checks}
    if len(outcomes) == 1 and len({check.expected for check in result.checks}) > 1:
        word = outcomes.pop()
        why = f"{word} for each of {len(result.checks)} states"
        yield Fault("constant", "verifier", f"it always says {word}", why, "have it read the end state")


def _of_state(check: StateCheck) -> Fault:
    what = "untouched state" if check.kind == "initial" else f"{check.kind} state {check.name}"
    observed = f"{what}: {said(check.answer)}"
    if check.answer.outcome is Outcome.INDETERMINATE:
        why = check.answer.problem or str(check.answer.cause)
        last = check.answer.log.strip().splitlines()[-1:]
        why += f": {last[0][:160]}" if last else ""
        return Fault("state", check.name, observed, why, "answer pass or fail for every end state")
    if check.kind in _MUST_PASS:
        codes = ", ".join(check.answer.candidates) or "no code"
        why = f"it must pass; the verifier names {codes}"
        return Fault("state", check.name, observed, why, f"accept this state, or mend state {check.name}")
    if check.kind == "initial":
        why = "nobody has done anything yet"
        return Fault("state", check.name, observed, why, "ask for what the initial home does not have")
    codes = ", ".join(check.expected_candidates or ()) or "no code"
    return Fault(
        "state", check.name, observed, f"it must fail, with {codes}", "check what this state gets wrong"
    )


def acted(check: StateCheck, *, archived_ok: bool) -> Fault:
    """A state that the verifier acted on in the real application."""
    why = "as an archive it is right, so the active part is to blame" if archived_ok else "as an archive too"
    if check.answer.problem:
        why += f": {check.answer.problem}"
    observed = f"{check.name} in the real application: {said(check.answer)}"
    return Fault("active", check.name, observed, why, "mend the steps of act, or what they wait for")


def said(answer: Answer) -> str:
    """An answer in a word or two."""
    if answer.outcome is Outcome.INDETERMINATE:
        return f"no answer ({answer.cause})"
    return "passes" if answer.outcome is Outcome.PASS else "fails"


def unstable(name: str, answers: Sequence[Answer]) -> Fault:
    """One state, several answers: here, again, and from another path with older files."""
    where = ("first", "again", "from another path, with older files")
    told = "; ".join(f"{place}: {_told(answer)}" for place, answer in zip(where, answers, strict=False))
    return Fault(
        "unstable",
        name,
        "one state, several answers",
        told,
        "do not look at clocks, chance, file times or where the home lies",
    )


def _told(answer: Answer) -> str:
    codes = ", ".join(answer.candidates)
    return said(answer) + (f" with {codes}" if codes else "")


def wrote(name: str) -> Fault:
    """The home is another one after the verifier has looked."""
    return Fault(
        "wrote", name, "the verifier wrote", "the home differs afterwards", "read, and write nothing"
    )


def unnamed(path: str) -> Fault:
    """A target that the instruction does not name."""
    why = f"the good state changes {path}, and the instruction does not name it"
    return Fault("instruction", path, "target not named", why, f"name {path} in the instruction")


def accepted(name: str, what: str) -> Fault:
    """A near-miss that passes."""
    return Fault("near_miss", name, "near-miss passes", what, "check this too, or declare it equivalent")
