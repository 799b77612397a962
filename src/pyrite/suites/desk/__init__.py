"""The desk suite: real desktop applications, one file a family."""
