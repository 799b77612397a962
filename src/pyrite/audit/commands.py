"""What a command does, told from its text alone. Nothing is run; a doubt is left to the person."""

from __future__ import annotations

import re

_GUI = re.compile(r"\bpyautogui\b|\bxdotool\s+(?:key|type|click|mousemove)|\bpynput\b|\bydotool\b")
_SAVE = re.compile(
    r"""hotkey\(\s*\[?\s*['"]ctrl['"]\s*,\s*['"]s['"]\s*\]?\s*\)|\bkey\s+(?:--\w+\s+)*ctrl\+s\b""",
    re.IGNORECASE,
)
_TYPES = re.compile(r"""(?:pyautogui\.)?(?:write|typewrite)\(|\bxdotool\s+type\b""")
_DIALOG = re.compile(r"""press\(\s*\[?\s*['"](?:enter|right|left|tab|esc)['"]""")
_SLEEP = re.compile(r"\btime\.sleep\(\s*([0-9.]+)\s*\)|(?:^|[;&|\n][ \t]*)sleep\s+([0-9.]+)")
_KILL = re.compile(r"(?:^|[\s;&|'\"/(])(?:pkill|killall|taskkill|Stop-Process)\b")
_INSTALL = re.compile(
    r"\b(?:pip3?|uv\s+pip|pipx|conda|npm|cargo|gem|brew)\s+install\b"
    r"|\bapt(?:-get)?\s+(?:-\S+\s+)*(?:install|update|upgrade)\b"
    r"|\b(?:apk\s+add|(?:yum|dnf)\s+(?:-y\s+)?install|uvx\b|uv\s+(?:tool|sync|run)\b|npx\b|choco\s+install)"
)
_FETCH = re.compile(r"\b(?:curl|wget|git\s+clone|Invoke-WebRequest|requests\.get|urlopen|urlretrieve)\b")
_CONVERT = re.compile(r"--convert-to\b")
_CODE = re.compile(
    r"(?:^|[;&|\n(][ \t]*)(?:sudo\s+)?(?:[^\s;&|({`]*/)?"
    r"(?:python[0-9.]*|bash|sh|zsh|node|perl|ruby|pwsh|powershell)"
    r"\s+(?!-V\b|--version\b)\S"
    r"|(?:^|[;&|\n(][ \t]*)(?:sudo\s+)?[^\s;&|({`]+\.(?:sh|py|js|ps1)(?:\s|$)|(?:^|[\s;&|])\./\S"
    r"|\s--start\b|\bsystemctl\s+(?:start|restart)\b|\bservice\s+\S+\s+start\b"
)
_CHANGES = re.compile(
    r"(?:^|[;&|\n({`]|\$\()[ \t]*(?:sudo\s+)?(?:[^\s;&|({`]*/)?"
    r"(?:rm|rmdir|mv|cp|mkdir|touch|tee|ln|chmod|chown|truncate|dd"
    r"|kill|pkill|killall|reboot|shutdown)\s"
    r"|\bsed\s+(?:-\S+\s+)*-i|\b(?:gsettings|kwriteconfig\d?)\s+(?:set|reset)\b|\bdconf\s+(?:write|load|reset)\b"
    r"|\bgit\s+(?:-\S+\s+)*(?:add|am|apply|checkout|commit|merge|pull|push|rebase|reset|stash|switch|clean)\b"
    r"|\s-delete\b|\s-exec\s+(?:rm|mv|cp|sed)\b|\bcrontab\s+-(?:r|e)\b"
    r"|(?<![0-9<>&=-])>{1,2}\s*(?!/dev/(?:null|stdout|stderr)\b)[^\s&>|=0-9]"
)
_SHELL = re.compile(r"^(?:/usr)?(?:/bin/)?(?:ba|z|da)?sh$")
_HISTORY = re.compile(r"\.bash_history\b")
_LISTING = re.compile(r"^\s*(?:ls|dir|find|code\s+--list-extensions)\b")
_APPS = re.compile(
    r"^\s*(?:\S*/)?(google-chrome|chromium|vlc|gimp|soffice|libreoffice|thunderbird|code|nautilus|firefox"
    r"|msedge|gnome-terminal|socat)\b"
)
URL = re.compile(r"https?://[^\s'\"<>|\\)\]}]+")


def gui(text: str) -> bool:
    """It presses keys or moves the pointer in whatever window has the focus."""
    return _GUI.search(text) is not None


def saves(text: str) -> bool:
    """It presses Ctrl+S.

    >>> saves("pyautogui.hotkey('ctrl', 's')"), saves("xdotool key ctrl+s"), saves("hotkey('ctrl', 'q')")
    (True, True, False)
    """
    return _SAVE.search(text) is not None


def types_into_dialog(text: str) -> bool:
    """It types a name or answers a dialog with keys."""
    return gui(text) and (_TYPES.search(text) is not None or _DIALOG.search(text) is not None)


def sleeps(text: str) -> float:
    """Seconds that a command waits by itself.

    >>> sleeps("a(); time.sleep(0.5); time.sleep(2)"), sleeps("true; sleep 3")
    (2.5, 3.0)
    """
    return sum(_number(first or second) for first, second in _SLEEP.findall(text))


def _number(text: str) -> float:
    try:
        return min(float(text), 1e6)
    except ValueError:
        return 0.0


def kills(text: str) -> bool:
    return _KILL.search(text) is not None


def installs(text: str) -> bool:
    """It asks a package index for something."""
    return _INSTALL.search(text) is not None


def fetches(text: str) -> bool:
    return _FETCH.search(text) is not None


def converts(text: str) -> bool:
    return _CONVERT.search(text) is not None


def reads_history(text: str) -> bool:
    return _HISTORY.search(text) is not None


def lists(text: str) -> bool:
    """It prints names: a substring test on them also finds longer names."""
    return _LISTING.search(text) is not None


def starts_app(text: str) -> str:
    """The application that a command starts; empty where it starts none."""
    found = None if converts(text) else _APPS.search(text)
    return found[1] if found else ""


def runs_code(text: str, argv: tuple[str, ...] | None = None) -> bool:
    """A getter's command that starts something, runs a script or changes something: it does not only read.

    `bash -c` alone is no script: what it is given is looked at instead.

    >>> runs_code("bash eval.sh"), runs_code("ls -R /home 2>/dev/null"), runs_code("pulseaudio --start")
    (True, False, True)
    >>> runs_code("sed -i s/a/b/ x"), runs_code("echo $(xdotool key ctrl+s)"), runs_code("sort a > b")
    (True, True, True)
    """
    if argv and len(argv) > 2 and _SHELL.match(argv[0]) and argv[1] == "-c":
        return runs_code(argv[2])
    return any(found.search(text) for found in (_CODE, _CHANGES, _GUI))


def pipes_in_argv(argv: tuple[str, ...] | None) -> bool:
    """A `|` among the arguments of a program that no shell reads: there is no pipe."""
    return argv is not None and any(part in {"|", "||", "&&", ">", ";"} for part in argv)


def urls(text: str) -> tuple[str, ...]:
    return tuple(URL.findall(text))
