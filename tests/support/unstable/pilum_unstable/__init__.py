"""pilum with every file opened as `allow_unstable=True`: for scripts that open files by path alone."""

from pilum import *  # noqa: F401,F403

from . import file  # noqa: F401
