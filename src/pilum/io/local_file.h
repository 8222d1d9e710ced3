// The few operations on local files that source, sink and store share; each error names the path and what failed.
#pragma once

#include <string>

#include "pilum/base/status.h"

namespace pilum {

// "PATH: what: strerror"; ENOENT is kNotFound.
Status ErrnoStatus(const std::string& path, std::string_view what, int error);
Status MakeParentFolders(const std::string& path);  // durable: each new folder's parent is fsynced
Status SyncFile(int fd, const std::string& path);
Status SyncFolderOf(const std::string& path);
// Marks a file or folder as in use by this open description until it is closed or its process ends; false: somebody else
// did, or the file system cannot.
bool HoldFile(int fd);
bool IsHeld(const std::string& path);
// A name beside `path` that no other process uses: ".NAME.tmp-PID-N".
std::string TemporaryName(const std::string& path);
bool IsTemporaryName(std::string_view file_name);

}  // namespace pilum
