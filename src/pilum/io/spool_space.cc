#include "pilum/io/spool_space.h"

#include <filesystem>

namespace pilum {

Status CheckSpoolSpace(const std::string& folder, uint64_t bytes) {
  std::error_code ec;
  const auto space = std::filesystem::space(folder, ec);
  if (ec || space.available >= bytes) return Status::OK();
  constexpr double kMegabyte = 1e6;
  return Status::IOError(
      fmt::format("{}: spooling takes {:.1f} MB more and {:.1f} MB are free there; make room, or set PILUM_TMPDIR to a "
                  "folder with more",
                  folder, static_cast<double>(bytes) / kMegabyte, static_cast<double>(space.available) / kMegabyte));
}

}  // namespace pilum
