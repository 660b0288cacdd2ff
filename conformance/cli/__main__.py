"""``python -m conformance.cli`` is the command ``conformance``."""

from conformance.cli.main import main

main()
