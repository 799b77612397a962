"""What all judges of one command share: endpoints, limits, the cache, and what may be spent.

A judge whose factory takes `calls` gets the `Calls` of the command and asks it for a client:

    class Mine:
        def __init__(self, model: str = "", *, calls: Calls) -> None:
            self._endpoint = calls.endpoint(model=model)
            self._calls = calls
        async def judge(self, package, run):
            answer = await self._calls.client(self._endpoint).ask(Request(self._endpoint.model, …))
"""
