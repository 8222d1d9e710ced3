// The few operations on local files that source, sink and store share; each error names the path and what failed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pilum/base/status.h"
#include "pilum/io/object_store.h"

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
// Gives the file at `path` these bytes where it lies: no new inode, nothing synced, and a reader meanwhile may see some of
// both. False: it is not there, is no plain file of this name alone, or was not written whole.
bool RefreshFile(const std::string& path, std::string_view bytes);
// Makes and holds a file TemporaryName(path), and the folders that it is to lie in.
Result<int> CreateTemporary(const std::string& path, std::string* temporary);
// A sink of `path` as CreateLocalFile's, which makes folders too.
Result<std::unique_ptr<ByteSink>> CreateStoredFile(const std::string& path, bool sync);

}  // namespace pilum
