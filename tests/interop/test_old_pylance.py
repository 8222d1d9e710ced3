"""A round trip through three versions of pylance: they read ours, we read theirs; random schemas by printed seed."""

import pyarrow as pa
import pytest

import pilum
from compare import check, difference
from old_peers import Peer, Refused, Unavailable
from pilum.file import LanceFileReader
from randgen import Generator
from test_random import compact, pick, write_ours

# pylance, and the file versions that it reads and writes as stable ones or nearly so.
PEERS = [("14.0.2", "2.0"), ("14.0.2", "2.1"), ("14.0.2", "2.2"), ("7.1.0", "2.0"), ("7.1.0", "2.1"), ("7.1.0", "2.2"),
         ("0.39.0", "2.0"), ("0.39.0", "2.1")]


@pytest.fixture(scope="module")
def peers():
    made = {}

    def get(version):
        if version not in made:
            try:
                made[version] = Peer(version)
            except Unavailable as e:
                pytest.skip(str(e))
        return made[version]

    yield get
    for peer in made.values():
        peer.close()


def tables(seeds, version):
    for seed in seeds:
        gen = Generator(seed, version)
        table = gen.table()
        batches = [compact(b) for b in gen.batches(table) if b.num_rows]
        yield seed, gen, table, pa.Table.from_batches(batches, table.schema)


def misreads_its_own(got, want, written):
    """What we read is what was written, and what the old version reads is not."""
    try:
        check(got, written, "ours")
    except AssertionError:
        return False
    try:
        check(got, want, "theirs")
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("pylance, version", PEERS)
def test_they_write_we_read(pylance, version, peers, budget, tmp_path):
    peer, budget, path = peers(pylance), budget(0.03), tmp_path / "x.lance"
    compared = refused = misread = 0
    for seed, gen, table, whole in tables(budget.seeds(), version):
        try:
            peer.write(whole, path, version)
            want = peer.read(path)
        except Refused:
            refused += 1
            continue
        where = f"PILUM_INTEROP_SEED={seed} pylance {pylance} version {version}: {table.schema}"
        try:
            got = LanceFileReader(path).read_all().to_table()
            if misreads_its_own(got, want, whole):
                misread += 1
                continue
            check(got, want, f"pylance {pylance}'s file")
            rows = sorted(gen.rng.sample(range(len(table)), min(20, len(table))))
            if rows:
                check(LanceFileReader(path).take_rows(rows).to_table(), pick(want, rows), f"take {rows}")
        except (AssertionError, pilum.Error, pa.ArrowInvalid) as e:
            raise AssertionError(f"{where}\n{type(e).__name__}: {e}") from e
        compared += 1
    print(f"pylance {pylance}, {version}: {compared} compared, {refused} that it did not write or read back, "
          f"{misread} of its own that it misread")
    assert misread <= 2 + compared // 10


@pytest.mark.parametrize("pylance, version", PEERS)
def test_we_write_they_read(pylance, version, peers, budget, tmp_path):
    peer, budget, path = peers(pylance), budget(0.03), tmp_path / "x.lance"
    compared = in_part = 0
    for seed, gen, table, whole in tables(budget.seeds(), version):
        where = f"PILUM_INTEROP_SEED={seed} pylance {pylance} version {version}: {table.schema}"
        try:
            write_ours(path, table.schema, gen.batches(table), version)
        except pilum.UnsupportedError as e:
            if compared + in_part == 0 and version in str(e):
                pytest.skip(str(e))
            in_part += 1
            continue
        try:
            if read_fault(peer, path, table) is None:
                compared += 1
                continue
            for name in table.schema.names:
                check_column(peer, path, whole.select([name]), version)
            in_part += 1
        except AssertionError as e:
            raise AssertionError(f"{where}\n{e}") from e
    print(f"pylance {pylance}, {version}: {compared} compared, {in_part} that it reads only in part")


def check_column(peer, path, table, version):
    """The peer reads this one column, or there is a reason why not: its own file of the same rows fails too, or SKIPS has one."""
    write_ours(path, table.schema, [table], version)
    fault = read_fault(peer, path, table)
    if fault is None or own_fault(peer, f"{path}.own", table, version):
        return
    pages = [page.encoding for column in LanceFileReader(path).metadata().columns for page in column.pages]
    reasons = [why for versions, applies, why in SKIPS if peer.version in versions and applies(table.schema.field(0), pages)]
    assert reasons, f"column {table.schema.names[0]}: {fault}"


def lists_in_structs(field, inside=False):
    """A list or map below a struct that may be null."""
    t = field.type
    if pa.types.is_struct(t):
        return any(lists_in_structs(f, inside or field.nullable) for f in t)
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return inside or lists_in_structs(t.value_field)
    return pa.types.is_map(t) and (inside or lists_in_structs(t.item_field))


def has_lists(field):
    t = field.type
    if pa.types.is_struct(t):
        return any(has_lists(f) for f in t)
    return pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_map(t)


# What old readers get wrong in sound files: (versions, (field, its pages) -> whether it applies, why).
SKIPS = [
    (["7.1.0", "0.39.0"], lambda field, pages: lists_in_structs(field) and any("full-zip" in p for p in pages),
     "they take null lists in a struct that may be null for items of a full-zip page, in their own files too where a struct is null"),
    (["0.39.0"], lambda field, pages: has_lists(field) and any("constant" in p for p in pages),
     "it counts the rows of a page of nothing but null and empty lists wrongly, in its own files too"),
]


def read_fault(peer, path, want):
    """None where the peer reads the file as `want`, else what is wrong."""
    try:
        got = peer.read(path)
    except Refused as e:
        return str(e)
    return difference(got, want)


def own_fault(peer, path, table, version):
    """What is wrong when the peer writes and reads the table itself; None where that works."""
    try:
        peer.write(table, path, version)
    except Refused as e:
        return str(e)
    return read_fault(peer, path, table)
