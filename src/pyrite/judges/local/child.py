"""The process that serves a GGUF file: `python -m pyrite.judges.local.child`, started by `server.py`.

Reads one JSON line from stdin (model, mmproj, key, context, threads), writes one with the address to
stdout, and serves until stdin ends: whatever becomes of its parent, it does not outlive it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

HOST = "127.0.0.1"


def main() -> None:
    """Serve until stdin ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the engine may print
    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    import xllamacpp

    try:
        server = xllamacpp.Server(_params(xllamacpp, asked))
    except RuntimeError:
        os._exit(1)  # the engine has said why
    out.write(json.dumps({"address": server.listening_address}) + "\n")
    out.close()
    sys.stdin.read()
    os._exit(0)


def _params(engine: Any, asked: dict[str, Any]) -> Any:
    """Loopback only, with a key, nothing fetched, nothing kept on disk, one answer at a time."""
    params = engine.CommonParams()
    params.model.path = asked["model"]
    if asked.get("mmproj"):
        params.mmproj.path = asked["mmproj"]
    params.model_alias = {asked["name"]}
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [asked["key"]]
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.n_ctx = asked["context"]
    params.n_parallel = 1
    params.cache_prompt = False  # an answer does not depend on what was asked before it
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked["threads"]
    params.verbosity = 2
    return params


if __name__ == "__main__":
    main()
