"""The race of many processes on one dataset, in the bucket of a running S3 server:

    python tests/s3/server.py python tests/s3/store_race.py SCRIPT [ARGUMENTS]

SCRIPT races on --store; it is given one in $PILUM_TEST_S3 whose dataset `d` is there and without rows, since its compactors do
not wait for the first put of a slow store.
"""

import os
import subprocess
import sys
import tempfile
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.timestamp("us"), "w": pa.string()})


def main():
    store = f"{os.environ['PILUM_TEST_S3']}/race-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "empty.parquet")
        pq.write_table(SCHEMA.empty_table(), path)
        subprocess.run([os.path.join(ROOT, "build", "release", "pilum"), "store", "put", f"{store}/d", path], check=True)
    return subprocess.call([sys.executable, *sys.argv[1:], "--store", store])


if __name__ == "__main__":
    sys.exit(main())
