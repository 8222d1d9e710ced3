#include "pilum/change/tags.h"

#include <chrono>
#include <ctime>

#include <nlohmann/json.hpp>

namespace pilum {
namespace {

// RFC 3339 with nanoseconds.
std::string Now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  const auto seconds = static_cast<std::time_t>(ns / 1000000000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, ns % 1000000000);
}

std::string ToJson(const TableTag& tag) {
  nlohmann::ordered_json j;
  j["branch"] = nullptr;
  if (tag.branch) j["branch"] = *tag.branch;
  j["version"] = tag.version;
  if (!tag.created_at.empty()) j["createdAt"] = tag.created_at;
  if (!tag.updated_at.empty()) j["updatedAt"] = tag.updated_at;
  j["manifestSize"] = tag.manifest_size;
  j["metadata"] = nlohmann::ordered_json::object();
  for (const auto& [key, value] : tag.metadata) j["metadata"][key] = value;
  return j.dump(2);
}

std::string PathOf(const std::string& name) { return "_refs/tags/" + name + ".json"; }

void PointAt(const Table& at, TableTag* tag) {
  tag->branch = at.branch().empty() ? std::nullopt : std::optional(at.branch());
  tag->version = at.manifest().version;
  tag->manifest_size = at.manifest().file_size;
}

Result<TableTag> Find(const WritableTable& table, const std::string& name, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto found, FindTag(*table.main, name, ctx));
  if (!found) return NotFoundError("{}: Ref not found error: tag {} does not exist", table.table->uri(), name);
  return std::move(*found);
}

Status Replace(const WritableTable& table, const std::string& name, const TableTag& tag) {
  const std::string text = ToJson(tag);
  PILUM_ASSIGN_OR_RETURN(auto sink, table.main->Create(PathOf(name)));
  PILUM_RETURN_NOT_OK(sink->Write(text.data(), text.size()));
  return sink->Close();
}

}  // namespace

Status CreateTag(const WritableTable& at, const std::string& name, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(FindTag(*at.main, name, ctx).status());
  TableTag tag;
  PointAt(*at.table, &tag);
  tag.created_at = tag.updated_at = Now();
  PILUM_ASSIGN_OR_RETURN(const bool put, at.main->PutIfAbsent(PathOf(name), ToJson(tag)));
  return put ? Status::OK() : UsageError("{}: Ref conflict error: tag {} already exists", at.table->uri(), name);
}

Status MoveTag(const WritableTable& at, const std::string& name, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(TableTag tag, Find(at, name, ctx));
  PointAt(*at.table, &tag);
  tag.updated_at = Now();
  return Replace(at, name, tag);
}

Status DeleteTag(const WritableTable& table, const std::string& name, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(Find(table, name, ctx).status());
  return table.main->Remove(PathOf(name));
}

Status SetTagMetadata(const WritableTable& table, const std::string& name,
                      const std::map<std::string, std::string>& metadata, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(TableTag tag, Find(table, name, ctx));
  tag.metadata = metadata;
  return Replace(table, name, tag);
}

}  // namespace pilum
