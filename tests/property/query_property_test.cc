// No index changes an answer: random tables in several parts, random predicates, each asked with and without sidecars
// and held against a brute-force evaluation on plain cells. Also: exact rows ⊆ narrowed rows ⊆ kept units, certain ⊆
// exact.
//
//   pilum_property_test [--seconds N | --cases N] [--seed S] [--on memory|store]
//
// Prints the seed and how many cases it did; a failing case prints how to run it again, the predicate, rows wanted and
// got. PILUM_TEST_LYING_INDEX=1 makes the index forget a row: then the test must fail (ctest holds it to that).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/part/part_store.h"
#include "pilum/query/narrow.h"
#include "pilum/query/prune.h"
#include "pilum/query/query.h"
#include "tests/property/segments.h"
#include "tests/support/memory_snapshot.h"
#include "tests/support/random_predicate.h"

namespace pilum::testing {
namespace {

struct Options {
  double seconds = 10;
  uint64_t cases = 0;  // 0: by time
  uint64_t seed = 1;
  bool store = true;
  bool lie = false;
};

template <typename T>
T Must(Result<T> result, const char* what) {
  if (!result.ok()) throw std::runtime_error(fmt::format("{}: {}", what, result.status().ToString()));
  return std::move(result).ValueUnsafe();
}

// A case failed: what to show.
struct Failure {
  std::string what;
};

// One table, put where a query can read it.
struct Source {
  std::shared_ptr<ObjectStore> objects;
  std::shared_ptr<const Snapshot> indexed, plain;
};

// A sidecar is lost, cut short, changed in one byte, or another part's: that may cost a scan, never an answer.
void HarmOneSidecar(ObjectStore& objects, Random& rng) {
  const std::vector<ObjectInfo> sidecars = Must(objects.List("d/side/"), "list");
  if (sidecars.empty()) return;
  ReadContext ctx;
  auto read = [&](const std::string& path) {
    auto source = Must(objects.OpenSource(path, ctx), "open sidecar");
    return Must(source->ReadRange({0, source->size()}, ctx), "read sidecar")->ToString();
  };
  const std::string path = rng.Pick(sidecars).path;
  std::string bytes = read(path);
  switch (rng.Below(4)) {
    case 0:
      if (!objects.Remove(path).ok()) throw Failure{"cannot remove " + path};
      return;
    case 1: bytes.resize(static_cast<size_t>(rng.Below(static_cast<int64_t>(bytes.size()) + 1))); break;
    case 2:
      bytes[static_cast<size_t>(rng.Below(static_cast<int64_t>(bytes.size())))] ^= static_cast<char>(1 << rng.Below(8));
      break;
    default: bytes = read(rng.Pick(sidecars).path);
  }
  auto sink = Must(objects.Create(path), "create");
  if (!sink->Write(bytes.data(), bytes.size()).ok() || !sink->Close().ok()) throw Failure{"cannot write " + path};
}

// Every column asks for indexes: all that fit it, or some.
std::shared_ptr<arrow::RecordBatch> Annotated(const std::shared_ptr<arrow::RecordBatch>& batch, Random& rng) {
  static const std::vector<std::string> lists = {"bloom, inverted, nulls, members, key, time, owner, trigrams, words",
                                                 "cuckoo",
                                                 "xor, nulls",
                                                 "inverted",
                                                 "nulls, bloom",
                                                 "words",
                                                 "none",
                                                 "key",
                                                 "inverted members"};
  arrow::FieldVector fields;
  for (const auto& field : batch->schema()->fields()) {
    const std::string& list = rng.Chance(0.6) ? lists[0] : rng.Pick(lists);
    std::string partners;
    const auto at = static_cast<int64_t>(fields.size());
    for (int64_t next = at + 1; next < std::min<int64_t>(at + 4, batch->num_columns()); ++next)
      if (rng.Chance(0.5)) partners += batch->schema()->field(static_cast<int>(next))->name() + "\n";
    auto metadata = arrow::key_value_metadata({"pilum:index"}, {list});
    if (!partners.empty()) metadata->Append("pilum:pair", partners);
    fields.push_back(field->WithMetadata(std::move(metadata)));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), batch->num_rows(), batch->columns());
}

Source PutInStore(const RandomTable& table, Random& rng) {
  Source source;
  source.objects = ObjectStore::Memory();
  ReadContext ctx;
  auto store = Must(PartStore::OpenIn(source.objects, "d"), "open");
  int batch = 0;
  const bool annotated = rng.Chance(0.6);
  for (const auto& given : table.batches) {
    const auto part = annotated ? Annotated(given, rng) : given;
    auto reader = Must(arrow::RecordBatchReader::Make({part}, part->schema()), "reader");
    PutOptions options;
    options.batch_id = fmt::format("b{}", batch++);  // parts may repeat each other
    Must(store->Put(*reader, options, ctx), "put");
  }
  if (rng.Chance(0.25)) HarmOneSidecar(*source.objects, rng);
  source.indexed = Must(store->OpenSnapshot(true, ctx), "open with sidecars");
  source.plain = Must(store->OpenSnapshot(false, ctx), "open without sidecars");
  return source;
}

Source PutInMemory(const RandomTable& table, Random& rng) {
  const uint64_t zone = rng.Pick(std::vector<uint64_t>{1, 4, 50, 1024});
  return {nullptr, Must(MemorySnapshot::Make(table.schema, table.batches, zone), "snapshot"),
          Must(MemorySnapshot::Make(table.schema, table.batches, 0), "snapshot")};
}

std::vector<int64_t> ReadIds(const Unit& unit) {
  std::vector<int64_t> ids;
  auto stream = Must(unit.Read({{{"id"}}}, RowSet::All(unit.num_rows()), {}, {}), "read ids");
  while (auto batch = Must(stream->Next(), "read ids")) {
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      ids.push_back(static_cast<int64_t>(ReadCell(*batch->column(0), i).units));
  }
  return ids;
}

std::string Ids(const std::vector<int64_t>& ids) {
  std::string out = fmt::format("{} rows:", ids.size());
  for (size_t i = 0; i < ids.size() && i < 20; ++i) out += fmt::format(" {}", ids[i]);
  return out + (ids.size() > 20 ? " …" : "");
}

// One column of SELECT: a whole column, or a field of a struct, or of the structs in a list.
struct Shown {
  std::string sql;
  size_t column = 0;
  int child = -1;

  Cell Of(const Row& row) const {
    Cell cell = row[column];
    if (child < 0 || cell.is_null()) return cell;
    if (cell.kind == Cell::Kind::kStruct) return Cell(cell.items[static_cast<size_t>(child)]);
    for (Cell& item : cell.items) {
      if (!item.is_null()) item = Cell(item.items[static_cast<size_t>(child)]);
    }
    return cell;
  }
};

class TableUnderTest {
 public:
  TableUnderTest(Random& rng, const Options& options) : rng_(rng), table_(MakeRandomTable(rng)) {
    source_ = options.store ? PutInStore(table_, rng) : PutInMemory(table_, rng);
    if (options.lie) source_.indexed = std::make_shared<LyingSnapshot>(source_.indexed);
    for (const auto& part : table_.parts)
      for (const Row& row : part) rows_[static_cast<int64_t>(row[0].units)] = &row;
    for (Column& c : table_.columns) {
      auto field = source_.indexed->schema()->GetFieldByName(c.name);
      if (!field) throw Failure{"the dataset lacks column " + c.name};
      const bool known = field->type()->Equals(*c.type) || (c.narrow && field->type()->Equals(*c.narrow));
      if (!known) throw Failure{fmt::format("column {} is {}", c.name, field->type()->ToString())};
      c.type = field->type();  // a put without rows adds no part, so its types do not count
    }
    for (const auto& unit : source_.indexed->units()) unit_ids_.push_back(ReadIds(*unit));
    std::multiset<int64_t> all;
    for (const auto& ids : unit_ids_) all.insert(ids.begin(), ids.end());
    if (all.size() != rows_.size() || std::set<int64_t>(all.begin(), all.end()).size() != rows_.size()) {
      throw Failure{fmt::format("{} rows put, {} there", rows_.size(), all.size())};
    }
  }

  void CheckOne() {
    const Predicate predicate = MakeRandomPredicate(rng_, table_, static_cast<int>(rng_.Below(4)));
    sql_ = predicate.sql;
    std::vector<int64_t> wanted;
    for (size_t u = 0; u < unit_ids_.size(); ++u) {
      RowSet exact;
      for (uint64_t i = 0; i < unit_ids_[u].size(); ++i) {
        if (predicate.holds(*rows_.at(unit_ids_[u][i])) != true) continue;
        exact.Append(i, i + 1);
        wanted.push_back(unit_ids_[u][i]);
      }
      CheckBounds(*source_.indexed->units()[u], exact);
    }
    std::string limit;
    if (rng_.Chance(0.2)) {
      const size_t skip = std::min(wanted.size(), static_cast<size_t>(rng_.Below(4)));
      const size_t take = static_cast<size_t>(rng_.Below(30));
      limit = fmt::format(" LIMIT {} OFFSET {}", take, skip);
      wanted.erase(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(skip));
      if (wanted.size() > take) wanted.resize(take);
    }
    std::vector<Shown> shown = {{"id", 0}};
    std::string list = "id";
    while (rng_.Chance(0.5)) {
      shown.push_back(RandomShown());
      list += ", " + shown.back().sql;
    }
    sql_ = fmt::format("SELECT {} FROM t WHERE {}{}", list, predicate.sql, limit);
    for (const auto& [snapshot, use_index] :
         {std::pair(source_.indexed, true), {source_.indexed, false}, {source_.plain, true}}) {
      CheckRows(snapshot, use_index, shown, wanted);
    }
  }

  const std::string& sql() const { return sql_; }

 private:
  Shown RandomShown() {
    Shown shown;
    shown.column = static_cast<size_t>(rng_.Below(static_cast<int64_t>(table_.columns.size())));
    const Column& column = table_.columns[shown.column];
    shown.sql = column.sql;
    const bool list = column.type->id() == arrow::Type::LIST;
    const auto type = list ? column.type->field(0)->type() : column.type;
    if (type->id() == arrow::Type::STRUCT && rng_.Chance(0.6)) {
      shown.child = static_cast<int>(rng_.Below(type->num_fields()));
      shown.sql += "." + type->field(shown.child)->name();
    }
    return shown;
  }

  void CheckBounds(const Unit& unit, const RowSet& exact) {
    ReadContext ctx;
    auto bound = Must(BindPredicate(sql_, *source_.indexed->schema(), {}), "bind");
    const bool kept = Must(MayMatch(bound->root(), unit, true, ctx), "prune");
    const Candidates c = Must(Narrow(bound->root(), unit, true, ctx), "narrow");
    if (!kept && !exact.empty())
      throw Failure{fmt::format("{} was pruned, rows {} match", unit.name(), exact.ToString())};
    if (!exact.IsSubsetOf(c.possible))
      throw Failure{
          fmt::format("{}: rows {} match and were narrowed away", unit.name(), exact.Minus(c.possible).ToString())};
    if (!c.certain.IsSubsetOf(exact))
      throw Failure{fmt::format("{}: rows {} are called certain and do not match", unit.name(),
                                c.certain.Minus(exact).ToString())};
  }

  void CheckRows(const std::shared_ptr<const Snapshot>& snapshot, bool use_index, const std::vector<Shown>& shown,
                 const std::vector<int64_t>& wanted) {
    const std::string how = snapshot == source_.plain ? "without sidecars"
                            : use_index               ? "with sidecars"
                                                      : "sidecars ignored";
    QueryOptions options;
    options.use_index = use_index;
    options.limits.rows = rng_.Pick(std::vector<uint64_t>{1, 7, 1000, 16384});
    options.statistics_after = rng_.Pick(std::vector<uint64_t>{0, 20, 1 << 16});
    std::shared_ptr<QueryResult> result =
        Must(RunQuery(snapshot, Must(BindQuery(sql_, *snapshot, {}), "bind"), options, {}), "run");
    std::vector<int64_t> got;
    while (auto batch = Must(result->Next(), how.c_str())) {
      if (Status valid = batch->ValidateFull(); !valid.ok()) throw Failure{how + ": " + valid.ToString()};
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        got.push_back(static_cast<int64_t>(ReadCell(*batch->column(0), i).units));
        auto row = rows_.find(got.back());
        if (row == rows_.end()) throw Failure{fmt::format("{}: no row {}", how, got.back())};
        for (size_t c = 0; c < shown.size(); ++c) {
          const Cell cell = ReadCell(*batch->column(static_cast<int>(c)), i);
          const Cell want = shown[c].Of(*row->second);
          if (Identical(cell, want)) continue;
          throw Failure{fmt::format("{}: row {}, column {}: {} wanted, {} got", how, got.back(), shown[c].sql,
                                    ToString(want), ToString(cell))};
        }
      }
    }
    if (got == wanted) return;
    std::multiset<int64_t> a(got.begin(), got.end()), b(wanted.begin(), wanted.end());
    throw Failure{fmt::format("{}: {}\n  wanted {}\n  got    {}\n{}", how,
                              a == b ? "rows in another order" : "other rows", Ids(wanted), Ids(got),
                              result->Explain())};
  }

  Random& rng_;
  RandomTable table_;
  Source source_;
  std::map<int64_t, const Row*> rows_;          // by id
  std::vector<std::vector<int64_t>> unit_ids_;  // in the snapshot's order
  std::string sql_ = "(making the table)";
};

constexpr int kCasesPerTable = 25;
constexpr uint64_t kTablesPerSegments = 10;  // then a dataset of many parts, with segments

int RunAll(const Options& o) {
  const auto start = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  uint64_t done = 0, tables = 0, failed = 0;
  auto more = [&] { return failed < 5 && (o.cases ? done < o.cases : seconds() < o.seconds); };
  while (more()) {
    const uint64_t seed = o.seed + tables++;
    Random rng(seed);
    std::unique_ptr<TableUnderTest> table;
    std::string what;
    try {
      if (o.store && !o.lie && seed % kTablesPerSegments == 0) CheckSegments(rng);
      table = std::make_unique<TableUnderTest>(rng, o);
      for (int i = 0; i < kCasesPerTable && more(); ++i, ++done) table->CheckOne();
      continue;
    } catch (const Failure& f) {
      what = f.what;
    } catch (const std::exception& e) {
      what = e.what();
    }
    ++failed;
    std::printf("FAIL --seed %llu --cases %d --on %s\n  %s\n  %s\n", static_cast<unsigned long long>(seed),
                kCasesPerTable, o.store ? "store" : "memory",
                table ? table->sql().c_str() : "(making the table, or segments)", what.c_str());
  }
  std::printf("%llu cases on %llu tables from seed %llu in %.1f s, %llu failed\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(tables),
              static_cast<unsigned long long>(o.seed), seconds(), static_cast<unsigned long long>(failed));
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace pilum::testing

int main(int argc, char** argv) {
  pilum::testing::Options o;
  const char* lie = std::getenv("PILUM_TEST_LYING_INDEX");
  o.lie = lie && std::strcmp(lie, "1") == 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--seconds")
      o.seconds = std::atof(argv[i + 1]);
    else if (key == "--cases")
      o.cases = std::strtoull(argv[i + 1], nullptr, 10);
    else if (key == "--seed")
      o.seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (key == "--on")
      o.store = std::strcmp(argv[i + 1], "store") == 0;
    else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
  }
  return pilum::testing::RunAll(o);
}
