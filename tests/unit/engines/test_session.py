"""Whether a session of Spark can be had."""

import pytest
from packaging.version import Version

from conformance.engines.spark.runtime import releases, session
from conformance.model.engine import CannotRun


def test_a_release_that_is_too_old_is_one_line(monkeypatch):
    monkeypatch.setattr(session, "find_spec", lambda name: name)
    monkeypatch.setattr(releases, "installed", lambda: [Version("3.1.3")])
    with pytest.raises(CannotRun, match=r"\APySpark 3\.1\.3 does not run here: 3\.4 and later do\Z"):
        session.check()
