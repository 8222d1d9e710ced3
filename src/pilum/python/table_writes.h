// What all bindings that change tables share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "pilum/change/change.h"
#include "pilum/change/write_table.h"
#include "pilum/python/bindings.h"
#include "pilum/python/run.h"

namespace pilum::python {

using Texts = std::map<std::string, std::string>;

template <typename F>
auto RunChange(F&& work) {
  std::stop_source stop;
  ReadContext ctx;
  ctx.stop = stop.get_token();
  ctx.threads = DefaultThreads();
  return Unwrap(Interruptibly(stop, [&] { return work(ctx); }));
}

inline WritableTable Writable(nanobind::handle table) { return Unwrap(OpenToWrite(TableOf(table))); }

// Missing and None: `otherwise`.
template <typename T>
T Option(const nanobind::dict& options, const char* name, T otherwise) {
  if (!options.contains(name)) return otherwise;
  const nanobind::object value = options[name];
  return value.is_none() ? otherwise : nanobind::cast<T>(value);
}

// The same into what holds the default.
template <typename T>
void TakeOption(const nanobind::dict& options, const char* name, T* out) {
  *out = Option(options, name, std::move(*out));
}
template <typename T>
void TakeOption(const nanobind::dict& options, const char* name, std::optional<T>* out) {
  if (!options.contains(name) || nanobind::object(options[name]).is_none()) return;
  *out = nanobind::cast<T>(options[name]);
}

ChangeOptions ReadChangeOptions(const nanobind::dict& options);
BlobOptions ReadBlobOptions(const nanobind::dict& options);
BaseChoice ReadTargets(const nanobind::dict& options);
WriteTableOptions ReadWriteOptions(const nanobind::dict& options);

}  // namespace pilum::python
