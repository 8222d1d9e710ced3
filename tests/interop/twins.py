"""One table twice: the same change by pylance on the one and by Pilum on the other leaves the same behind."""

import shutil

import lance

import pilum

SYSTEM = ["_rowid", "_rowaddr"]
VERSIONS = ["_row_created_at_version", "_row_last_updated_at_version"]


def twins(uri):
    """Copies of a table: pylance's, ours."""
    out = [str(uri) + end for end in ("-theirs", "-ours")]
    for copy in out:
        shutil.copytree(str(uri), copy)
    return out


def facts(uri, ordered=True, addresses=True):
    """What pylance sees of a table: its rows and where they lie, fragments, what indices cover."""
    ds = lance.dataset(uri)
    ds.validate()
    columns = ds.schema.names + [c for c in SYSTEM if addresses or c != "_rowaddr"]
    if ds.has_stable_row_ids:
        columns += VERSIONS
    elif not addresses:
        columns.remove("_rowid")
    rows = [tuple(map(repr, r.values())) for r in ds.to_table(columns=columns).to_pylist()]
    fragments = [(f.fragment_id, f.physical_rows, f.num_deletions) for f in ds.get_fragments()]
    covered = {i["name"]: sorted(i["fragment_ids"]) for i in ds.list_indices()}
    return {
        "version": ds.version,
        "schema": ds.schema.to_string(show_field_metadata=True),
        "rows": rows if ordered else sorted(rows),
        "fragments": fragments,
        "covered": covered,
    }


def check_same(theirs, ours, ordered=True, addresses=True):
    """And Pilum sees of its own what pylance sees."""
    a, b = facts(theirs, ordered, addresses), facts(ours, ordered, addresses)
    for key in a:
        assert b[key] == a[key], key
    mine = pilum.dataset(ours)
    columns = mine.schema.names + SYSTEM
    assert mine.to_table(columns=columns).to_pylist() == lance.dataset(ours).to_table(columns=columns).to_pylist()


def update_shape(uri):
    """The newest transaction, an update's, without names of files."""
    op = lance.dataset(uri).get_transactions(1)[0].operation
    assert type(op).__name__ == "Update"
    return {
        "removed": sorted(op.removed_fragment_ids),
        "updated": sorted((f.id, f.physical_rows, f.deletion_file.num_deleted_rows) for f in op.updated_fragments),
        "new": [f.physical_rows for f in op.new_fragments],
        "modified": sorted(op.fields_modified),
        "preserving": sorted(op.fields_for_preserving_frag_bitmap),
        "mode": op.update_mode,
    }
