"""The built-in desktop suite: one module a family. Kept light: a verifier's process imports it."""

FAMILIES = ("pyrite.suites.desk.calc_set_cell",)
"""Modules that define `FAMILY`."""
