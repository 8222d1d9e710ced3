"""``python -m pilum``: the ``pilum`` command of this package, wherever pyarrow is; the command itself starts faster."""

import os
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path


def _command():
    package = Path(__file__).resolve().parent
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), package.parent / "bin", package.parents[1]]
    for place in places:
        path = Path(place) / "pilum"
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise SystemExit(f"pilum: no command 'pilum' in {', '.join(map(str, places))}; install the wheel again")


def main():
    arrow = Path(find_spec("pyarrow").origin).parent
    own = Path(__file__).resolve().parent / "lib"
    paths = [str(own), str(arrow), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    command = str(_command())
    os.execve(command, [command, *sys.argv[1:]], {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(paths)})


if __name__ == "__main__":
    main()
