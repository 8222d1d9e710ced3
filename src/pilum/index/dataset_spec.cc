#include "pilum/index/dataset_spec.h"

#include <algorithm>
#include <charconv>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/hash.h"
#include "pilum/index/index_spec.h"

namespace pilum {
namespace {

// The part of TOML that such files need: comments, [table], key = "text" | 'text' | number | array of texts.
class TomlReader {
 public:
  TomlReader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  struct Entry {
    std::string table, key;
    size_t line;
    std::vector<std::string> texts;
    std::optional<uint64_t> number;
    std::vector<std::vector<std::string>> lists = {};  // of a list of lists
  };
  Result<std::optional<Entry>> Next() {
    while (true) {
      SkipBlank();
      if (at_ == text_.size()) return std::optional<Entry>();
      if (text_[at_] != '[') break;
      ++at_;
      PILUM_ASSIGN_OR_RETURN(table_, Key());
      if (!Take(']')) return Wrong("a table's name ends in ']'");
      PILUM_RETURN_NOT_OK(EndLine());
    }
    Entry e{table_, {}, line_, {}, {}};
    PILUM_ASSIGN_OR_RETURN(e.key, Key());
    if (!Take('=')) return Wrong("'=' is missing");
    SkipSpace();
    if (at_ < text_.size() && IsDigit(text_[at_])) {
      PILUM_ASSIGN_OR_RETURN(e.number, Number());
    } else if (Take('[')) {
      for (SkipBlank(); !Take(']'); SkipBlank()) {
        if (Take('[')) {
          PILUM_RETURN_NOT_OK(TextsUntilBracket(&e.lists.emplace_back()));
        } else {
          PILUM_ASSIGN_OR_RETURN(std::string text, Text());
          e.texts.push_back(std::move(text));
        }
        PILUM_RETURN_NOT_OK(EndItem());
      }
    } else {
      PILUM_ASSIGN_OR_RETURN(std::string text, Text());
      e.texts.push_back(std::move(text));
    }
    PILUM_RETURN_NOT_OK(EndLine());
    return std::optional(std::move(e));
  }
  Status Wrong(std::string_view what, size_t line = 0) const {
    return UsageError("{}: line {}: {}", source_, line ? line : line_, what);
  }

 private:
  Status TextsUntilBracket(std::vector<std::string>* out) {
    for (SkipBlank(); !Take(']'); SkipBlank()) {
      PILUM_ASSIGN_OR_RETURN(std::string text, Text());
      out->push_back(std::move(text));
      PILUM_RETURN_NOT_OK(EndItem());
    }
    return Status::OK();
  }
  Status EndItem() {
    SkipBlank();
    if (!Take(',') && (at_ == text_.size() || text_[at_] != ']')) return Wrong("',' or ']' is missing in a list");
    return Status::OK();
  }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsBare(char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
  }
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  void SkipBlank() {
    while (at_ < text_.size()) {
      SkipSpace();
      if (at_ == text_.size()) return;
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_[at_] == '\n') {
        ++at_;
        ++line_;
      } else {
        return;
      }
    }
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status EndLine() {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '#') return Status::OK();
    return Wrong("more than one value on a line");
  }
  Result<std::string> Key() {
    SkipSpace();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return Text();
    const size_t begin = at_;
    while (at_ < text_.size() && IsBare(text_[at_])) ++at_;
    if (at_ == begin) return Wrong("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }
  Result<uint64_t> Number() {
    std::string digits;
    for (; at_ < text_.size() && (IsDigit(text_[at_]) || text_[at_] == '_'); ++at_) {
      if (text_[at_] != '_') digits += text_[at_];
    }
    uint64_t v = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc() || end != digits.data() + digits.size()) return Wrong("a number that is too large");
    return v;
  }
  Result<std::string> Text() {
    if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return Wrong("a text in quotes is missing");
    const char quote = text_[at_++];
    std::string out;
    for (; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      char c = text_[at_];
      if (c == '\\' && quote == '"') {
        if (++at_ == text_.size()) break;
        c = text_[at_];
        if (c != '"' && c != '\\') return Wrong("in a text, \\ stands before \" or \\ only");
      }
      out += c;
    }
    if (at_ == text_.size() || text_[at_] != quote) return Wrong("a text does not end on its line");
    ++at_;
    return out;
  }

  const std::string_view text_, source_;
  size_t at_ = 0, line_ = 1;
  std::string table_;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;
std::optional<Pairs> PairsOf(const TomlReader::Entry& entry) {
  if (entry.number || !entry.texts.empty()) return std::nullopt;
  Pairs out;
  for (const auto& names : entry.lists) {
    if (names.size() != 2 || names[0] == names[1] || names[1].find('\n') != std::string::npos) return std::nullopt;
    out.emplace_back(names[0], names[1]);
  }
  return out;
}

void AddName(std::string_view name, std::string* list) {
  if (!list->empty()) *list += ", ";
  *list += name;
}

}  // namespace

Result<DatasetSpec> DatasetSpec::Parse(std::string_view text, std::string_view source) {
  DatasetSpec spec;
  spec.hash = Hex(Blake3Of(text)).substr(0, 16);
  TomlReader in(text, source);
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto entry, in.Next());
    if (!entry) return spec;
    const auto wrong = [&](std::string_view what) { return in.Wrong(what, entry->line); };
    if (entry->table.empty() && entry->key == "pairs") {
      const auto pair = PairsOf(*entry);
      if (!pair) return wrong("pairs of columns are wanted, as [[\"a\", \"b\"], [\"a\", \"c.d\"]]");
      spec.pairs = *pair;
      continue;
    }
    if (!entry->lists.empty()) return wrong("a list of lists is wanted of pairs alone");
    if (entry->table == "index") {
      if (entry->number) return wrong("a list of index names is wanted");
      if (!spec.indexes.emplace(entry->key, entry->texts).second) return wrong("the column is there twice");
      continue;
    }
    if (!entry->table.empty()) return wrong("a table that is not known; there is [index]");
    std::vector<std::string>* columns = entry->key == "owner"  ? &spec.owner
                                        : entry->key == "time" ? &spec.time
                                        : entry->key == "key"  ? &spec.key
                                                               : nullptr;
    if (columns) {
      if (entry->number) return wrong("names of columns are wanted");
      *columns = entry->texts;
    } else if (entry->key == "target_part_bytes" || entry->key == "page_rows") {
      if (!entry->number || *entry->number == 0) return wrong("a number above 0 is wanted");
      (entry->key == "page_rows" ? spec.page_rows : spec.target_part_bytes) = entry->number;
    } else {
      return wrong(
          fmt::format("'{}' is not known; there are owner, time, key, pairs, page_rows, target_part_bytes and [index]",
                      entry->key));
    }
  }
}

namespace {

// What a field's metadata is to say, by its path: lists of indexes, and of columns it makes pairs with.
using Sayings = std::map<std::string, std::string>;

std::shared_ptr<arrow::Field> AnnotateField(const std::shared_ptr<arrow::Field>& field, const std::string& path,
                                            const Sayings& lists, const Sayings& pairs) {
  auto out = field;
  if (field->type()->id() == arrow::Type::STRUCT) {
    arrow::FieldVector children;
    for (const auto& child : field->type()->fields())
      children.push_back(AnnotateField(child, path + "." + child->name(), lists, pairs));
    out = out->WithType(arrow::struct_(children));
  }
  for (const auto& [key, said] : {std::pair(kIndexKey, &lists), std::pair(kPairKey, &pairs)}) {
    const auto list = said->find(path);
    if (list == said->end()) continue;
    auto metadata = out->metadata() ? out->metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
    if (metadata->Contains(std::string(key))) (void)metadata->Delete(std::string(key));
    metadata->Append(std::string(key), list->second);
    out = out->WithMetadata(metadata);
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<arrow::Schema>> DatasetSpec::Annotate(const arrow::Schema& schema) const {
  std::map<std::string, std::string> lists;
  for (const auto& [column, names] : indexes) {
    std::string& list = lists[column];
    for (const std::string& name : names) AddName(name, &list);
  }
  for (const std::string& column : owner) AddName("owner", &lists[column]);
  for (const std::string& column : time) AddName("time", &lists[column]);
  for (const std::string& column : key) AddName("key", &lists[column]);
  Sayings partners;
  for (const auto& [a, b] : pairs) partners[a] += b + "\n";
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(AnnotateField(field, field->name(), lists, partners));
  auto metadata = schema.metadata() ? schema.metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
  PILUM_RETURN_NOT_OK(metadata->Set(std::string(kDatasetKey), hash));
  auto out = arrow::schema(fields, metadata);
  PILUM_RETURN_NOT_OK(CheckIndexSpecs(*out));
  return out;
}

}  // namespace pilum
