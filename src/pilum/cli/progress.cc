#include "pilum/cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <arrow/record_batch.h>

#include "pilum/cli/common.h"

namespace pilum::cli {
namespace {

constexpr auto kFirst = std::chrono::milliseconds(400);  // short work shows nothing
constexpr auto kEvery = std::chrono::milliseconds(100);
constexpr int kBarWidth = 24;

class CountingReader : public arrow::RecordBatchReader {
 public:
  CountingReader(std::shared_ptr<arrow::RecordBatchReader> inner, Progress* progress)
      : inner_(std::move(inner)), progress_(progress) {}
  std::shared_ptr<arrow::Schema> schema() const override { return inner_->schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    PILUM_RETURN_NOT_OK(inner_->ReadNext(out));
    if (*out) progress_->Add(static_cast<uint64_t>((*out)->num_rows()));
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::RecordBatchReader> inner_;
  Progress* progress_;
};

}  // namespace

Progress::Progress(std::string label, uint64_t total_rows)
    : label_(std::move(label)),
      total_(total_rows),
      start_(std::chrono::steady_clock::now()),
      last_(start_ + kFirst - kEvery) {
  const char* term = std::getenv("TERM");
  on_ = ::isatty(STDERR_FILENO) && term && std::string_view(term) != "dumb";
}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Add(uint64_t rows) {
  done_ += rows;
  if (!on_) return;
  auto now = std::chrono::steady_clock::now();
  if (now - last_ < kEvery) return;
  last_ = now;
  Draw();
}

void Progress::Draw() {
  drawn_ = true;
  std::string bar;
  if (total_ > 0) {
    double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    int full = static_cast<int>(part * kBarWidth);
    for (int i = 0; i < kBarWidth; ++i) bar += i < full ? "█" : "░";
    bar = fmt::format(" {} {:3.0f} %", bar, part * 100);
  }
  double seconds = std::chrono::duration<double>(last_ - start_).count();
  fmt::print(stderr, "\r\x1b[K{}{}  {} rows, {} rows/s", label_, bar, Thousands(done_),
             Thousands(static_cast<uint64_t>(static_cast<double>(done_) / std::max(seconds, 0.001))));
  std::fflush(stderr);
}

std::shared_ptr<arrow::RecordBatchReader> WithProgress(std::shared_ptr<arrow::RecordBatchReader> input,
                                                       Progress* progress) {
  return std::make_shared<CountingReader>(std::move(input), progress);
}

}  // namespace pilum::cli
