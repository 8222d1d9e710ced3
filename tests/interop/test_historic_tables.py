"""Tables that Lance keeps of its own history (versions 0.5 to 0.36): what pylance opens of them opens here, with the same rows."""

import lance
import pytest

import pilum
from conftest import ROOT

PLACES = [ROOT.parent / "shared" / "fixtures" / "table" / "upstream"]
TABLES = sorted(p.parent for place in PLACES if place.is_dir() for p in place.rglob("_versions") if p.is_dir())


def read(module, uri, **version):
    try:
        ds = module.dataset(str(uri), **version)
        return ds.version, ds.schema, ds.count_rows(), ds.to_table()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.skipif(not TABLES, reason="Lance's historic tables are not here: ../shared/fixtures/table/upstream")
@pytest.mark.parametrize("uri", TABLES, ids=lambda p: p.name)
def test_same_rows(uri):
    newest = lance.dataset(str(uri))
    assert [v["version"] for v in pilum.dataset(uri).versions()] == [v["version"] for v in newest.versions()]
    for version in [{}] + [{"version": v["version"]} for v in newest.versions()]:
        theirs, ours = read(lance, uri, **version), read(pilum, uri, **version)
        if isinstance(theirs, str):  # some lack their data files, on purpose
            assert isinstance(ours, str) and ours.startswith("NotFound"), (version, theirs, ours)
            continue
        assert not isinstance(ours, str), (version, ours)
        assert ours[:3] == theirs[:3]
        assert ours[3].equals(theirs[3]), version
