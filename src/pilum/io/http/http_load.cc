#include "pilum/io/http/http_load.h"

#include <dlfcn.h>

namespace pilum {
namespace {

Result<const HttpPlugin*> Load() {
  // RTLD_LOCAL: libcurl and OpenSSL see their own symbols, whatever else in the process exports the same names (libparquet
  // carries another OpenSSL). By name alone: the loader looks where the calling binary's run path says.
  void* library = ::dlopen(kHttpPluginFile, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    return Unsupported("remote stores need {}, which did not load ({}); install Pilum whole, and libcurl (libcurl4)",
                       kHttpPluginFile, why ? why : "no reason given");
  }
  const auto* plugin = static_cast<const HttpPlugin*>(::dlsym(library, kHttpPluginSymbol));
  if (!plugin || std::string_view(plugin->version) != PILUM_VERSION) {
    return Unsupported("{} is not of Pilum {}; install Pilum whole", kHttpPluginFile, PILUM_VERSION);
  }
  return plugin;  // never unloaded: connections live until the process ends
}

}  // namespace

Result<const HttpPlugin*> LoadHttp() {
  static const Result<const HttpPlugin*> loaded = Load();
  return loaded;
}

}  // namespace pilum
