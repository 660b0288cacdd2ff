"""What ``conformance new`` writes: modules that run as they are, in which ``starter`` becomes the name that the user
gives."""
