"""The judge client: one request, one answer, over any OpenAI-compatible endpoint or inspect_ai."""
