#include "pilum/change/compact_plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "pilum/change/read_rows.h"
#include "pilum/table/commit/index_coverage.h"

namespace pilum {
namespace {

struct Candidate {
  const FragmentFacts* facts = nullptr;
  bool alone = false;  // worth it though nothing is beside it
  uint64_t rows() const { return facts->physical_rows - facts->deleted; }
};
// Candidates beside each other that the same indices cover.
struct Bin {
  std::vector<Candidate> members;
  std::vector<size_t> indices;
};

class Planner {
 public:
  Planner(const std::vector<IndexFacts>& indices, const CompactionOptions& options)
      : indices_(indices), options_(options) {}

  std::vector<CompactionTask> Plan(const std::vector<FragmentFacts>& fragments) {
    for (const FragmentFacts& f : fragments) Look(f);
    EndBin();
    std::vector<CompactionTask> out;
    CompactionTask all;
    for (CompactionTask& task : tasks_) {
      all.rows += task.rows;
      all.bytes += task.bytes;
      all.fragments.insert(all.fragments.end(), task.fragments.begin(), task.fragments.end());
      if (all.fragments.size() > options_.max_source_fragments.value_or(UINT64_MAX) ||
          all.rows > options_.max_source_rows.value_or(UINT64_MAX) ||
          all.bytes > options_.max_source_bytes.value_or(UINT64_MAX)) {
        break;
      }
      out.push_back(std::move(task));
    }
    return out;
  }

 private:
  std::vector<size_t> IndicesOf(const FragmentFacts& f) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < indices_.size(); ++i) {
      if (indices_[i].fragments.Contains(f.id)) out.push_back(i);
    }
    return out;
  }
  bool LeftAlone(const FragmentFacts& f, const std::vector<size_t>& indices) const {
    if (options_.excluded_fragments.contains(f.id)) return true;
    return options_.leave_indexed &&
           std::any_of(indices.begin(), indices.end(), [&](size_t i) { return !indices_[i].follows; });
  }
  bool HasManyDeletions(const FragmentFacts& f) const {
    if (!options_.materialize_deletions || f.physical_rows == 0) return false;
    return static_cast<float>(f.deleted) / static_cast<float>(f.physical_rows) >
           options_.materialize_deletions_threshold;
  }

  void Look(const FragmentFacts& f) {
    std::vector<size_t> indices = IndicesOf(f);
    const bool alone = HasManyDeletions(f);
    if (LeftAlone(f, indices) || (!alone && f.physical_rows >= options_.target_rows_per_fragment)) return EndBin();
    if (indices != bin_.indices) EndBin();
    bin_.indices = std::move(indices);
    bin_.members.push_back({&f, alone});
  }

  // As many tasks as have rows enough; what is left over belongs to the last.
  void EndBin() {
    const Bin bin = std::move(bin_);
    bin_ = {};
    const auto& all = bin.members;
    if (all.empty() || (all.size() == 1 && !all[0].alone)) return;
    uint64_t left =
        std::accumulate(all.begin(), all.end(), uint64_t{0}, [](uint64_t n, const auto& c) { return n + c.rows(); });
    for (size_t begin = 0; begin < all.size();) {
      size_t end = begin;
      uint64_t rows = 0;
      while (end < all.size() && rows < options_.target_rows_per_fragment) rows += all[end++].rows();
      left -= rows;
      if (left < options_.target_rows_per_fragment) end = all.size();
      tasks_.push_back(TaskOf({all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)},
                              bin.indices));
      begin = end;
    }
  }

  CompactionTask TaskOf(const std::vector<Candidate>& members, const std::vector<size_t>& indices) const {
    CompactionTask out;
    size_t alone = 0;
    for (const Candidate& c : members) {
      out.fragments.push_back(c.facts->id);
      out.rows += c.rows();
      out.deleted += c.facts->deleted;
      out.bytes += c.facts->bytes;
      alone += c.alone;
    }
    std::set<std::string> names;
    for (const size_t i : indices) {
      if (!indices_[i].follows) names.insert(indices_[i].name);
    }
    out.uncovered.assign(names.begin(), names.end());
    out.reason = Reason(members.size(), alone);
    return out;
  }

  std::string Reason(size_t members, size_t alone) const {
    const std::string many =
        fmt::format("over {:g} % of its rows deleted", 100 * options_.materialize_deletions_threshold);
    if (members == 1) return fmt::format("a fragment with {}", many);
    std::string out = fmt::format("{} fragments beside each other", members);
    if (alone < members) out += fmt::format(", {} below {} rows", members - alone, options_.target_rows_per_fragment);
    return alone > 0 ? out + fmt::format(", {} with {}", alone, many) : out;
  }

  const std::vector<IndexFacts>& indices_;
  const CompactionOptions& options_;
  Bin bin_;
  std::vector<CompactionTask> tasks_;
};

Result<std::vector<FragmentFacts>> FactsOf(const Table& table, ReadContext& ctx) {
  std::vector<FragmentFacts> out;
  const bool known = table.counts_known();
  for (const Fragment& f : table.manifest().fragments) {
    FragmentFacts facts{f.id, f.physical_rows, f.deletions ? f.deletions->num_deleted : 0, 0};
    for (const DataFile& file : f.files) facts.bytes += file.size;
    if (!known) {
      PILUM_ASSIGN_OR_RETURN(auto fragment, PhysicalFragment::Make(table.context(), f, ctx));
      PILUM_ASSIGN_OR_RETURN(const RowSet deleted, fragment->ReadDeletions(ctx));
      facts.physical_rows = fragment->num_rows();
      facts.deleted = deleted.size();
    }
    facts.deleted = std::min(facts.deleted, facts.physical_rows);
    out.push_back(facts);
  }
  return out;
}

constexpr std::string_view kPrefix = "lance.compaction.";

class ConfigReader {
 public:
  explicit ConfigReader(const std::map<std::string, std::string>& config) : config_(config) {}

  const std::string* Find(std::string_view name) const {
    const auto at = config_.find(std::string(kPrefix) + std::string(name));
    return at == config_.end() ? nullptr : &at->second;
  }
  Status Number(std::string_view name, std::optional<uint64_t>* out) const {
    const std::string* text = Find(name);
    if (!text) return Status::OK();
    uint64_t value = 0;
    const char* end = text->data() + text->size();
    const auto [at, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc() || at != end) return Wrong(name, *text, "a whole number");
    *out = value;
    return Status::OK();
  }
  Status Flag(std::string_view name, bool* out) const {
    const std::string* text = Find(name);
    if (!text) return Status::OK();
    if (*text != "true" && *text != "false") return Wrong(name, *text, "true or false");
    *out = *text == "true";
    return Status::OK();
  }
  Status Share(std::string_view name, float* out) const {
    const std::string* text = Find(name);
    if (!text) return Status::OK();
    char* end = nullptr;
    *out = std::strtof(text->c_str(), &end);
    return text->empty() || *end != '\0' ? Wrong(name, *text, "a number") : Status::OK();
  }

 private:
  static Status Wrong(std::string_view name, const std::string& text, std::string_view wanted) {
    return UsageError("the table's config says {}{} = '{}', which should be {}", kPrefix, name, text, wanted);
  }
  const std::map<std::string, std::string>& config_;
};

}  // namespace

Result<CompactionOptions> CompactionDefaults(const Manifest& manifest) {
  CompactionOptions out;
  const ConfigReader config(manifest.config);
  std::optional<uint64_t> target, bytes, batch;
  bool defers = false;
  PILUM_RETURN_NOT_OK(config.Number("target_rows_per_fragment", &target));
  PILUM_RETURN_NOT_OK(config.Number("max_bytes_per_file", &bytes));
  PILUM_RETURN_NOT_OK(config.Number("batch_size", &batch));
  PILUM_RETURN_NOT_OK(config.Number("max_source_fragments", &out.max_source_fragments));
  PILUM_RETURN_NOT_OK(config.Number("max_source_rows", &out.max_source_rows));
  PILUM_RETURN_NOT_OK(config.Number("max_source_bytes", &out.max_source_bytes));
  PILUM_RETURN_NOT_OK(config.Flag("materialize_deletions", &out.materialize_deletions));
  PILUM_RETURN_NOT_OK(config.Share("materialize_deletions_threshold", &out.materialize_deletions_threshold));
  PILUM_RETURN_NOT_OK(config.Flag("defer_index_remap", &defers));
  out.target_rows_per_fragment = target.value_or(out.target_rows_per_fragment);
  out.max_bytes_per_file = bytes.value_or(out.max_bytes_per_file);
  out.batch_rows = batch.value_or(0);
  if (const std::string* version = config.Find("data_storage_version")) out.data_version = *version;
  if (defers)
    return Unsupported("the table's config asks for {}defer_index_remap, which is not supported yet", kPrefix);
  const std::string* mode = config.Find("compaction_mode");
  if (mode && *mode == "force_binary_copy") {
    return Unsupported("the table's config asks for {}compaction_mode = {}, which is not supported yet", kPrefix,
                       *mode);
  }
  return out;
}

CompactionPlan PlanCompaction(uint64_t read_version, const std::vector<FragmentFacts>& fragments,
                              const std::vector<IndexFacts>& indices, const CompactionOptions& options) {
  return {read_version, Planner(indices, options).Plan(fragments)};
}

Result<CompactionPlan> PlanCompaction(const Table& table, const CompactionOptions& options, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto facts, FactsOf(table, ctx));
  const Manifest& manifest = table.manifest();
  std::vector<IndexFacts> indices;
  if (manifest.indices) {
    PILUM_ASSIGN_OR_RETURN(auto source, table.files().OpenOwn(table.listed().path(), ctx));
    PILUM_ASSIGN_OR_RETURN(const auto all, ReadIndexSection(*source, manifest, ctx));
    for (const TableIndex& index : all) {
      if (index.is_system() || !index.fragments) continue;
      const bool follows =
          manifest.has_stable_row_ids() && !HoldsAddresses(index.details_url, index.index_version.value_or(0));
      indices.push_back({index.name, *index.fragments, follows});
    }
  }
  return PlanCompaction(manifest.version, facts, indices, options);
}

}  // namespace pilum
