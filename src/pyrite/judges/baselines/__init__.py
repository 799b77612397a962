"""Published judges, by behaviour: their inputs, steps, choice of images, defaults and ways to read an answer.

The words of the prompts are ours. `compat=true` reads answers as the originals do, faults included; without
it an answer that cannot be read is a parse_error. Sources and differences: docs/reference/baselines.md.
"""
