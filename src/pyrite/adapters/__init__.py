"""Other people's harnesses: what their verifiers say becomes one of three outcomes; one file a harness."""
