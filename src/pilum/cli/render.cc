#include "pilum/cli/render.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <numeric>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/cli/common.h"
#include "pilum/ingest/value_text.h"

namespace pilum::cli {
namespace {

constexpr int kGap = 2, kLeastWidth = 6, kMostWidth = 60, kMostUncut = 200;

// The next code point of `s` at *i; a bad byte counts as one.
uint32_t NextCodePoint(std::string_view s, size_t* i) {
  auto b = static_cast<unsigned char>(s[*i]);
  int more = b >= 0xF0 ? 3 : b >= 0xE0 ? 2 : b >= 0xC0 ? 1 : 0;
  uint32_t cp = more == 3 ? b & 0x07 : more == 2 ? b & 0x0F : more == 1 ? b & 0x1F : b;
  ++*i;
  for (; more > 0 && *i < s.size() && (static_cast<unsigned char>(s[*i]) & 0xC0) == 0x80; --more, ++*i) {
    cp = cp << 6 | (static_cast<unsigned char>(s[*i]) & 0x3F);
  }
  return cp;
}

int WidthOf(uint32_t cp) {
  if (cp < 0x300) return 1;
  static const bool kLocale = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  int w = kLocale ? ::wcwidth(static_cast<wchar_t>(cp)) : 1;
  return w < 0 ? 1 : w;
}

std::string CutTo(std::string_view s, int width) {
  int used = 0;
  size_t i = 0;
  while (i < s.size()) {
    size_t next = i;
    int w = WidthOf(NextCodePoint(s, &next));
    if (used + w > width - 1) break;
    used += w;
    i = next;
  }
  return std::string(s.substr(0, i)) + "…";
}

bool IsNumber(const arrow::DataType& type) {
  return arrow::is_numeric(type.id()) || arrow::is_decimal(type.id()) || type.id() == arrow::Type::DURATION;
}

std::vector<GridColumn> ColumnsOf(const arrow::Schema& schema) {
  std::vector<GridColumn> columns;
  for (const auto& field : schema.fields()) {
    std::string type =
        field->type()->id() == arrow::Type::EXTENSION
            ? static_cast<const arrow::ExtensionType&>(*field->type()).extension_name()
        : field->type()->id() == arrow::Type::DICTIONARY
            ? static_cast<const arrow::DictionaryType&>(*field->type()).value_type()->ToString() + " (dict)"
            : field->type()->ToString();
    columns.push_back({field->name(), std::move(type), IsNumber(*field->type())});
  }
  return columns;
}

}  // namespace

int DisplayWidth(std::string_view utf8) {
  int width = 0;
  for (size_t i = 0; i < utf8.size();) width += WidthOf(NextCodePoint(utf8, &i));
  return width;
}

GridStyle GridStyle::ForStdout() {
  GridStyle style;
  if (!::isatty(STDOUT_FILENO)) return style;
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = size.ws_col;
  else if (const char* columns = std::getenv("COLUMNS"))
    style.width = std::max(20, std::atoi(columns));
  else
    style.width = 80;
  const char* term = std::getenv("TERM");
  style.color = !std::getenv("NO_COLOR") && term && std::string_view(term) != "dumb";
  return style;
}

Grid::Grid(std::vector<GridColumn> columns, GridStyle style) : columns_(std::move(columns)), style_(style) {}

Status Grid::Add(std::vector<GridCell> row) {
  held_.push_back(std::move(row));
  return held_.size() >= kSample ? Flush() : Status::OK();
}

// Natural widths, cut to the terminal: the widest columns give first; columns that still do not fit are not shown.
void Grid::Settle() {
  settled_ = true;
  const int most = style_.width > 0 ? kMostWidth : kMostUncut;
  int last = 0;  // natural width of the last column
  widths_.clear();
  for (size_t c = 0; c < columns_.size(); ++c) {
    int w = std::max(DisplayWidth(columns_[c].name), DisplayWidth(columns_[c].type));
    for (const auto& row : held_) w = std::max(w, DisplayWidth(row[c].text));
    last = std::clamp(w, 1, kMostUncut);
    widths_.push_back(std::clamp(w, 1, most));
  }
  shown_ = columns_.size();
  if (style_.width <= 0 || columns_.empty()) return;
  auto total = [&](int cap) {
    int sum = -kGap;
    for (size_t c = 0; c < shown_; ++c) sum += std::min(widths_[c], cap) + kGap;
    return sum;
  };
  int cap = most;
  while (cap > kLeastWidth && total(cap) > style_.width) --cap;
  while (shown_ > 1 && total(cap) > style_.width) --shown_;
  while (cap < most && total(cap + 1) <= style_.width) ++cap;
  for (int& w : widths_) w = std::min(w, cap);
  // What is left over is the last column's, which holds the longest texts.
  if (shown_ == columns_.size())
    widths_.back() = std::max(widths_.back(), std::min(last, style_.width - total(cap) + widths_.back()));
}

void Grid::AppendLine(const std::vector<GridCell>& cells, const char* style, std::string* out) const {
  std::string line;
  for (size_t c = 0; c < shown_; ++c) {
    if (c) line.append(kGap, ' ');
    int width = DisplayWidth(cells[c].text);
    std::string text = width > widths_[c] ? CutTo(cells[c].text, widths_[c]) : cells[c].text;
    int pad = std::max(0, widths_[c] - DisplayWidth(text));
    const char* code = style_.color ? (cells[c].dim ? "\x1b[2m" : style) : "";
    if (*code) text = code + text + "\x1b[0m";
    if (columns_[c].right) line.append(static_cast<size_t>(pad), ' ');
    line += text;
    if (!columns_[c].right && c + 1 < shown_) line.append(static_cast<size_t>(pad), ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *out += line + "\n";
}

Status Grid::Flush() {
  std::string out;
  if (!settled_) {
    Settle();
    std::vector<GridCell> names, types, rules;
    bool any_type = false;
    for (size_t c = 0; c < columns_.size(); ++c) {
      names.push_back({columns_[c].name});
      types.push_back({columns_[c].type, true});
      any_type |= !columns_[c].type.empty();
      std::string rule;
      for (int k = 0; k < widths_[c]; ++k) rule += "─";
      rules.push_back({rule, true});
    }
    AppendLine(names, "\x1b[1m", &out);
    if (any_type) AppendLine(types, "", &out);
    AppendLine(rules, "", &out);
  }
  for (const auto& row : held_) AppendLine(row, "", &out);
  held_.clear();
  return Print(out);
}

Status Grid::Finish() {
  PILUM_RETURN_NOT_OK(Flush());
  if (shown_ == columns_.size()) return Status::OK();
  return Print(fmt::format("({} not shown: the terminal is too narrow; choose columns, or --format csv)\n",
                           Plural(columns_.size() - shown_, "more column")));
}

namespace {

// "n: approximate, off by at most 3.185 % of the count (95 % sure)", from what the query says in the field's metadata.
std::string BoundText(const arrow::Field& field) {
  if (!field.HasMetadata()) return "";
  const auto bound = field.metadata()->Get("pilum:error_bound"), sure = field.metadata()->Get("pilum:confidence");
  if (!bound.ok() || !sure.ok()) return "";
  const size_t space = bound->find(' ');
  return fmt::format("{}: approximate, off by at most {:.4g} %{} ({:g} % sure)\n", field.name(),
                     100 * std::atof(bound->c_str()), space == std::string::npos ? "" : bound->substr(space),
                     100 * std::atof(sure->c_str()));
}

}  // namespace

TableRenderer::TableRenderer(const arrow::Schema& schema, GridStyle style) : grid_(ColumnsOf(schema), style) {
  for (const auto& field : schema.fields()) notes_ += BoundText(*field);
}

Status TableRenderer::Write(const arrow::RecordBatch& batch) {
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    std::vector<GridCell> row;
    for (int c = 0; c < batch.num_columns(); ++c) {
      const auto& column = batch.column(c);
      GridCell cell;
      if (column->IsNull(i))
        cell = {"null", true};
      else
        AppendValueText(*batch.schema()->field(c), *column, i, TextStyle::kTable, &cell.text);
      row.push_back(std::move(cell));
    }
    PILUM_RETURN_NOT_OK(grid_.Add(std::move(row)));
  }
  rows_ += static_cast<uint64_t>(batch.num_rows());
  return Status::OK();
}

Status TableRenderer::Close() {
  PILUM_RETURN_NOT_OK(grid_.Finish());
  return Print(Plural(rows_, "row") + "\n" + notes_);
}

}  // namespace pilum::cli
