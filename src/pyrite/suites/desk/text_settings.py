"""Family text_settings: one line of a log-in profile, an .env or a cron-like file; another is alike."""

from __future__ import annotations

from pyrite.suites.desk import written
from pyrite.suites.desk.goals import FILES, READS
from pyrite.suites.desk.written import Params, joined, lines_of
from pyrite.suites.family import Family

PROFILE, ENV, STAGING = ".profile", "Shop/.env", "Shop/staging/.env"
EVENING, WEEKEND = "Cron/evening.cron", "Cron/weekend.cron"


def _with(path: str, old: str, new: str) -> str:
    """A text of the initial home with one line replaced (or, without `old`, one more at the end)."""
    lines = lines_of("settings", path)
    if not old:
        return joined([*lines, new])
    assert lines.count(old) == 1
    return joined([new if line == old else line for line in lines])


def _task(
    words: str, path: str, old: str, new: str, command: str, *near: tuple[str, str], sibling: str = ""
) -> Params:
    """`near`: (name, line) in the place of the new line."""
    there = lines_of("settings", sibling) if sibling else []
    alike = old if old in there else ""
    if sibling and not alike and old:
        name = old.partition("=")[0] + "=" if "=" in old else old.split(" ")[0]
        alike = next(line for line in there if line.startswith(name))
    wrong = [(name, _with(path, old, line)) for name, line in near]
    wrong += [] if old == f"# {new}" else [("comment", _with(path, old, f"# {new}"))]
    if old:
        wrong += [("old_line_too", _with(path, "", new))]
    return Params(
        "settings",
        f"{words} Change nothing else.",
        path,
        _with(path, old, new),
        command,
        (new,),
        "Network/hosts.lab",
        tuple(wrong),
        sibling,
        _with(sibling, alike, new) if sibling else "",
    )


PARAMS = {
    "text-settings-editor": _task(
        'In the file .profile of the home folder, change the line "export EDITOR=nano" to "export '
        'EDITOR=vim".',
        PROFILE, "export EDITOR=nano", "export EDITOR=vim", "sed -i 's/EDITOR=nano/EDITOR=vim/' .profile",
        ("not_exported", "EDITOR=vim"), ("other_value", "export EDITOR=vi"), ("spaces", "export "
        "EDITOR = vim"),
    ),
    "text-settings-pager": _task(
        'Add the line "export PAGER=less" at the end of the file .profile of the home folder.',
        PROFILE, "", "export PAGER=less", "echo 'export PAGER=less' >> .profile",
        ("not_exported", "PAGER=less"), ("misspelt", "export PAGER=les"), ("other_variable",
        "export PAGERS=less"),
    ),
    "text-settings-staging-port": _task(
        'In the file Shop/staging/.env, change the line "PORT=8081" to '
        '"PORT=8090".', STAGING, "PORT=8081", "PORT=8090",
        "sed -i 's/^PORT=8081$/PORT=8090/' Shop/staging/.env",
        ("quoted", 'PORT="8090"'), ("other_value", "PORT=8900"), ("old_port", "PORT=8080"), sibling=ENV,
    ),
    "text-settings-mail-from": _task(
        'In the file Shop/.env (not that of staging), change the line "MAIL_FROM=shop@example.org" to '
        '"MAIL_FROM=orders@example.org".', ENV, "MAIL_FROM=shop@example.org", "MAIL_FROM=orders@example.org",
        "sed -i 's/=shop@example/=orders@example/' Shop/.env",
        ("other_variable", "MAIL_TO=orders@example.org"), ("other_value", "MAIL_FROM=order@example.org"),
        sibling=STAGING,
    ),
    "text-settings-cron-cleanup": _task(
        'In the file Cron/evening.cron, change the line "# 0 4 1 * * /home/agent/Tools/cleanup.sh" to '
        '"0 4 1 * * /home/agent/Tools/cleanup.sh".',
        EVENING, "# 0 4 1 * * /home/agent/Tools/cleanup.sh", "0 4 1 * * /home/agent/Tools/cleanup.sh",
        "sed -i '/cleanup/s/^# //' Cron/evening.cron",
        ("other_hour", "0 5 1 * * /home/agent/Tools/cleanup.sh"),
        ("every_day", "0 4 * * * /home/agent/Tools/cleanup.sh"), sibling=WEEKEND,
    ),
    "text-settings-cron-hour": _task(
        'In the file Cron/evening.cron, change the line "0 19 * * * /home/agent/Tools/backup.sh" to '
        '"0 21 * * * /home/agent/Tools/backup.sh".',
        EVENING, "0 19 * * * /home/agent/Tools/backup.sh", "0 21 * * * /home/agent/Tools/backup.sh",
        "sed -i 's/^0 19 /0 21 /' Cron/evening.cron",
        ("other_script", "0 21 * * * /home/agent/Tools/backup_db.sh"),
        ("minute", "21 0 * * * /home/agent/Tools/backup.sh"),
    ),
}  # fmt: skip


def equivalent(params: Params) -> dict[str, str]:
    """A hidden copy beside a hidden file is as little looked at as the other hidden files of a home."""
    hidden = params.path.rpartition("/")[2].startswith(".")
    return (
        {f"file-added@{params.path}": "the copy is a hidden file, which programs may leave"} if hidden else {}
    )


FAMILY = Family(
    name="text_settings",
    domain="terminal",
    files=FILES,
    params=PARAMS,
    instruction=written.instruction,
    initial=written.initial,
    opened=written.opened,
    reads=READS,
    good=written.good,
    harmless=written.harmless,
    bad=written.bad,
    verify=written.verify,
    script=written.script,
    claim=written.claim,
    equivalent=equivalent,
)
