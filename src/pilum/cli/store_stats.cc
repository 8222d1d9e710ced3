#include "pilum/cli/store_stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <arrow/array.h>
#include <arrow/type.h>
#include <nlohmann/json.hpp>

#include "pilum/cli/render.h"
#include "pilum/ingest/value_text.h"
#include "pilum/part/part_store.h"
#include "pilum/sketch/sort_keys.h"
#include "pilum/sketch/value_hash.h"
#include "pilum/values/value_builder.h"

namespace pilum::cli {
namespace {

constexpr size_t kTopShown = 3, kTopListed = 20;

struct Named {
  FieldPath path;
  std::shared_ptr<arrow::DataType> type;
};

void AddColumns(const FieldPath& above, const arrow::Field& field, std::vector<Named>* out) {
  FieldPath path = above;
  path.steps.push_back(field.name());
  out->push_back({path, field.type()});
  if (field.type()->id() != arrow::Type::STRUCT) return;
  for (const auto& child : field.type()->fields()) AddColumns(path, *child, out);
}

// A value as rows print it; text in full.
Result<std::string> Text(const std::shared_ptr<arrow::DataType>& type, const Value& value) {
  PILUM_ASSIGN_OR_RETURN(auto array, MakeArrayOf(PlainType(type), {value}));
  std::string out;
  AppendValueText(*array, 0, TextStyle::kTable, &out);
  return out;
}

Value OfKey(const Kll& sketch, int64_t key) {
  return sketch.params().kind == Kll::Kind::kFloat ? Value::Float(DoubleOf(key)) : Value::Int(key);
}

// Quantiles of decimals are floats.
std::shared_ptr<arrow::DataType> QuantileType(const Kll& sketch, const std::shared_ptr<arrow::DataType>& type) {
  return sketch.params().kind == Kll::Kind::kFloat ? arrow::float64() : PlainType(type);
}

Result<std::string> TopText(const std::shared_ptr<arrow::DataType>& type, const HeavyHitters::Item& item) {
  const auto value = ValueOfHashBytes(item.hash_bytes, *PlainType(type));
  if (!value) return Status::Invalid("a sketch holds bytes that are no value");
  PILUM_ASSIGN_OR_RETURN(std::string text, Text(type, *value));
  return text + (item.truncated ? "…" : "");
}

Result<nlohmann::ordered_json> ToJson(const Named& column, const std::optional<ColumnStats>& stats) {
  nlohmann::ordered_json j;
  j["column"] = column.path.ToString();
  j["type"] = column.type->ToString();
  j["known"] = stats.has_value();
  if (!stats) return j;
  j["rows"] = stats->rows();
  j["nulls"] = stats->nulls();
  if (stats->has_extremes() && stats->min()) {
    PILUM_ASSIGN_OR_RETURN(j["min"], Text(column.type, *stats->min()));
    PILUM_ASSIGN_OR_RETURN(j["max"], Text(column.type, *stats->max()));
  }
  if (stats->distinct()) {
    const Estimate e = stats->distinct()->Count();
    j["distinct"] = {{"value", std::round(e.value)}, {"low", e.low}, {"high", e.high}, {"confidence", e.confidence}};
  }
  if (stats->quantiles() && stats->quantiles()->count() > 0) {
    nlohmann::ordered_json q;
    for (double at : {0.05, 0.25, 0.5, 0.75, 0.95}) {
      PILUM_ASSIGN_OR_RETURN(const int64_t key, stats->quantiles()->QuantileKey(at));
      PILUM_ASSIGN_OR_RETURN(q[fmt::format("{:g}", at)],
                             Text(QuantileType(*stats->quantiles(), column.type), OfKey(*stats->quantiles(), key)));
    }
    q["rank_error"] = stats->quantiles()->RankError();
    j["quantiles"] = q;
  }
  if (stats->top()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& item : stats->top()->Top(kTopListed)) {
      PILUM_ASSIGN_OR_RETURN(std::string text, TopText(column.type, item));
      list.push_back({{"value", text}, {"count_low", item.low}, {"count_high", item.high}});
    }
    j["top"] = list;
  }
  return j;
}

// "5,230 ±3 %" or "3" where it is exact to the value.
std::string DistinctText(const Hll& sketch) {
  const Estimate e = sketch.Count();
  const double half = (e.high - e.low) / 2;
  std::string text = Thousands(static_cast<uint64_t>(std::llround(e.value)));
  if (half >= 1) text += fmt::format(" ±{}", Thousands(static_cast<uint64_t>(std::llround(half))));
  return text;
}

Result<std::vector<GridCell>> ToRow(const Named& column, const std::optional<ColumnStats>& stats) {
  std::vector<GridCell> row = {{column.path.ToString()}, {column.type->ToString()}};
  if (!stats) {
    row.push_back({"unknown", true});
    row.resize(8);
    return row;
  }
  row.push_back({Thousands(stats->rows() - stats->nulls())});
  row.push_back({Thousands(stats->nulls())});
  row.push_back({stats->distinct() ? DistinctText(*stats->distinct()) : ""});
  std::string range, median, top;
  if (stats->has_extremes() && stats->min()) {
    PILUM_ASSIGN_OR_RETURN(std::string low, Text(column.type, *stats->min()));
    PILUM_ASSIGN_OR_RETURN(std::string high, Text(column.type, *stats->max()));
    range = low + " … " + high;
  }
  if (stats->quantiles() && stats->quantiles()->count() > 0) {
    PILUM_ASSIGN_OR_RETURN(const int64_t key, stats->quantiles()->QuantileKey(0.5));
    PILUM_ASSIGN_OR_RETURN(median,
                           Text(QuantileType(*stats->quantiles(), column.type), OfKey(*stats->quantiles(), key)));
  }
  if (stats->top() && stats->distinct() &&
      stats->distinct()->Count().value < 0.5 * static_cast<double>(stats->rows())) {
    for (const auto& item : stats->top()->Top(kTopShown)) {
      if (2 * item.low < item.high) break;  // known to be anything but frequent
      PILUM_ASSIGN_OR_RETURN(std::string text, TopText(column.type, item));
      top += fmt::format("{}{} ({}{})", top.empty() ? "" : ", ", text, stats->top()->error() > 0 ? "≥" : "",
                         Thousands(item.low));
    }
  }
  row.push_back({std::move(median)});
  row.push_back({std::move(range)});
  row.push_back({std::move(top)});
  return row;
}

}  // namespace

Result<int> StoreStats(const std::string& dataset, bool json, const RunOptions& run) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(dataset));
  PILUM_ASSIGN_OR_RETURN(auto snapshot, store->OpenSnapshot(true, session->ctx()));
  std::vector<Named> columns;
  for (const auto& field : snapshot->schema()->fields()) AddColumns({}, *field, &columns);
  Grid grid({{"column", ""},
             {"type", ""},
             {"values", "", true},
             {"nulls", "", true},
             {"distinct", "", true},
             {"median", "", true},
             {"range", ""},
             {"most frequent", ""}},
            GridStyle::ForStdout());
  for (const Named& column : columns) {
    PILUM_ASSIGN_OR_RETURN(auto stats, FoldStats(*snapshot, column.path, session->ctx()));
    if (json) {
      PILUM_ASSIGN_OR_RETURN(auto j, ToJson(column, stats));
      PILUM_RETURN_NOT_OK(Print(j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"));
    } else {
      PILUM_ASSIGN_OR_RETURN(auto row, ToRow(column, stats));
      PILUM_RETURN_NOT_OK(grid.Add(std::move(row)));
    }
  }
  if (!json) {
    PILUM_RETURN_NOT_OK(grid.Finish());
    PILUM_RETURN_NOT_OK(Print(
        fmt::format("distinct: ± is 95 % sure; median: off by at most {:.2g} % of the rows, in rank (99 % sure); ≥: at "
                    "least so often\n",
                    100 * Kll::RankErrorOf(Kll::Params().k))));
  }
  return kExitOk;
}

Result<int> ExplainBuild(const std::string& dataset, bool full_names, const RunOptions& run) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(dataset));
  PILUM_ASSIGN_OR_RETURN(auto parts, store->ExplainBuild(session->ctx()));
  Grid grid({{"part", ""}, {"column", ""}, {"family", ""}, {"built", ""}, {"because", ""}}, GridStyle::ForStdout());
  for (const PartDecisions& part : parts) {
    const std::string name = full_names ? part.part : part.part.substr(0, 12);
    if (part.decisions.empty())
      PILUM_RETURN_NOT_OK(grid.Add({{name}, {"", true}, {""}, {""}, {"no statistics", true}}));
    for (const BuildDecision& d : part.decisions) {
      PILUM_RETURN_NOT_OK(grid.Add({{name}, {d.column}, {d.family}, {d.built ? "yes" : "no"}, {d.reason}}));
    }
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

Result<int> Attribute(const std::string& dataset, const std::string& by, bool json, const RunOptions& run) {
  const std::map<std::string, std::string AttributedBytes::*> fields = {{"part", &AttributedBytes::part},
                                                                        {"object", &AttributedBytes::object},
                                                                        {"column", &AttributedBytes::column},
                                                                        {"family", &AttributedBytes::family}};
  std::vector<std::string> keys;
  std::stringstream words(by);
  for (std::string word; std::getline(words, word, ',');) {
    if (!fields.contains(word)) return UsageError("--by {}: part, object, column and family are known", word);
    keys.push_back(word);
  }
  if (keys.empty()) return UsageError("--by: name some of part, object, column, family");
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(dataset));
  PILUM_ASSIGN_OR_RETURN(auto rows, store->Attribute(session->ctx()));
  std::map<std::vector<std::string>, uint64_t> sums;
  uint64_t total = 0;
  for (const AttributedBytes& row : rows) {
    std::vector<std::string> key;
    for (const std::string& name : keys) key.push_back(row.*fields.at(name));
    sums[key] += row.bytes;
    total += row.bytes;
  }
  std::vector<std::pair<std::vector<std::string>, uint64_t>> largest(sums.begin(), sums.end());
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<GridColumn> head;
  for (const std::string& name : keys) head.push_back({name, ""});
  head.push_back({"bytes", "", true});
  head.push_back({"share", "", true});
  Grid grid(std::move(head), GridStyle::ForStdout());
  for (const auto& [key, bytes] : largest) {
    if (json) {
      nlohmann::ordered_json j;
      for (size_t i = 0; i < keys.size(); ++i) j[keys[i]] = key[i];
      j["bytes"] = bytes;
      PILUM_RETURN_NOT_OK(Print(j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"));
      continue;
    }
    std::vector<GridCell> cells;
    for (size_t i = 0; i < keys.size(); ++i) cells.push_back({keys[i] == "part" ? key[i].substr(0, 12) : key[i]});
    cells.push_back({Thousands(bytes)});
    cells.push_back({fmt::format("{:.1f} %", 100.0 * static_cast<double>(bytes) / static_cast<double>(total))});
    PILUM_RETURN_NOT_OK(grid.Add(std::move(cells)));
  }
  if (json) return kExitOk;
  PILUM_RETURN_NOT_OK(grid.Finish());
  PILUM_RETURN_NOT_OK(Print(fmt::format("{} in all\n", HumanBytes(total))));
  return kExitOk;
}

}  // namespace pilum::cli
