#include "pilum/io/s3/source.h"

#include <charconv>
#include <optional>

namespace pilum::s3 {
namespace {

// "bytes 5-9/100" (or "bytes */100") -> 5, 9, 100.
struct ContentRange {
  uint64_t first = 0, last = 0, total = 0;
  bool any = false;
};

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  ContentRange out;
  if (!text.starts_with("bytes ")) return std::nullopt;
  const char* at = text.data() + 6;
  const char* const end = text.data() + text.size();
  const auto number = [&](uint64_t* value) {
    const auto [next, error] = std::from_chars(at, end, *value);
    at = next;
    return error == std::errc();
  };
  const auto skip = [&](char c) { return at < end && *at == c && ++at; };
  if (!skip('*')) {
    out.any = true;
    if (!number(&out.first) || !skip('-') || !number(&out.last) || out.last < out.first) return std::nullopt;
  }
  if (!skip('/') || !number(&out.total) || at != end || (out.any && out.last >= out.total)) return std::nullopt;
  return out;
}

// The bytes that an answer says it has are there.
bool IsWhole(const Call& call) {
  if (call.status == 206) {
    const auto range = ParseContentRange(call.Header("content-range"));
    return !range || !range->any || call.filled == range->last - range->first + 1;  // nonsense is no better next time
  }
  const std::string said = call.Header("content-length");
  return said.empty() || said == std::to_string(call.filled);
}

class Source : public ByteSource {
 public:
  Source(std::shared_ptr<Client> client, std::string key)
      : client_(std::move(client)), key_(std::move(key)), name_(client_->Name(key_)) {}
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  const ReadCost& cost() const override { return kCost; }

  Status Open(ReadContext& ctx) {
    std::string tail(kCost.tail, '\0');
    Call call;
    call.method = "GET";
    call.key = key_;
    call.what = fmt::format("its last {} bytes", kCost.tail);
    call.headers = {{"range", fmt::format("bytes=-{}", kCost.tail)}};
    call.out = reinterpret_cast<uint8_t*>(tail.data());
    call.out_size = tail.size();
    call.answers = {404, 416};
    call.is_whole = IsWhole;
    PILUM_RETURN_NOT_OK(client_->Run(&call, ctx));
    if (call.status == 404) {
      if (call.code == "NoSuchBucket") {
        return NotFoundError("{}: there is no such bucket at {}", name_, client_->config().endpoint);
      }
      return NotFoundError("{}: there is no such object", name_);
    }
    PILUM_ASSIGN_OR_RETURN(tail, TakeTail(call, std::move(tail)));
    etag_ = call.Header("etag");
    if (etag_.starts_with("W/")) etag_.clear();  // does not tell versions apart
    if (ctx.stats) {
      ctx.stats->opens += 1;
      ctx.stats->requests += 1;
      ctx.stats->bytes += tail.size();
    }
    return HoldTail(tail);
  }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext& ctx) const override {
    Call call;
    call.method = "GET";
    call.key = key_;
    call.what = fmt::format("bytes {} to {}", range.offset, range.end() - 1);
    call.headers = {{"range", fmt::format("bytes={}-{}", range.offset, range.end() - 1)}};
    if (!etag_.empty()) call.headers.emplace_back("if-match", etag_);
    call.out = out;
    call.out_size = range.size;
    call.is_whole = IsWhole;
    PILUM_RETURN_NOT_OK(client_->Run(&call, ctx));
    if (call.filled != range.size) return Unlike(call);
    if (call.status == 200 && range.offset == 0 && range.size == size_) return Status::OK();
    const auto got = ParseContentRange(call.Header("content-range"));
    if (call.status == 206 && got && got->any && got->first == range.offset && got->last == range.end() - 1 &&
        got->total == size_) {
      return Status::OK();
    }
    return Unlike(call);
  }

 private:
  static constexpr ReadCost kCost = ReadCost::Remote();

  // The bytes at the end that the answer to Open's request has; sets size_.
  Result<std::string> TakeTail(const Call& call, std::string tail) {
    tail.resize(call.filled);
    const auto got = ParseContentRange(call.Header("content-range"));
    if (call.status == 200) {  // all of it, whatever was asked for
      size_ = call.filled;
      return tail;
    }
    if (call.status == 416) {  // nothing has no end
      if (got && got->total > 0) return Unlike(call);
      return std::string();
    }
    if (!got || !got->any || got->last + 1 != got->total || call.filled != got->total - got->first) return Unlike(call);
    size_ = got->total;
    return tail;
  }

  Status Unlike(const Call& call) const {
    return Status::IOError(fmt::format(
        "{}: GET {}: the server answered {} with {} bytes, content-range '{}'; {} does not serve ranges as S3 does, or "
        "the "
        "object was replaced meanwhile",
        name_, call.what, call.status, call.filled, call.Header("content-range"), client_->config().endpoint));
  }

  std::shared_ptr<Client> client_;
  std::string key_, name_, etag_;
  uint64_t size_ = 0;
};

}  // namespace

Result<std::shared_ptr<const ByteSource>> OpenSource(std::shared_ptr<Client> client, const std::string& key,
                                                     ReadContext& ctx) {
  auto source = std::make_shared<Source>(std::move(client), key);
  PILUM_RETURN_NOT_OK(source->Open(ctx));
  return source;
}

}  // namespace pilum::s3
