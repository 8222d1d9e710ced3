"""Run by the interpreter of one pylance version (old_peers.py): a JSON request a line in, a JSON answer a line out.

    {"do": "write", "arrow": PATH, "lance": PATH, "version": "2.1", "options": {}}   an Arrow IPC file as a Lance file
    {"do": "read_table", "uri": PATH, "version": 2, "arrow": PATH}                   a version of a table as an Arrow IPC file
    {"do": "change_table", "uri": PATH, "append": PATH, "delete": "id = 1"}          rows of an Arrow IPC file added, rows deleted
    {"do": "read", "lance": PATH, "arrow": PATH, "columns": null, "rows": null}      a Lance file as an Arrow IPC file
"""

import json
import os
import sys

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter


def write(request):
    with pa.ipc.open_file(request["arrow"]) as f:
        with LanceFileWriter(request["lance"], f.schema, version=request["version"], **request.get("options", {})) as w:
            for i in range(f.num_record_batches):
                w.write_batch(f.get_batch(i))


def read(request):
    reader = LanceFileReader(request["lance"], columns=request.get("columns"))
    rows = request.get("rows")
    table = (reader.read_all() if rows is None else reader.take_rows(rows)).to_table()
    with pa.ipc.new_file(request["arrow"], table.schema) as f:
        f.write_table(table)


def read_table(request):
    table = lance.dataset(request["uri"], version=request["version"]).to_table()
    with pa.ipc.new_file(request["arrow"], table.schema) as f:
        f.write_table(table)


def change_table(request):
    if request.get("append"):
        with pa.ipc.open_file(request["append"]) as f:
            lance.write_dataset(f.read_all(), request["uri"], mode="append")
    if request.get("delete"):
        lance.dataset(request["uri"]).delete(request["delete"])


def main():
    # Answers go to the standard output we were given; what libraries print goes nowhere near it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            {"write": write, "read": read, "read_table": read_table, "change_table": change_table}[request["do"]](request)
            answer = {"ok": True}
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # a panic of the library is a BaseException
            answer = {"ok": False, "error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
