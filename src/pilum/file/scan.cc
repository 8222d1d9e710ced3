#include "pilum/file/scan.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/base/budget_pool.h"
#include "pilum/file/batch_bytes.h"
#include "pilum/file/ordered_fetch.h"

namespace pilum {
namespace {

constexpr uint64_t kUnitRows = 64 * 1024;      // decoded at once, however small the batches
constexpr uint64_t kFirstUnitRows = 8 * 1024;  // the first unit teaches how large rows really are
constexpr uint64_t kUnitBytes = 4 << 20;       // Arrow bytes of a unit; stays near the caches
constexpr uint64_t kThreadBytes = 16 << 20;    // Arrow bytes that are decoded before another thread has started well
constexpr std::chrono::milliseconds kSlowUnit{10};
constexpr uint64_t kUnitSlack = 32 << 20;  // what a unit of several rows may take over the batch limit
constexpr size_t kLag = 4;  // unit n is sized by what unit n - kLag was: the same cuts whatever the threads

// Cuts the wanted rows into units, front to back. Not thread-safe.
class Planner {
 public:
  Planner(const OpenFile& file, const Projection& projection, RowSet rows, const BatchLimits& limits)
      : file_(file), rows_(std::move(rows)), limit_rows_(std::max<uint64_t>(1, limits.rows)) {
    target_bytes_ = std::max<uint64_t>(1, limit_rows_ > kUnitRows ? limits.bytes : std::min(limits.bytes, kUnitBytes));
    rows_left_ = rows_.size();
    for (const ReadField& r : projection.reads) leaves_.insert(leaves_.end(), r.leaves.begin(), r.leaves.end());
    if (limit_rows_ > kUnitRows) return;
    const uint64_t row = done() ? 0 : rows_.ranges()[0].begin, half = done() ? 0 : RowBytes(row) / 2;
    for (int leaf : leaves_) {
      const auto& type = file.leaves[static_cast<size_t>(leaf)].leaf->type();
      if (type->id() == arrow::Type::DICTIONARY) dictionaries_.push_back(leaf);
      if (!done() && PageRowBytes(leaf, row) > half) largest_ = leaf;
    }
  }

  bool done() const { return range_ == rows_.ranges().size(); }

  // The next unit's rows. `factor`: Arrow bytes decoded for each byte estimated, so far.
  RowSet Next(double factor, uint64_t* estimated_bytes) {
    const uint64_t row = rows_.ranges()[range_].begin + used_;
    const uint64_t row_bytes = RowBytes(row);
    const double real_row_bytes = std::max(1.0, static_cast<double>(row_bytes) * factor);
    auto fit = static_cast<uint64_t>(std::max(1.0, static_cast<double>(target_bytes_) / real_row_bytes));
    uint64_t most = std::max(limit_rows_, std::exchange(first_, false) ? kFirstUnitRows : kUnitRows);
    uint64_t n = std::min(fit, most);
    if (n > limit_rows_) n -= n % limit_rows_;  // whole batches
    RowSet out = Cut(WithinPages(row, n), EndOfDictionary(row));
    *estimated_bytes = row_bytes * out.size();
    rows_left_ -= out.size();
    return out;
  }

  // Arrow bytes of the rows that are not planned yet, were all like the next one.
  uint64_t BytesLeft(double factor) const {
    if (done()) return 0;
    const uint64_t row = rows_.ranges()[range_].begin + used_;
    return static_cast<uint64_t>(static_cast<double>(RowBytes(row) * rows_left_) * factor);
  }

 private:
  // The next n rows, as far as they lie before row `end`.
  RowSet Cut(uint64_t n, uint64_t end) {
    RowSet out;
    while (n > 0 && !done()) {
      const RowRange& r = rows_.ranges()[range_];
      if (r.begin + used_ >= end) break;
      uint64_t take = std::min({n, r.size() - used_, end - r.begin - used_});
      out.Append(r.begin + used_, r.begin + used_ + take);
      n -= take;
      used_ += take;
      if (used_ == r.size()) ++range_, used_ = 0;
    }
    return out;
  }

  // Each page has its own dictionary, and one array can hold but one: a unit ends where a page of a dictionary column
  // does.
  uint64_t EndOfDictionary(uint64_t row) const {
    uint64_t end = UINT64_MAX;
    for (int leaf : dictionaries_) {
      const OpenColumn& column = file_.columns[static_cast<size_t>(leaf)];
      end = std::min(end, column.first_row[column.PagesOf(row, row + 1).first + 1]);
    }
    return end;
  }

  // Of n rows from `row`, those up to the end of a page of the column that is most of a row: to put its pages together
  // would copy most of the unit. Batches stay whole: the one that spans two pages is a unit of its own.
  uint64_t WithinPages(uint64_t row, uint64_t n) const {
    if (!largest_ || rows_.ranges()[range_].end < row + n) return n;
    const OpenColumn& column = file_.columns[static_cast<size_t>(*largest_)];
    const auto [first, last] = column.PagesOf(row, row + n);
    if (last - first < 2) return n;
    const uint64_t here = column.first_row[last - 1] - row;  // rows before the last page
    if (n < limit_rows_) return here > n / 8 ? here : n;     // not for a crumb
    return here >= limit_rows_ ? here - here % limit_rows_ : limit_rows_;
  }

  uint64_t PageRowBytes(int leaf, uint64_t row) const {
    const auto column = static_cast<size_t>(leaf);
    return EstimateRowBytes(file_, column, file_.columns[column].PagesOf(row, row + 1).first);
  }

  uint64_t RowBytes(uint64_t row) const {
    uint64_t bytes = 1;
    for (int leaf : leaves_) bytes += PageRowBytes(leaf, row);
    return bytes;
  }

  const OpenFile& file_;
  RowSet rows_;
  uint64_t limit_rows_, target_bytes_;
  std::vector<int> leaves_, dictionaries_;
  std::optional<int> largest_;  // the leaf that is most of a row
  size_t range_ = 0;
  uint64_t used_ = 0;  // rows of that range
  uint64_t rows_left_ = 0;
  bool first_ = true;
};

// Units in order. Decodes on the calling thread and, with ctx.threads > 1, on workers that run ahead by a few units.
class UnitSource {
 public:
  UnitSource(const OpenFile& file, const Projection& projection, RowSet rows, const BatchLimits& limits,
             ReadContext ctx)
      : file_(file),
        projection_(projection),
        ctx_(std::move(ctx)),
        ordered_(file.source->cost().remote ? std::make_unique<OrderedFetch>(file, projection, rows, limits, ctx_)
                                            : nullptr),
        planner_(file, projection, std::move(rows), limits) {
    threads_ = std::clamp(ctx_.threads, 1, 64);
    most_unit_bytes_ = std::min(limits.bytes, uint64_t{1} << 60) + kUnitSlack;
    window_ = std::min(static_cast<size_t>(threads_) + 1, kLag);
  }

  ~UnitSource() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (auto& w : workers_) w.join();
  }

  // nullopt at the end.
  Result<std::optional<DecodedUnit>> Next() {
    while (true) {
      Done done;
      if (!again_.empty()) {
        done = Decode(UnitRead(file_, projection_, std::move(again_.back())), std::nullopt);
        again_.pop_back();
      } else {
        auto next = Take();
        if (!next) return std::optional<DecodedUnit>();
        done = *std::move(next);
      }
      if (Splits(done)) {  // larger than guessed, and than what may be held: its halves one after the other
        const uint64_t n = done.rows.size();
        again_.push_back(done.rows.SliceByRank(n / 2, n - n / 2));
        again_.push_back(done.rows.SliceByRank(0, n / 2));
        continue;
      }
      PILUM_RETURN_NOT_OK(done.unit.status());
      return std::optional<DecodedUnit>(*std::move(done.unit));
    }
  }

 private:
  bool MayPlan() const {
    return !stopped_ && !failed_ && !planner_.done() && planned_ < taken_ + window_ && (planned_ != 1 || taken_ >= 1);
  }

  struct Done {
    RowSet rows;  // where it went wrong
    Result<DecodedUnit> unit = Status::UnknownError("");
  };

  static bool Splits(const Done& done) {
    return !done.unit.ok() && KindOf(done.unit.status()) == ErrorKind::kMemory && done.rows.size() > 1;
  }

  // A unit without a number is a part of one that had its turn: it fetches just what it needs.
  Done Decode(UnitRead unit, std::optional<size_t> number) {
    Done done;
    ReadContext ctx = ctx_;
    BudgetPool::Ptr budget;
    if (unit.rows().size() > 1) {  // one row is read whatever it takes
      budget = BudgetPool::Make(ctx.memory_pool(), static_cast<int64_t>(most_unit_bytes_));
      ctx.pool = budget.get();
    }
    try {
      Status fetched = ordered_ && number ? ordered_->Fetch(*number, &unit, ctx) : unit.Fetch(nullptr, ctx);
      done.unit = fetched.ok() ? unit.Decode(ctx) : Result<DecodedUnit>(fetched);
    } catch (const std::bad_alloc&) {
      done.unit = MakeError(ErrorKind::kMemory, "out of memory");
    }
    if (!done.unit.ok()) done.rows = unit.rows();
    return done;
  }

  // The next unit in order; nothing at the end.
  std::optional<Done> Take() {
    std::unique_lock lock(mutex_);
    if (taken_ >= 1 && threads_ > 1 && workers_.empty() && !planner_.done() && PaysForThreads()) StartWorkers();
    while (true) {
      auto it = ready_.find(taken_);
      if (it != ready_.end()) {
        Done done = std::move(it->second);
        ready_.erase(it);
        ++taken_;
        changed_.notify_all();
        return done;
      }
      if (MayPlan()) {
        DecodeOne(lock);
      } else if (taken_ == planned_) {
        return std::nullopt;
      } else {
        changed_.wait(lock);
      }
    }
  }

  // A thread is worth its start where much is left, or where the first unit took its time (a slow source).
  bool PaysForThreads() const {
    return planner_.BytesLeft(factors_[0]) >= kThreadBytes || first_unit_time_ >= kSlowUnit;
  }

  // Called and left with the lock held.
  void DecodeOne(std::unique_lock<std::mutex>& lock) {
    size_t number = planned_++;
    double factor = number == 0 ? 1.0 : factors_[number > kLag ? number - kLag : 0];
    uint64_t estimated = 0;
    UnitRead unit(file_, projection_, planner_.Next(factor, &estimated));
    const double rows_planned = static_cast<double>(unit.rows().size());
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    Done done = Decode(std::move(unit), number);
    lock.lock();
    if (number == 0) first_unit_time_ = std::chrono::steady_clock::now() - start;
    factors_.resize(std::max(factors_.size(), number + 1), 1.0);
    if (done.unit.ok()) {
      factors_[number] = static_cast<double>(done.unit->bytes) / static_cast<double>(std::max<uint64_t>(1, estimated));
    } else if (Splits(done)) {
      factors_[number] = factor * rows_planned;  // single rows until it is known better
    } else {
      failed_ = true;
    }
    ready_.emplace(number, std::move(done));
    changed_.notify_all();
  }

  void StartWorkers() {
    try {
      for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      threads_ = 1;  // no more threads to be had: what there are will do
    }
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (!stopped_ && !failed_ && !planner_.done()) {
      if (MayPlan()) {
        DecodeOne(lock);
      } else {
        changed_.wait(lock);
      }
    }
  }

  const OpenFile& file_;
  const Projection& projection_;
  const ReadContext ctx_;
  int threads_;
  size_t window_;
  uint64_t most_unit_bytes_;
  std::vector<RowSet> again_;  // parts of a unit that was too large, last first

  const std::unique_ptr<OrderedFetch> ordered_;  // null: of a local file

  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  Planner planner_;
  std::map<size_t, Done> ready_;
  std::vector<double> factors_;
  std::chrono::steady_clock::duration first_unit_time_{};
  size_t planned_ = 0, taken_ = 0;
  bool stopped_ = false, failed_ = false;
  std::vector<std::thread> workers_;
};

class Scan : public BatchStream {
 public:
  Scan(std::shared_ptr<const OpenFile> file, std::shared_ptr<const Projection> projection, RowSet rows,
       const BatchLimits& limits, const ReadContext& ctx)
      : file_(std::move(file)), kept_(std::move(projection)), projection_(*kept_), limits_(limits), ctx_(ctx) {
    limits_.rows = std::max<uint64_t>(1, limits_.rows);
    if (ctx_.stats == nullptr) ctx_.stats = &own_stats_;
    bytes_before_ = ctx_.stats->bytes;
    requests_before_ = ctx_.stats->requests;
    if (projection_.reads.empty()) {
      unit_.rows = std::move(rows);  // nothing to decode: one unit of all
      unit_rows_ = unit_.rows.size();
    } else {
      units_.emplace(*file_, projection_, std::move(rows), limits_, ctx_);
    }
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return projection_.schema; }
  const RowSet& rows() const override { return batch_rows_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    PILUM_RETURN_NOT_OK(status_);
    auto batch = NextBatch();
    if (!batch.ok()) {
      ErrorKind kind = KindOf(batch.status());
      status_ = kind == ErrorKind::kCancelled || kind == ErrorKind::kDeadline ? WithWhatWasRead(batch.status())
                : batch.status().message().starts_with(file_->source->name())
                    ? batch.status()
                    : WithContext(file_->source->name(), batch.status());
      units_.reset();
      unit_ = {};
      return status_;
    }
    return batch;
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> NextBatch() {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    if (at_ == unit_rows_) {
      unit_ = {};
      at_ = unit_rows_ = 0;
      batch_rows_ = RowSet();
      if (!units_) return nullptr;
      PILUM_ASSIGN_OR_RETURN(auto unit, units_->Next());
      if (!unit) return nullptr;
      unit_ = *std::move(unit);
      unit_rows_ = unit_.rows.size();
      dictionary_bytes_ = 0;
      for (const auto& array : unit_.arrays) dictionary_bytes_ += SliceBytes(*array->data(), 0, 0);
    }
    uint64_t n = std::min(limits_.rows, unit_rows_ - at_);
    const bool fits = unit_.bytes + dictionary_bytes_ <= limits_.bytes;
    PILUM_ASSIGN_OR_RETURN(auto batch, fits ? Slice(n) : SliceThatFits(&n));
    batch_rows_ = n == unit_rows_ ? unit_.rows : unit_.rows.SliceByRank(at_, n);
    at_ += n;
    rows_given_ += n;
    return batch;
  }

  // At most *n rows (fewer, at least one, come out of it) within the byte limit. A dictionary that takes much of it is
  // cut down to what the batch uses.
  Result<std::shared_ptr<arrow::RecordBatch>> SliceThatFits(uint64_t* n) const {
    uint64_t room = limits_.bytes;
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (int r : projection_.outputs) arrays.push_back(unit_.arrays[static_cast<size_t>(r)]);
    const bool large = dictionary_bytes_ > limits_.bytes / 2;
    if (large) room += dictionary_bytes_;  // judged again below
    *n = static_cast<uint64_t>(RowsThatFit(arrays, static_cast<int64_t>(at_), static_cast<int64_t>(*n), room));
    if (!large) return Slice(*n);
    while (true) {
      arrow::ArrayVector compact;
      for (const auto& array : arrays) {
        auto rows = array->Slice(static_cast<int64_t>(at_), static_cast<int64_t>(*n));
        PILUM_ASSIGN_OR_RETURN(auto small, CompactDictionaries(rows, ctx_.memory_pool()));
        compact.push_back(std::move(small));
      }
      const auto fit = static_cast<uint64_t>(RowsThatFit(compact, 0, static_cast<int64_t>(*n), limits_.bytes));
      if (fit == *n) return arrow::RecordBatch::Make(projection_.schema, static_cast<int64_t>(*n), std::move(compact));
      *n = std::max(fit, *n / 2);  // fewer rows use fewer values
    }
  }

  // What a read that had to stop had done.
  Status WithWhatWasRead(const Status& st) const {
    return st.WithMessage(fmt::format("{} ({}: {} rows given out, {} bytes read in {} requests)", st.message(),
                                      file_->source->name(), rows_given_, ctx_.stats->bytes.load() - bytes_before_,
                                      ctx_.stats->requests.load() - requests_before_));
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Slice(uint64_t n) const {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (int r : projection_.outputs) {
      const auto& array = unit_.arrays[static_cast<size_t>(r)];
      arrays.push_back(n == unit_rows_ ? array : array->Slice(static_cast<int64_t>(at_), static_cast<int64_t>(n)));
    }
    return arrow::RecordBatch::Make(projection_.schema, static_cast<int64_t>(n), std::move(arrays));
  }

  const std::shared_ptr<const OpenFile> file_;
  const std::shared_ptr<const Projection> kept_;
  const Projection& projection_;
  BatchLimits limits_;
  ReadStats own_stats_;  // where the caller wants none
  ReadContext ctx_;
  uint64_t rows_given_ = 0, bytes_before_ = 0, requests_before_ = 0;
  std::optional<UnitSource> units_;
  DecodedUnit unit_;                 // being given out
  uint64_t unit_rows_ = 0, at_ = 0;  // its rows, and how many are out
  uint64_t dictionary_bytes_ = 0;    // under its arrays
  RowSet batch_rows_;
  Status status_;
};

}  // namespace

std::unique_ptr<BatchStream> MakeScan(std::shared_ptr<const OpenFile> file,
                                      std::shared_ptr<const Projection> projection, RowSet rows,
                                      const BatchLimits& limits, const ReadContext& ctx) {
  return std::make_unique<Scan>(std::move(file), std::move(projection), std::move(rows), limits, ctx);
}

}  // namespace pilum
