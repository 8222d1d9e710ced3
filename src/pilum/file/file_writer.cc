#include "pilum/file/file_writer.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "lance_file.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/encoding/shape.h"
#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/encoding/v2_0/write_columns.h"
#include "pilum/file/checksums.h"
#include "pilum/file/schema_wire.h"

namespace pilum {
namespace {

constexpr char kPageType[] = "/lance.encodings21.PageLayout";
constexpr char kPageType20[] = "/lance.encodings.ArrayEncoding";
constexpr char kColumnType[] = "/lance.encodings.ColumnEncoding";

const arrow::DataType& StorageOf(const arrow::DataType& type) {
  const arrow::DataType* t = &type;
  while (t->id() == arrow::Type::EXTENSION) t = static_cast<const arrow::ExtensionType*>(t)->storage_type().get();
  return *t;
}

// Can arrays of `got` be written into a column of `want`? Views pass for strings; extension types for their storage.
bool TypesMatch(const arrow::DataType& want_type, const arrow::DataType& got_type) {
  const arrow::DataType &want = StorageOf(want_type), &got = StorageOf(got_type);
  auto plain = [](arrow::Type::type id) {
    if (id == arrow::Type::STRING_VIEW) return arrow::Type::STRING;
    return id == arrow::Type::BINARY_VIEW ? arrow::Type::BINARY : id;
  };
  if (plain(want.id()) != plain(got.id())) return false;
  switch (want.id()) {
    case arrow::Type::STRUCT:
      if (want.num_fields() != got.num_fields()) return false;
      for (int i = 0; i < want.num_fields(); ++i) {
        if (want.field(i)->name() != got.field(i)->name() || !TypesMatch(*want.field(i)->type(), *got.field(i)->type()))
          return false;
      }
      return true;
    case arrow::Type::FIXED_SIZE_LIST:
      if (static_cast<const arrow::FixedSizeListType&>(want).list_size() !=
          static_cast<const arrow::FixedSizeListType&>(got).list_size()) {
        return false;
      }
      [[fallthrough]];
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST: return TypesMatch(*want.field(0)->type(), *got.field(0)->type());
    case arrow::Type::MAP: {  // the names of entries, key and value are free
      const auto &w = static_cast<const arrow::MapType&>(want), &g = static_cast<const arrow::MapType&>(got);
      return TypesMatch(*w.key_type(), *g.key_type()) && TypesMatch(*w.item_type(), *g.item_type());
    }
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW: return true;
    default: return want.Equals(got);
  }
}

// As the footer says it: 2.0 is 0.3 there.
std::pair<uint16_t, uint16_t> FooterVersion(FileVersion version) {
  if (version == FileVersion::kV2_0) return {uint16_t{0}, uint16_t{3}};
  return {uint16_t{2}, version == FileVersion::kV2_1 ? uint16_t{1} : uint16_t{2}};
}

std::string Serialize(const google::protobuf::MessageLite& message) {
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return out;
}

void SetEncoding(wire::Encoding* encoding, const char* type, std::string value) {
  wire::AnyBytes any;
  any.set_type_url(type);
  any.set_value(std::move(value));
  encoding->mutable_direct()->set_encoding(Serialize(any));
}

class FileWriterImpl : public FileWriter, public BlobSink {
 public:
  FileWriterImpl(std::unique_ptr<ByteSink> sink, std::shared_ptr<arrow::Schema> schema, const WriteOptions& options)
      : sink_(std::move(sink)), schema_(std::move(schema)), options_(options) {}

  Status Init() {
    PILUM_ASSIGN_OR_RETURN(auto stored, StoredSchema(*schema_));
    PILUM_RETURN_NOT_OK(SerializeFileDescriptor(*schema_, 0, options_.ids.get())
                            .status());  // refuses now what it would refuse at the end
    PILUM_ASSIGN_OR_RETURN(columns_, LeafColumnsOf(*stored));
    PageWriterOptions page_options{options_.version, std::max<uint64_t>(options_.page_bytes, 1), options_.profile};
    wire::ColumnEncoding values, blob;
    values.mutable_values();
    blob.mutable_blob()->mutable_inner()->mutable_values();
    if (options_.version == FileVersion::kV2_0) {
      PILUM_ASSIGN_OR_RETURN(auto columns, v2_0::MakeColumnWriters(columns_, page_options));
      for (auto& c : columns) AddColumn(c.top_level, std::move(c.writer), c.is_blob ? blob : values);
      return Status::OK();
    }
    for (const LeafColumn& c : columns_) {
      if (c.is_blob_v2 && !options_.ids)
        return Unsupported("field '{}': blob structs are written by datasets only", c.name);
      PILUM_ASSIGN_OR_RETURN(auto w, ColumnWriter::Make(&c, *stored->field(c.top_level), page_options));
      AddColumn(c.top_level, std::move(w), values);
    }
    return Status::OK();
  }

  Status Write(const arrow::RecordBatch& batch) override {
    if (!failed_.ok()) return failed_;
    if (finished_) return UsageError("{}: written to after Finish", sink_->name());
    PILUM_ASSIGN_OR_RETURN(auto arrays, MatchColumns(batch));
    failed_ = Named(WriteBatch(batch, arrays));  // an error is kept: columns may be out of step now
    return failed_;
  }

  Result<uint32_t> AddGlobalBuffer(std::string_view bytes) override {
    PILUM_RETURN_NOT_OK(failed_);
    PILUM_ASSIGN_OR_RETURN(ByteRange at, Put(bytes.data(), bytes.size()));
    globals_.push_back(at);
    return static_cast<uint32_t>(globals_.size());
  }

  void AddSchemaMetadata(const std::string& key, const std::string& value) override {
    extra_metadata_.emplace_back(key, value);
  }
  uint64_t rows_written() const override { return rows_; }
  uint64_t bytes_written() const override { return sink_->position(); }
  uint64_t buffered_bytes() const override {
    uint64_t n = 0;
    for (const auto& w : writers_) n += w ? w->buffered_bytes() : 0;
    return n;
  }

  Result<uint64_t> Finish() override {
    PILUM_RETURN_NOT_OK(failed_);
    if (finished_) return UsageError("{}: finished twice", sink_->name());
    finished_ = true;
    for (size_t i = 0; i < writers_.size(); ++i) {
      std::vector<EncodedPage> pages;
      PILUM_RETURN_NOT_OK(Named(writers_[i]->Finish(&pages)));
      for (EncodedPage& p : pages) PILUM_RETURN_NOT_OK(WritePage(i, &p));
      writers_[i].reset();  // the next column's pages are made in its memory
    }
    PILUM_RETURN_NOT_OK(WriteTail());
    PILUM_RETURN_NOT_OK(sink_->Close());
    return rows_;
  }

  Result<uint64_t> WritePayload(std::string_view bytes) override {
    PILUM_RETURN_NOT_OK(failed_);
    PILUM_ASSIGN_OR_RETURN(ByteRange at, Put(bytes.data(), bytes.size()));
    return at.offset;
  }

 private:
  Status Named(const Status& status) const {
    const bool named = status.ok() || status.message().find(sink_->name()) != std::string::npos;
    return named ? status : WithContext(sink_->name(), status);
  }

  void AddColumn(int top_level, std::unique_ptr<ColumnWriter> writer, const wire::ColumnEncoding& encoding) {
    writers_.push_back(std::move(writer));
    top_level_.push_back(top_level);
    metadata_.emplace_back();
    SetEncoding(metadata_.back().mutable_encoding(), kColumnType, Serialize(encoding));
  }

  Status WriteBatch(const arrow::RecordBatch& batch, const std::vector<std::shared_ptr<arrow::Array>>& arrays) {
    int64_t bytes = arrow::util::ReferencedBufferSize(batch).ValueOr(arrow::util::TotalBufferSize(batch));
    int64_t per_row = std::max<int64_t>(1, bytes / std::max<int64_t>(1, batch.num_rows()));
    int64_t step = std::clamp<int64_t>(static_cast<int64_t>(options_.page_bytes) * 4 / per_row, 64, 1 << 20);
    const bool by_rows = options_.page_rows > 0 && options_.version != FileVersion::kV2_0;
    for (int64_t at = 0; at < batch.num_rows();) {
      int64_t n = std::min(step, batch.num_rows() - at);
      const uint64_t left = by_rows ? options_.page_rows - rows_ % options_.page_rows : ~uint64_t{0};
      n = static_cast<int64_t>(std::min<uint64_t>(left, static_cast<uint64_t>(n)));
      PILUM_RETURN_NOT_OK(WriteRows(arrays, at, n, batch.num_rows()));
      at += n;
      rows_ += static_cast<uint64_t>(n);
      if (static_cast<uint64_t>(n) == left) PILUM_RETURN_NOT_OK(EndPages());
    }
    return Status::OK();
  }

  // Whatever is open becomes a page; writers of versions above 2.0 go on with a new one.
  Status EndPages() {
    for (size_t i = 0; i < writers_.size(); ++i) {
      std::vector<EncodedPage> pages;
      PILUM_RETURN_NOT_OK(writers_[i]->Finish(&pages));
      for (EncodedPage& p : pages) PILUM_RETURN_NOT_OK(WritePage(i, &p));
    }
    return Status::OK();
  }

  // Pages that became complete are written in the order (row that completed it, column), whatever the batches were.
  Status WriteRows(const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t at, int64_t step, int64_t rows) {
    struct Ready {
      size_t column;
      EncodedPage page;
    };
    std::vector<Ready> ready;
    for (size_t i = 0; i < writers_.size(); ++i) {
      std::vector<EncodedPage> pages;
      auto array = arrays[static_cast<size_t>(top_level_[i])];
      if (rows > step) array = array->Slice(at, step);
      PILUM_RETURN_NOT_OK(writers_[i]->Append(array, &pages));
      for (EncodedPage& p : pages) ready.push_back({i, std::move(p)});
    }
    std::stable_sort(ready.begin(), ready.end(),
                     [](const Ready& a, const Ready& b) { return a.page.ready_row < b.page.ready_row; });
    for (Ready& r : ready) PILUM_RETURN_NOT_OK(WritePage(r.column, &r.page));
    return Status::OK();
  }

  Result<std::vector<std::shared_ptr<arrow::Array>>> MatchColumns(const arrow::RecordBatch& batch) const {
    const auto& got = *batch.schema();
    bool by_position = got.field_names() == schema_->field_names();
    std::vector<std::shared_ptr<arrow::Array>> out;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const auto& field = *schema_->field(i);
      auto at = got.GetAllFieldIndices(field.name());
      if (!by_position && at.size() != 1) {
        return UsageError("{}: the batch has {} columns named '{}', one is needed", sink_->name(), at.size(),
                          field.name());
      }
      auto array = batch.column(by_position ? i : at[0]);
      if (!TypesMatch(*field.type(), *array->type())) {
        return UsageError("{}: column '{}' is {} in the batch, {} in the file", sink_->name(), field.name(),
                          array->type()->ToString(), field.type()->ToString());
      }
      out.push_back(std::move(array));
    }
    if (!by_position && got.num_fields() != schema_->num_fields()) {
      return UsageError("{}: the batch has {} columns, the file {}", sink_->name(), got.num_fields(),
                        schema_->num_fields());
    }
    return out;
  }

  // The bytes, then 'H' up to the next multiple of 64. Nothing to write: the place where the writer stands.
  Result<ByteRange> Put(const void* data, uint64_t size) {
    ByteRange at{sink_->position(), size};
    if (size == 0) return at;
    PILUM_RETURN_NOT_OK(sink_->Write(data, size));
    Checksum(data, size);
    static const std::string kPad(64, 'H');
    if (uint64_t over = sink_->position() % 64; over != 0) {
      PILUM_RETURN_NOT_OK(sink_->Write(kPad.data(), 64 - over));
      Checksum(kPad.data(), 64 - over);
    }
    return at;
  }
  void Checksum(const void* data, uint64_t size) {
    if (options_.checksums) checksums_.Update(data, size);
  }

  Status WritePage(size_t column, EncodedPage* page) {
    if (page->seal) PILUM_RETURN_NOT_OK(page->seal(this, page));
    auto* out = metadata_[column].add_pages();
    for (const BufferPtr& b : page->buffers) {
      PILUM_ASSIGN_OR_RETURN(ByteRange at, Put(b->data(), static_cast<uint64_t>(b->size())));
      out->add_buffer_offsets(at.offset);
      out->add_buffer_sizes(at.size);
    }
    out->set_length(page->length);
    out->set_priority(page->first_row);
    if (page->array)
      SetEncoding(out->mutable_encoding(), kPageType20, v2_0::SerializeArrayEncoding(*page->array));
    else
      SetEncoding(out->mutable_encoding(), kPageType, SerializePageLayout(page->layout));
    return Status::OK();
  }

  Status WriteTail() {
    auto schema = schema_;
    if (!extra_metadata_.empty()) {
      auto metadata = schema->metadata() ? schema->metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
      for (const auto& [k, v] : extra_metadata_) PILUM_RETURN_NOT_OK(metadata->Set(k, v));
      schema = schema->WithMetadata(metadata);
    }
    PILUM_ASSIGN_OR_RETURN(std::string descriptor, SerializeFileDescriptor(*schema, rows_, options_.ids.get()));
    uint64_t schema_at = sink_->position();  // a multiple of 64
    if (options_.checksums) {
      globals_.push_back({schema_at, checksums_.BufferSize()});
      schema_at += globals_.back().size;
    }
    std::string tail = descriptor;
    auto here = [&] { return schema_at + tail.size(); };
    const uint64_t metadata_at = here();
    std::string column_table;
    for (const auto& m : metadata_) {
      std::string bytes = Serialize(m);
      AppendLE<uint64_t>(&column_table, here());
      AppendLE<uint64_t>(&column_table, bytes.size());
      tail += bytes;
    }
    const uint64_t column_table_at = here();
    tail += column_table;
    const uint64_t global_table_at = here();
    AppendLE<uint64_t>(&tail, schema_at);
    AppendLE<uint64_t>(&tail, descriptor.size());
    for (const ByteRange& g : globals_) {
      AppendLE<uint64_t>(&tail, g.offset);
      AppendLE<uint64_t>(&tail, g.size);
    }
    AppendLE<uint64_t>(&tail, metadata_at);
    AppendLE<uint64_t>(&tail, column_table_at);
    AppendLE<uint64_t>(&tail, global_table_at);
    AppendLE<uint32_t>(&tail, static_cast<uint32_t>(globals_.size() + 1));
    AppendLE<uint32_t>(&tail, static_cast<uint32_t>(metadata_.size()));
    const auto [major, minor] = FooterVersion(options_.version);
    AppendLE<uint16_t>(&tail, major);
    AppendLE<uint16_t>(&tail, minor);
    tail += "LANC";
    if (options_.checksums) {
      const std::string checksums = checksums_.Finish(tail);
      PILUM_RETURN_NOT_OK(sink_->Write(checksums.data(), checksums.size()));
    }
    return sink_->Write(tail.data(), tail.size());
  }

  std::unique_ptr<ByteSink> sink_;
  std::shared_ptr<arrow::Schema> schema_;
  const WriteOptions options_;
  std::vector<LeafColumn> columns_;
  std::vector<std::unique_ptr<ColumnWriter>> writers_;
  std::vector<int> top_level_;  // of each writer: the field whose arrays it takes
  std::vector<wire::ColumnMetadata> metadata_;
  std::vector<ByteRange> globals_;  // from index 1 on; last the checksums
  ChecksumBuilder checksums_;
  std::vector<std::pair<std::string, std::string>> extra_metadata_;
  uint64_t rows_ = 0;
  bool finished_ = false;
  Status failed_;
};

}  // namespace

Result<std::unique_ptr<FileWriter>> FileWriter::Make(std::unique_ptr<ByteSink> sink,
                                                     std::shared_ptr<arrow::Schema> schema,
                                                     const WriteOptions& options) {
  if (options.version > FileVersion::kV2_2) {
    return Unsupported("{}: file version {} is not written, 2.0 to 2.2 are", sink->name(),
                       VersionName(options.version));
  }
  std::string name = sink->name();
  auto writer = std::make_unique<FileWriterImpl>(std::move(sink), std::move(schema), options);
  Status st = writer->Init();
  if (!st.ok()) return WithContext(name, st);
  return writer;
}

}  // namespace pilum
