#include "pilum/python/run.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace pilum::python {

bool OnMainThread() { return syscall(SYS_gettid) == getpid(); }

}  // namespace pilum::python
