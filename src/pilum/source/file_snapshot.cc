#include <arrow/type.h>

#include "pilum/source/snapshot.h"

namespace pilum {
namespace {

class FileUnit final : public Unit {
 public:
  explicit FileUnit(std::shared_ptr<const FileReader> reader) : reader_(std::move(reader)) {}
  const std::string& name() const override { return reader_->name(); }
  uint64_t num_rows() const override { return reader_->num_rows(); }
  Result<bool> MayMatch(const Probe&, ReadContext&) const override { return true; }
  Result<Candidates> Narrow(const Probe&, ReadContext&) const override { return Candidates::Unknown(num_rows()); }
  std::string index_note() const override { return {}; }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override {
    return reader_->Read(columns, rows, limits, ctx);
  }

 private:
  std::shared_ptr<const FileReader> reader_;
};

class FileSnapshot final : public Snapshot {
 public:
  explicit FileSnapshot(std::shared_ptr<const FileReader> reader)
      : reader_(reader), units_{std::make_shared<FileUnit>(std::move(reader))} {}
  const std::string& name() const override { return reader_->name(); }
  const std::shared_ptr<arrow::Schema>& schema() const override { return reader_->schema(); }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  // One unit cannot disagree with itself; a name it has twice cannot be read by name.
  Status CheckColumn(const std::string& name) const override {
    if (schema()->GetAllFieldIndices(name).size() > 1) {
      return QueryError("{} has more than one column named '{}'", reader_->name(), name);
    }
    return Status::OK();
  }

 private:
  std::shared_ptr<const FileReader> reader_;
  std::vector<std::shared_ptr<const Unit>> units_;
};

}  // namespace

Result<std::shared_ptr<const Snapshot>> OpenFileSnapshot(std::shared_ptr<const ByteSource> source, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(std::move(source), ctx));
  return std::make_shared<FileSnapshot>(std::move(reader));
}

}  // namespace pilum
