#include "pilum/io/s3/upload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>

#include "pilum/io/local_file.h"
#include "pilum/io/s3/xml.h"

namespace pilum::s3 {
namespace {

constexpr uint64_t kBatchParts = 8;  // in flight, and so in memory
constexpr int kMaxParts = 10'000;
constexpr char kMarkHeader[] = "x-amz-meta-pilum-put";

// 10,000 parts hold 5 TB, the largest object there is; 16 GB are in equal parts, which some servers insist on.
uint64_t PartBytes(const Client& client, int part) {
  const uint64_t least = client.config().part_bytes;
  return part <= 2000 ? least : part <= 4000 ? 8 * least : 128 * least;
}
// Of the parts that are sent together from `part` on: fewer where they are larger.
uint64_t BatchBytes(const Client& client, int part) {
  return std::max(PartBytes(client, part), kBatchParts * client.config().part_bytes);
}

std::vector<std::string_view> CutParts(std::string_view bytes, uint64_t part_bytes) {
  std::vector<std::string_view> out;
  for (uint64_t at = 0; at < bytes.size(); at += part_bytes) out.push_back(bytes.substr(at, part_bytes));
  return out;
}

std::string NewMark() {
  std::random_device random;
  std::string mark;
  for (int i = 0; i < 4; ++i) mark += fmt::format("{:08x}", random());
  return mark;
}

// Whether the object that is there carries `mark`; none: there is no object.
Result<std::optional<bool>> IsMarked(Client& client, const std::string& key, const std::string& mark,
                                     ReadContext& ctx) {
  Call head;
  head.method = "HEAD";
  head.key = key;
  head.answers = {404};
  PILUM_RETURN_NOT_OK(client.Run(&head, ctx));
  if (head.status == 404) return std::nullopt;
  return head.Header(kMarkHeader) == mark;
}

// The outcome of a conditional request with `mark`: 2xx is a win; 412 is a loss unless the mark says that an earlier attempt
// won; no answer is a win where the mark is there. None: another try is needed, since what was there is gone, or others put
// it at the same time (409).
Result<std::optional<bool>> Outcome(Client& client, const Call& call, const Status& status, const std::string& mark,
                                    ReadContext& ctx) {
  if (status.ok() && call.ok()) return true;
  const bool answered = call.status == 412 || call.status == 409;
  if (!answered && !call.repeated_blindly) return status;
  auto marked = IsMarked(client, call.key, mark, ctx);
  if (!marked.ok()) return status.ok() ? marked.status() : status;
  if (!marked->has_value() && !answered) return status;
  return *marked;
}

// A multipart upload from its first part on.
class Upload {
 public:
  Upload(std::shared_ptr<Client> client, std::string key) : client_(std::move(client)), key_(std::move(key)) {}
  ~Upload() { Abort(); }
  bool started() const { return !id_.empty(); }
  int parts() const { return static_cast<int>(etags_.size()); }

  Status Start(const std::string& mark, ReadContext& ctx) {
    Call call;
    call.method = "POST";
    call.key = key_;
    call.what = "a new upload in parts";
    call.query = {{"uploads", ""}};
    if (!mark.empty()) call.headers = {{kMarkHeader, mark}};
    PILUM_RETURN_NOT_OK(client_->Run(&call, ctx));
    PILUM_ASSIGN_OR_RETURN(XmlElement xml, ParseXml(call.answer, client_->Name(key_)));
    id_ = xml.TextOf("UploadId");
    if (id_.empty()) return Status::IOError(client_->Name(key_), ": the server began an upload without an UploadId");
    return Status::OK();
  }

  // The next parts, all at once.
  Status Send(std::span<const std::string_view> bodies, ReadContext& ctx) {
    if (etags_.size() + bodies.size() > kMaxParts) {
      return UsageError("{}: more than an object in a bucket can hold; write several", client_->Name(key_));
    }
    std::vector<Call> calls(bodies.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      const std::string number = std::to_string(etags_.size() + i + 1);
      calls[i].method = "PUT";
      calls[i].key = key_;
      calls[i].what = "part " + number;
      calls[i].query = {{"partNumber", number}, {"uploadId", id_}};
      calls[i].body = bodies[i];
    }
    PILUM_RETURN_NOT_OK(client_->Run(calls, 8, ctx));
    for (const Call& call : calls) {
      etags_.push_back(call.Header("etag"));
      if (etags_.back().empty())
        return Status::IOError(client_->Name(key_), ": the server took a part without an ETag");
    }
    return Status::OK();
  }

  // The request that makes the object visible. `call` tells the outcome; of a finished or vanished upload nothing is left to
  // abort.
  Status Complete(bool if_absent, Call* call, ReadContext& ctx) {
    std::string body = "<CompleteMultipartUpload>";
    for (size_t i = 0; i < etags_.size(); ++i) {
      body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, Escaped(etags_[i]));
    }
    body += "</CompleteMultipartUpload>";
    call->method = "POST";
    call->key = key_;
    call->what = "the end of the upload";
    call->query = {{"uploadId", id_}};
    call->body = body;
    if (if_absent) {
      call->headers = {{"if-none-match", "*"}};
      call->answers = {412};
    }
    Status status = client_->Run(call, ctx);
    call->body = {};
    if (status.ok() && call->ok()) id_.clear();
    return status;
  }

  void Abort() {
    if (id_.empty()) return;
    Call call;
    call.method = "DELETE";
    call.key = key_;
    call.query = {{"uploadId", std::exchange(id_, "")}};
    call.answers = {404};
    ReadContext ctx;  // what cannot be taken back now is left to the sweep, or to the bucket's own rules
    ctx.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    (void)client_->Run(&call, ctx);
  }

 private:
  static std::string Escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '&')
        out += "&amp;";
      else if (c == '<')
        out += "&lt;";
      else if (c == '"')
        out += "&quot;";
      else
        out += c;
    }
    return out;
  }

  std::shared_ptr<Client> client_;
  std::string key_, id_;
  std::vector<std::string> etags_;
};

class Sink : public ByteSink {
 public:
  Sink(std::shared_ptr<Client> client, std::string key)
      : client_(client), key_(key), name_(client->Name(key)), upload_(std::move(client), std::move(key)) {}
  uint64_t position() const override { return position_; }
  const std::string& name() const override { return name_; }

  Status Write(const void* data, uint64_t size) override {
    const char* at = static_cast<const char*>(data);
    position_ += size;
    while (size > 0) {
      const uint64_t n = std::min(size, Batch() - buffer_.size());
      buffer_.append(at, n);
      at += n;
      size -= n;
      if (buffer_.size() == Batch()) PILUM_RETURN_NOT_OK(SendBuffer());
    }
    return Status::OK();
  }

  Status Close() override {
    ReadContext ctx;
    if (!upload_.started() && buffer_.size() <= client_->config().part_bytes) {
      Call call;
      call.method = "PUT";
      call.key = key_;
      call.body = buffer_;
      PILUM_RETURN_NOT_OK(client_->Run(&call, ctx));
      buffer_ = {};
      return Status::OK();
    }
    if (!buffer_.empty()) PILUM_RETURN_NOT_OK(SendBuffer());
    Call call;
    Status status = upload_.Complete(false, &call, ctx);
    // An attempt without an answer may have ended the upload, which is then unknown to the next one.
    if (!status.ok() && call.repeated_blindly) return CheckReadBack(status, ctx);
    return status;
  }

 private:
  uint64_t Batch() const { return BatchBytes(*client_, upload_.parts() + 1); }

  Status SendBuffer() {
    ReadContext ctx;
    if (!upload_.started()) PILUM_RETURN_NOT_OK(upload_.Start(mark_, ctx));
    PILUM_RETURN_NOT_OK(upload_.Send(CutParts(buffer_, PartBytes(*client_, upload_.parts() + 1)), ctx));
    buffer_.clear();
    return Status::OK();
  }

  Status CheckReadBack(const Status& status, ReadContext& ctx) {
    PILUM_ASSIGN_OR_RETURN(auto marked, IsMarked(*client_, key_, mark_, ctx));
    return marked.value_or(false) ? Status::OK() : status;
  }

  std::shared_ptr<Client> client_;
  const std::string key_, name_, mark_ = NewMark();
  Upload upload_;
  std::string buffer_;
  uint64_t position_ = 0;
};

// A local file, read in pieces.
class FileReader {
 public:
  ~FileReader() {
    if (fd_ >= 0) ::close(fd_);
  }
  Status Open(const std::string& path) {
    path_ = path;
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd_ < 0 || ::fstat(fd_, &st) != 0) return ErrnoStatus(path, "cannot be opened", errno);
    size_ = static_cast<uint64_t>(st.st_size);
    return Status::OK();
  }
  uint64_t size() const { return size_; }
  Status Read(uint64_t offset, uint64_t size, std::string* out) const {
    out->resize(size);
    for (uint64_t done = 0; done < size;) {
      const ssize_t n = ::pread(fd_, out->data() + done, size - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(path_, "cannot be read", errno);
      if (n == 0) return Corrupt(path_, fmt::format("offset {}", offset + done), "the file shrank while it was read");
      done += static_cast<uint64_t>(n);
    }
    return Status::OK();
  }

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

Status SendFile(const Client& client, const FileReader& file, Upload* upload, ReadContext& ctx) {
  std::string buffer;
  for (uint64_t at = 0; at < file.size(); at += buffer.size()) {
    const int next = upload->parts() + 1;
    PILUM_RETURN_NOT_OK(file.Read(at, std::min(BatchBytes(client, next), file.size() - at), &buffer));
    PILUM_RETURN_NOT_OK(upload->Send(CutParts(buffer, PartBytes(client, next)), ctx));
  }
  return Status::OK();
}

// One try of each way; none as in Outcome.
Result<std::optional<bool>> TryParts(const std::shared_ptr<Client>& client, const std::string& key,
                                     const FileReader& file, ReadContext& ctx) {
  const std::string mark = NewMark();
  Upload upload(client, key);
  PILUM_RETURN_NOT_OK(upload.Start(mark, ctx));
  PILUM_RETURN_NOT_OK(SendFile(*client, file, &upload, ctx));
  Call call;
  const Status status = upload.Complete(/*if_absent=*/true, &call, ctx);
  return Outcome(*client, call, status, mark, ctx);
}

Result<std::optional<bool>> TryPut(const std::shared_ptr<Client>& client, const std::string& key,
                                   std::string_view bytes, ReadContext& ctx) {
  const std::string mark = NewMark();
  Call call;
  call.method = "PUT";
  call.key = key;
  call.what = "if nothing is there";
  call.headers = {{"if-none-match", "*"}, {kMarkHeader, mark}};
  call.body = bytes;
  call.answers = {412};
  const Status status = client->Run(&call, ctx);
  PILUM_ASSIGN_OR_RETURN(auto won, Outcome(*client, call, status, mark, ctx));
  if (won.value_or(false)) PILUM_RETURN_NOT_OK(client->CheckConditions(call, ctx));
  return won;
}

template <typename F>
Result<bool> UntilDecided(const Client& client, const std::string& key, F&& one_try) {
  for (int i = 0; i < client.config().attempts; ++i) {
    PILUM_ASSIGN_OR_RETURN(auto won, one_try());
    if (won) return *won;
  }
  return Status::IOError(client.Name(key),
                         ": others put and remove it at the same time again and again; try again later");
}

}  // namespace

std::unique_ptr<ByteSink> MakeSink(std::shared_ptr<Client> client, std::string key) {
  return std::make_unique<Sink>(std::move(client), std::move(key));
}

Result<bool> PutIfAbsent(const std::shared_ptr<Client>& client, const std::string& key, std::string_view bytes,
                         ReadContext& ctx) {
  return UntilDecided(*client, key, [&] { return TryPut(client, key, bytes, ctx); });
}

Result<bool> PutFileIfAbsent(const std::shared_ptr<Client>& client, const std::string& key,
                             const std::string& local_file, ReadContext& ctx) {
  FileReader file;
  PILUM_RETURN_NOT_OK(file.Open(local_file));
  if (file.size() <= client->config().part_bytes) {
    std::string bytes;
    PILUM_RETURN_NOT_OK(file.Read(0, file.size(), &bytes));
    return PutIfAbsent(client, key, bytes, ctx);
  }
  PILUM_ASSIGN_OR_RETURN(auto there, IsMarked(*client, key, "", ctx));
  if (there) return false;  // before anything is sent
  return UntilDecided(*client, key, [&] { return TryParts(client, key, file, ctx); });
}

}  // namespace pilum::s3
