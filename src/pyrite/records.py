"""Every record that crosses a stage, frozen. The only data language between the layers.

What a foreign harness may write (`Meta`, `ActionLine`, `Facts`, `TaskSpec`) keeps keys it does not
know; what only pyrite writes refuses them. A number that is not known is None, never 0.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pyrite import steps

SCHEMA_VERSION = "1"

Source = Literal["natural", "weakened", "perturbed", "scripted"]
EndedBy = Literal[
    "done", "fail", "step_limit", "time_limit", "loop", "refused", "malformed", "environment_lost"
]
Status = Literal["ok", "malformed", "off_schema", "truncated", "refused"]
Stage = Literal["practice", "blind", "informed", "adjudication"]
OpaqueId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]


class Outcome(StrEnum):
    """What truth says of an episode: three, never two."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    INDETERMINATE = "indeterminate"


class Verdict(StrEnum):
    """What a judge says of an episode."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNCERTAIN = "uncertain"
    PARSE_ERROR = "parse_error"


class Category(StrEnum):
    """How an episode failed."""

    ABORT = "F-ABORT"
    CLAIM = "F-CLAIM"
    UNCOMMITTED = "F-UNCOMMITTED"
    WRONGTARGET = "F-WRONGTARGET"
    PARTIAL = "F-PARTIAL"
    SIDEEFFECT = "F-SIDEEFFECT"
    WRONGAPP = "F-WRONGAPP"


HARD_NEGATIVES = (Category.UNCOMMITTED, Category.WRONGTARGET, Category.PARTIAL, Category.SIDEEFFECT)
"""Failures that look like success: the ones that a false-positive rate should be asked about."""

SOURCES: tuple[Source, ...] = ("natural", "weakened", "perturbed", "scripted")
"""Strata in the order in which they lead; they are never pooled."""

BLAME: dict[str, str] = {
    **dict.fromkeys(("gold_failed", "bad_state_accepted", "gold_unstable"), "verifier"),
    **dict.fromkeys(("verifier_error", "verifier_timeout", "verifier_output_invalid"), "verifier"),
    **dict.fromkeys(("verifier_not_deterministic", "verifier_says_unknown"), "verifier"),
    "task_invalid": "task",
    **dict.fromkeys(("state_missing", "state_unreadable", "environment_lost"), "environment"),
    **dict.fromkeys(("setup_failed", "act_failed"), "environment"),
}
"""Cause of an indeterminate outcome -> who is to blame."""


class Record(BaseModel):
    """A frozen record of ours: unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ForeignRecord(BaseModel):
    """A frozen record that others may write too: unknown keys are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


# --- tasks -------------------------------------------------------------------------------------


class InitialFile(Record):
    """One file laid into the initial home."""

    path: str  # relative to the home
    from_: str = Field(alias="from")  # relative to the task folder


class Launch(ForeignRecord):
    """An application to start, by its allow-listed name."""

    app: str
    args: tuple[str, ...] = ()


class Initial(ForeignRecord):
    """The recipe of the initial home."""

    files: tuple[InitialFile, ...] = ()
    open: Launch | None = None
    """What is open on the desktop when the agent starts."""


class StateSpec(Record):
    """A known end state and what the verifier must say of it."""

    name: str
    kind: Literal["good", "harmless", "bad"]
    outcome: Outcome
    category: tuple[str, ...] = ()  # of a bad state: the candidates that verify.py must name, in any order


class Limits(Record):
    """Bounds of one verifier call."""

    timeout_s: float = Field(default=60.0, gt=0)
    memory_mb: int = Field(default=1024, gt=0)


class Benchmark(ForeignRecord):
    """Where a task or episode comes from."""

    name: str
    version: str


class TaskSpec(ForeignRecord):
    """What a task is (task.json)."""

    task_id: OpaqueId
    instruction: str
    family: str = ""
    domain: str = ""
    """What kind of work it is, such as office or terminal."""
    initial: Initial = Initial()
    states: tuple[StateSpec, ...] = ()
    reads: tuple[str, ...] = ()
    """Paths and globs below the home that the verifier opens; empty means all of it."""
    limits: Limits = Limits()
    equivalent_mutants: dict[str, str] = {}
    """Near-misses that `check` makes and that are right after all: name -> reason."""
    act: tuple[steps.Step, ...] = ()
    """What the verifier does on the living desktop after the end state was taken; empty: it only looks."""
    truth_from: Literal["final", "acted"] = "final"
    """Which state decides: the one that the agent left, or the one after `act` (see `truth.active`)."""
    script: tuple[Action, ...] = ()
    """What a competent agent does before `act`, for replaying it; agents and judges never see it."""
    clock_within_s: float | None = Field(default=None, gt=0)
    """For a task that depends on the date: how far the sandbox's clock may be off."""
    network: Literal["none", "loopback"] = "none"
    licence: str = ""
    benchmark: Benchmark | None = None
    truth: Literal["verifier", "labels"] = Field("verifier", exclude_if=lambda v: v == "verifier")
    """`labels`: imported, no end state was recorded. Left out of digests where it is the other."""

    @model_validator(mode="after")
    def _act_is_whole(self) -> Self:
        """`act` and `truth_from` come together, and the steps make sense one after the other."""
        if self.truth_from == "acted" and not self.act:
            raise ValueError("truth_from is acted, but there is no act")
        if self.act and "truth_from" not in self.model_fields_set:
            raise ValueError("act needs truth_from: final or acted, whichever state decides")
        wrong = steps.problem(self.act)
        if wrong is not None:
            raise ValueError(f"act: {wrong}")
        return self


# --- episodes ----------------------------------------------------------------------------------


class Agent(ForeignRecord):
    """Who acted."""

    name: str
    version: str = ""
    seed: int | None = None


class Screen(ForeignRecord):
    """Screen size in pixels."""

    width: int
    height: int


class Action(ForeignRecord):
    """One action, in the vocabulary of DESIGN section 5; importers keep foreign ones as `raw`."""

    action: str
    x: float | None = None
    y: float | None = None
    to_x: float | None = None
    to_y: float | None = None
    dx: float | None = None
    dy: float | None = None
    text: str | None = None
    keys: str | None = None
    seconds: float | None = None
    app: str | None = None
    args: tuple[str, ...] | None = None
    url: str | None = None


_PARAMETERS = set(Action.model_fields) - {"action"}


class ActionLine(Action):
    """One line of actions.jsonl: an action, and the screen after it."""

    step: int = Field(ge=1)
    screen: str | None = None  # path of the one after the action, relative to the episode folder
    thought: str | None = None
    at: str | None = None
    error: str | None = None
    page: str | None = None  # address of the page that the action was taken on
    unknown: tuple[str, ...] | None = None  # arguments not in the agent's action space; (): nor is the action

    def visible_parameters(self) -> dict[str, Any]:
        """What the agent asked for: the action's own parameters, without bookkeeping or unknown keys."""
        return self.model_dump(mode="json", include=_PARAMETERS, exclude_none=True)


class ScreenFiles(Record):
    """Files of screens in a foreign record, where not one a state; `unseen`: left over, and like no other."""

    files: int = Field(ge=0)
    unseen: int = Field(default=0, ge=0)


class Meta(ForeignRecord):
    """meta.json, written last: an episode without it is unfinished."""

    schema_version: str
    episode_id: OpaqueId
    task_id: OpaqueId
    source: Source
    agent: Agent
    n_steps: int = Field(ge=0)
    created_at: str
    final_message: str | None = None
    sandbox_image: str | None = None
    ended_by: EndedBy | None = None
    family: str | None = None
    domain: str | None = None
    task_digest: str | None = None
    """Of the task as it was recorded; see `suites.lookup.Origin.digest`."""
    benchmark: Benchmark | None = None
    origin_id: str | None = None
    parent: str | None = None
    perturbation: str | None = None
    screen: Screen | None = None
    enforced: dict[str, Any] | None = None
    lost: str | None = None
    """Why the sandbox was lost, where `ended_by` is environment_lost."""
    weakened: str | None = None
    """What was taken away from the agent, where `source` is weakened."""
    message_kind: str | None = None  # of a message drawn from templates: asserts, hedged, admits or silent
    screen_files: ScreenFiles | None = None
    stopped: str | None = None  # why the agent ended without an action of its own: refused, loop, …


class Window(ForeignRecord):
    """A window as seen from outside just before the kill. Titles are whatever the client set."""

    title: str
    wm_class: str = Field(default="", alias="class")
    pid: int | None = None
    transient: bool = False

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class Process(ForeignRecord):
    """A process of the episode: `exe` cannot be forged from inside, `argv` can."""

    exe: str
    argv: tuple[str, ...] = ()


class Clock(ForeignRecord):
    """Two clocks read at one moment, in seconds since 1970."""

    sandbox: float
    host: float


class Facts(ForeignRecord):
    """final_facts.json: what was seen from outside before everything was killed."""

    processes: tuple[Process, ...] = ()
    windows: tuple[Window, ...] = ()
    ports: tuple[int, ...] = ()
    unsaved: bool | None = None
    """A close request brought up a dialog (True), closed the window (False), or neither (None)."""
    clock: Clock | None = None
    """What the clocks said before the agent's first action; for tasks that depend on the date."""


# --- truth -------------------------------------------------------------------------------------


class Replay(Record):
    """What the verifier said of the known states, right before it was believed."""

    at: str
    image: str
    outcomes: dict[str, str]  # state name -> observed outcome


class Truth(Record):
    """gt.json: the deterministic outcome of one episode."""

    episode_id: OpaqueId
    outcome: Outcome
    passed: bool | None = Field(alias="pass")
    """True or False for pass and fail; None for indeterminate."""
    category: Category | None = None
    category_source: Literal["state", "episode", "person"] | None = None
    candidates: tuple[str, ...] = ()
    diagnostics: dict[str, Any] = {}
    cause: str | None = None
    blame: str | None = None
    verifier_sha256: str | None = None
    state_sha256: str | None = None
    replay: Replay | None = None
    confinement: dict[str, Any] = {}
    libraries: dict[str, str] = {}
    verified_at: str = ""
    acted_sha256: str | None = None
    """Of act.jsonl and the state after it; None for tasks that do not act."""
    act: dict[str, Any] | None = None
    """What the act came to, and what the verifier said of both states; see `truth.active`."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """Outcome and pass say the same, and only an indeterminate outcome has a cause."""
        expected = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.INDETERMINATE: None}[self.outcome]
        if self.passed is not expected:
            raise ValueError(f"outcome is {self.outcome.value}, but pass is {self.passed}")
        if self.cause is not None and self.outcome is not Outcome.INDETERMINATE:
            raise ValueError(f"outcome is {self.outcome.value}, but cause is {self.cause}")
        return self


# --- labels ------------------------------------------------------------------------------------


class Label(ForeignRecord):
    """One line of labels.jsonl: what one person says of one episode; lines are never changed."""

    episode_id: OpaqueId
    annotator: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    stage: Stage = "blind"
    """practice never counts; informed: the outcome was known; adjudication settles a conflict."""
    outcome: Outcome | None = None
    process_score: float | None = None
    criteria: dict[str, Any] = {}
    category: Category | None = None
    comment: str = ""
    at: str = ""

    @model_validator(mode="after")
    def _only_a_fail_has_a_category(self) -> Label:
        if self.category is not None and self.outcome not in {None, Outcome.FAIL}:
            raise ValueError(f"category {self.category} with outcome {self.outcome}: only a fail has one")
        return self


# --- evidence ----------------------------------------------------------------------------------


class ViewAction(Record):
    """An action as a judge may see it."""

    step: int
    action: str
    parameters: dict[str, Any] = {}
    thought: str | None = None
    screen: int | None = None  # of the one after it, in `Evidence.images`; None if not in the package
    page: str | None = Field(default=None, exclude_if=lambda v: v is None)  # as in `ActionLine`
    unknown: tuple[str, ...] | None = Field(default=None, exclude_if=lambda v: v is None)


class LeftOut(Record):
    """What a budget kept out: screens after steps (0: before the first), whole steps, characters of texts."""

    screens: tuple[int, ...] = ()
    actions: tuple[int, ...] = ()
    characters: int = 0
    max_tokens: int
    max_bytes: int


class Evidence(Record):
    """One package: everything that a judge sees of an episode, and nothing else."""

    package_id: str
    condition: str
    instruction: str
    actions: tuple[ViewAction, ...] = ()
    images: tuple[str, ...] = ()  # sha256 of the decoded pixels, in order of time
    same_as: tuple[int | None, ...] = ()
    """For each image the index of the first with the same pixels, None for a new one: none is shown twice."""
    left_out: LeftOut | None = None
    """None where everything that the condition shows is here."""
    final_message: str | None = None
    """The agent's own claim; only in conditions with `+claim` or `+swap`."""
    mark: str = ""  # of the agent's words in requests: `EpisodeView.mark`
    screen_files: ScreenFiles | None = None  # not in the file where it is None


class EvidenceEntry(Record):
    """One line of evidence/index.jsonl: the host's own note of which package, by digest, is whose."""

    package_id: str
    episode_id: OpaqueId
    condition: str
    evidence_sha256: str


# --- verdicts ----------------------------------------------------------------------------------


class VerdictLine(ForeignRecord):
    """One line of a file below verdicts/; what another harness leaves out or null stays unknown."""

    episode_id: OpaqueId
    judge: str
    config: str | None = None
    """Digest of the judge's settings; None in lines that pyrite did not write."""
    condition: str
    run: int = Field(ge=1)
    verdict: Verdict | None = None
    score: float | None = None
    confidence: float | None = None
    reason: str = ""
    called_at: str = ""
    model: str | None = None
    prompt_sha256: str | None = None
    evidence_sha256: str = ""
    status: Status = "ok"
    usage: dict[str, Any] = {}
    latency_s: float | None = None
    raw: str | None = None

    @field_validator("reason", "called_at", "evidence_sha256", "status", "usage", mode="before")
    @classmethod
    def _null_is_left_out(cls, value: object, info: ValidationInfo) -> object:
        return cls.model_fields[str(info.field_name)].default if value is None else value


# --- numbers -----------------------------------------------------------------------------------


class Interval(NamedTuple):
    """A confidence interval; its level stands in the estimate."""

    low: float
    high: float
    method: str


class Estimate(Record):
    """A number with what is needed to believe it, or None and the reason why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    level: float | None = None
    n: int = 0
    n_eff: float | None = None
    clusters: int | None = None
    estimand: str = ""
    reason: str | None = None
    """Why `value` (or the interval) is None; None when both are there."""
    iid: Interval | None = None
    """The interval that would hold if the episodes were independent."""
    by_task: Interval | None = None
    """The interval clustered by task, where the one by family is wider and leads."""
    by_family: Interval | None = None
    """The interval clustered by family, where families are known and the one by task leads."""
