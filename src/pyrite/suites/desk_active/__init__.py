"""The suite of tasks whose verifier must act before it looks: the agent may leave its work unsaved.

Kept light: a verifier's process imports it.
"""

FAMILIES = (
    "pyrite.suites.desk_active.bookmark_left_open",
    "pyrite.suites.desk_active.calc_left_open",
    "pyrite.suites.desk_active.text_left_open",
    "pyrite.suites.desk_active.web_restock",
    "pyrite.suites.desk_active.writer_left_open",
)
"""Modules that define `FAMILY`."""
