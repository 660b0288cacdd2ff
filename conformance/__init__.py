"""Which guarantees stateful stream processing really gives, engine by engine and version by version."""
