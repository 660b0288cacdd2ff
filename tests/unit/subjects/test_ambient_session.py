"""The session that a user's function finds when it asks for the active one."""

import threading

from conformance.engines.spark.runtime.session import ambient


class Connected:
    """As a session of Spark Connect: its class keeps the active one of each thread."""

    _active_session = threading.local()


def test_a_session_of_spark_connect_is_active_while_a_function_runs():
    before = Connected._active_session.session = Connected()
    mine = Connected()
    with ambient(mine):
        assert Connected._active_session.session is mine
    assert Connected._active_session.session is before
