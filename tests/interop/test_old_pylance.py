"""A round trip through three versions of pylance: they read ours, we read theirs; random schemas by printed seed."""

import importlib.metadata

import pyarrow as pa
import pytest

import pilum
from compare import check, difference
from old_peers import Peer, Refused, Unavailable
from pilum.file import LanceFileReader
from randgen import Generator
from test_random import compact, pick, their_read, write_ours

pytestmark = pytest.mark.heavy  # wants older peers

# pylance, and the file versions that it reads and writes as stable ones or nearly so.
PEERS = [("14.0.2", "2.0"), ("14.0.2", "2.1"), ("14.0.2", "2.2"), ("7.1.0", "2.0"), ("7.1.0", "2.1"), ("7.1.0", "2.2"),
         ("0.39.0", "2.0"), ("0.39.0", "2.1")]
NEWEST = importlib.metadata.version("pylance")  # the one of this process


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


def agrees(got, want):
    try:
        check(got, want, "")
    except AssertionError:
        return False
    return True


def at_fault(peer, path, got, want, written):
    """Is it the peer that misreads or miswrote its own file? Then we read what was written, or what the newest pylance reads."""
    if agrees(got, want) or agrees(want, written):
        return False
    newest = their_read(path) if peer.version != NEWEST else None
    return agrees(got, written) or (newest is not None and agrees(got, newest))


def few(strange, compared):
    """Faults of a peer that no rule names, each of them told with its seed: some of any random tables meet one, most must not."""
    return strange <= 2 + compared // 20


@pytest.mark.parametrize("pylance, version", PEERS)
def test_they_write_we_read(pylance, version, peers, budget, tmp_path):
    peer, budget, path = peers(pylance), budget(0.03), tmp_path / "x.lance"
    compared = refused = misread = 0
    for seed, gen, table, whole in tables(budget.seeds(), version):
        try:
            peer.write(whole, path, version)
            want = peer.read(path)
            want.validate(full=True)
        except (Refused, pa.ArrowInvalid):
            refused += 1
            continue
        where = f"PILUM_INTEROP_SEED={seed} pylance {pylance} version {version}: {table.schema}"
        try:
            got = LanceFileReader(path).read_all().to_table()
            if at_fault(peer, path, got, want, whole):
                print(f"PILUM_INTEROP_SEED={seed}: it misreads its own file: {difference(want, whole)}")
                misread += 1
                want = got
            check(got, want, f"pylance {pylance}'s file")
            rows = sorted(gen.rng.sample(range(len(table)), min(20, len(table))))
            if rows:
                check(LanceFileReader(path).take_rows(rows).to_table(), pick(want, rows), f"take {rows}")
        except (AssertionError, pilum.Error, pa.ArrowInvalid) as e:
            raise AssertionError(f"{where}\n{type(e).__name__}: {e}") from e
        compared += 1
    print(f"pylance {pylance}, {version}: {compared} compared, {refused} that it did not write or read back, "
          f"{misread} of its own that it misread")
    assert few(misread, compared)


@pytest.mark.parametrize("pylance, version", PEERS)
def test_we_write_they_read(pylance, version, peers, budget, tmp_path):
    peer, budget, path = peers(pylance), budget(0.03), tmp_path / "x.lance"
    compared = in_part = strange = 0
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
            compared += 1
            if read_fault(peer, path, table) is None:
                continue
            in_part += 1
            for name in table.schema.names:
                fault = check_column(peer, path, whole.select([name]), version)
                if fault:
                    print(f"PILUM_INTEROP_SEED={seed} column {name}: {fault}; the newest pylance and we read it as written")
                    strange += 1
        except AssertionError as e:
            raise AssertionError(f"{where}\n{e}") from e
    print(f"pylance {pylance}, {version}: {compared} compared, {in_part} of them that it reads only in part, {strange} for no known reason")
    assert few(strange, compared)


def check_column(peer, path, table, version):
    """The peer reads this one column, or there is a reason why not: its own file of the same rows fails too, or SKIPS has one.

    Else it must be the peer's fault: the newest pylance, another one, reads the file exactly, and so do we. Then: what the fault is.
    """
    write_ours(path, table.schema, [table], version)
    fault = read_fault(peer, path, table)
    if fault is None or own_fault(peer, f"{path}.own", table, version):
        return None
    pages = [page.encoding for column in LanceFileReader(path).metadata().columns for page in column.pages]
    if any(peer.version in versions and applies(table.schema.field(0), pages) for versions, applies, _ in SKIPS):
        return None
    check(LanceFileReader(path).read_all().to_table(), table, "ours")
    newest = their_read(path) if peer.version != NEWEST else None
    assert newest is not None and difference(newest, table) is None, f"column {table.schema.names[0]}: {fault}"
    return fault


def lists_in_structs(field, inside=False):
    """A list or map below a struct that may be null."""
    t = field.type
    if pa.types.is_struct(t):
        return any(lists_in_structs(f, inside or field.nullable) for f in t)
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return inside or lists_in_structs(t.value_field)
    return pa.types.is_map(t) and (inside or lists_in_structs(t.item_field))


def has_bools(field):
    t = field.type
    if pa.types.is_struct(t):
        return any(has_bools(f) for f in t)
    if pa.types.is_map(t):
        return has_bools(t.item_field)
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return has_bools(t.value_field)
    return pa.types.is_boolean(t)


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
    (["0.39.0"], lambda field, pages: has_bools(field) and any("full-zip" in p for p in pages),
     "it takes the bytes of a full-zip page of bools for bits; asked to write such a page it panics"),
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
