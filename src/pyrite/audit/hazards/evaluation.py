"""Priorities 1, 2 and 5: what happens between the agent's last action and the reading of its result."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.audit import commands
from pyrite.audit.definition import Definition
from pyrite.audit.hazards.base import Found, getter_found, hazard, step_found
from pyrite.audit.ledger import ledger_of


@hazard(2, "verdict", "its failure is logged at most, and the verifier then reads whatever is there")
def silent_step(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.silent:
            yield step_found(step)


@hazard(2, "verdict", "keys go to whatever has the focus: where the window was not found, elsewhere")
def activate_window(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.type == "activate_window":
            yield step_found(step)


@hazard(2, "verdict", "a strict title matches one spelling; on Linux its failure is not even reported")
def strict_title(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.title is not None and step.strict:
            yield step_found(step)


@hazard(1, "risk", "the harness acts after the agent: what is judged is not what the agent left")
def postconfig(task: Definition) -> Iterator[Found]:
    if task.evaluation:
        kinds = ", ".join(step.type for step in task.evaluation[:8])
        more = f" and {len(task.evaluation) - 8} more" if len(task.evaluation) > 8 else ""
        yield Found(f"{len(task.evaluation)} steps: {kinds}{more}", "postconfig")


@hazard(1, "risk", "keys are pressed blindly while it evaluates")
def gui_keystrokes(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.keys or commands.gui(step.text):
            yield step_found(step)


@hazard(1, "verdict", "the harness saves for the agent: an unsaved document passes, an undone one is undone")
def saves_for_agent(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.saves or commands.saves(step.text):
            yield step_found(step)


@hazard(1, "risk", "a dialog is answered by keys; another dialog gets the same keys")
def dialog_keystrokes(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if commands.types_into_dialog(step.text):
            yield step_found(step)


@hazard(1, "risk", "a fixed wait: too short on a slow machine")
def fixed_sleep(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.seconds is not None:
            yield step_found(step, f"{step.type} {step.seconds:g} s")
    for getter in task.getters:
        if getter.sleeps:
            yield getter_found(getter, f"{getter.type}: the harness waits {getter.sleeps:g} s")


@hazard(1, "risk", "a fixed wait inside a command")
def sleep_in_command(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        seconds = commands.sleeps(step.text) if step.seconds is None else 0.0
        if seconds:
            yield step_found(step, f"{step.type} waits {seconds:g} s inside its command")


@hazard(1, "risk", "what is expected is downloaded while it evaluates: the host's answer decides")
def gold_download(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.reach == "published" and getter.urls:
            yield getter_found(getter, f"{getter.type} {' '.join(getter.urls[:2])[:180]}")


@hazard(1, "risk", "files are downloaded onto the machine while it evaluates")
def postconfig_download(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if step.type == "download" or commands.fetches(step.text):
            yield step_found(step)


@hazard(1, "risk", "it cannot evaluate without a network")
def evaluation_network(task: Definition) -> Iterator[Found]:
    for line in ledger_of(task).network:
        at, _, why = line.partition(" ")
        yield Found(why, at)


@hazard(1, "risk", "a browser is driven over its debugging port: it must be up, and on the right page")
def browser_over_cdp(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.cdp:
            yield getter_found(getter)


@hazard(1, "risk", "reading the result runs a program, the agent's own or the benchmark's")
def getter_runs_code(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.text and commands.runs_code(getter.text, getter.argv):
            yield getter_found(getter)


@hazard(1, "risk", "an application is ended before its state is read: what it had not written is lost")
def kills_app(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if commands.kills(step.text) or step.type == "close_window":
            yield step_found(step)


@hazard(1, "risk", "an application is started while it evaluates, and may not come up")
def launches_app(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if (step.type in {"launch", "open"} and not commands.kills(step.text)) or commands.starts_app(
            step.text
        ):
            yield step_found(step)


@hazard(1, "risk", "an office suite converts the document first: a second instance may refuse, or lock")
def converts_document(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if commands.converts(step.text):
            yield step_found(step)


@hazard(1, "risk", "the accessibility tree is read: it lags, and is empty where the bus is not up")
def accessibility_tree(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if "accesstree" in getter.type.lower() or getter.type == "accessibility_tree":
            yield getter_found(getter)


@hazard(1, "risk", "the shell's history decides: it is written when the terminal ends, if at all")
def bash_history(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if commands.reads_history(" ".join((getter.text, *getter.paths))):
            yield getter_found(getter)


@hazard(1, "info", "needs a proxy: it says that the site answers differently by place")
def proxy(task: Definition) -> Iterator[Found]:
    if task.proxy:
        yield Found("proxy: true")


@hazard(1, "info", "only the last action is read: an agent that always gives up passes it")
def infeasible(task: Definition) -> Iterator[Found]:
    if task.infeasible:
        yield Found("passes if the last action is FAIL, whatever the state", "evaluator.func")


@hazard(5, "verdict", "a save by keys, a fixed wait, then the file is read: whether it was written is luck")
def sleep_before_saved_file(task: Definition) -> Iterator[Found]:
    if not any(getter.reach == "file" for getter in task.results):
        return
    saved = None
    for step in task.evaluation:
        if step.saves or commands.saves(step.text):
            saved = step
        waited = commands.sleeps(step.text) if step.seconds is None else step.seconds
        if saved is not None and waited:
            read = next((path for g in task.results for path in g.paths), "the result")
            yield step_found(step, f"{saved.at} saves by keys, {waited:g} s later {read[:100]} is read")
            return
