"""Near-misses made from a good end state: what a sound verifier must reject.

An operator changes one thing of a good state, found by comparing it with the initial home. What exists is
listed in `model.OPERATORS`; `build.py` is the program that makes the homes, confined.
"""
