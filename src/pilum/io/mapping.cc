// The guard: one SIGBUS handler for the process, which looks the faulting address up among our mappings. Inside one it
// puts a page of zeros there and marks the mapping; the read goes on and its caller finds the mark. Outside, whatever
// handled SIGBUS before does so still.
#include "pilum/io/mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "pilum/io/byte_source.h"

namespace pilum {

// One node a mapping, in a list that only grows; nodes are used again. The handler walks it without a lock.
struct FileMapping::Guard {
  std::atomic<uintptr_t> begin{0}, end{0};  // 0: free
  std::atomic<bool> broken{false};
  Guard* next = nullptr;  // set before the node is published
};

struct MappingGuards {
  using Guard = FileMapping::Guard;

  static inline std::atomic<Guard*> head{nullptr};
  static inline std::mutex mutex;  // registering, and installing the handler
  static inline struct sigaction previous = {};
  static inline std::atomic<int> passed_on{0};
  static inline uintptr_t page = 0;

  static Guard* Register(uintptr_t begin, uintptr_t end) {
    std::lock_guard lock(mutex);
    if (page == 0) page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (!Install()) return nullptr;
    Guard* g = head.load();
    while (g && g->begin.load() != 0) g = g->next;
    const bool fresh = g == nullptr;
    if (fresh) g = new Guard;
    g->broken = false;
    g->end = end;
    g->begin = begin;
    if (fresh) {
      g->next = head.load();
      head = g;
    }
    return g;
  }

  static void Release(Guard* g) {
    std::lock_guard lock(mutex);
    g->begin = 0;
    g->end = 0;
  }

  // Somebody may have put another handler over ours since (faulthandler does): ours then goes over that one.
  static bool Install() {
    struct sigaction now;
    if (::sigaction(SIGBUS, nullptr, &now) != 0) return false;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &Handle) return true;
    struct sigaction ours = {};
    ours.sa_sigaction = &Handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    previous = now;
    return ::sigaction(SIGBUS, &ours, nullptr) == 0;
  }

  static void Handle(int signal, siginfo_t* info, void* context) {
    const int saved = errno;
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (info->si_code > 0) {  // a fault, not somebody's kill()
      for (Guard* g = head.load(); g; g = g->next) {
        const uintptr_t begin = g->begin.load(), end = g->end.load();
        if (begin == 0 || address < begin || address >= end) continue;
        void* at = reinterpret_cast<void*>(address & ~(page - 1));
        if (::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
        g->broken = true;
        errno = saved;
        return;
      }
    }
    PassOn(signal, info, context);
    errno = saved;
  }

  static void PassOn(int signal, siginfo_t* info, void* context) {
    constexpr int kMostPassed = 64;  // two handlers that hand the signal to each other end here
    const bool callable = previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN;
    if (callable && passed_on++ < kMostPassed) {
      if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(signal, info, context);
      else
        previous.sa_handler(signal);
      return;
    }
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(SIGBUS, &plain, nullptr);
    if (info->si_code <= 0) ::raise(signal);  // a fault comes again by itself
  }
};

bool FileMapping::broken() const { return guard_->broken.load(std::memory_order_relaxed); }

std::unique_ptr<const FileMapping> FileMapping::Make(int fd, uint64_t size) {
  if (size == 0 || size > (uint64_t{1} << 46)) return nullptr;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t file_pages = (size + page - 1) / page * page;
  // Zeros for the file and a page of slack; then the file over its part, so that nothing else can come to lie behind it.
  const uint64_t reserved = file_pages + page;
  static_assert(ByteSource::kReadSlack <= 4096);
  void* at = ::mmap(nullptr, reserved, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  if (::mmap(at, file_pages, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    ::munmap(at, reserved);
    return nullptr;
  }
  const auto begin = reinterpret_cast<uintptr_t>(at);
  Guard* guard = MappingGuards::Register(begin, begin + file_pages);
  if (!guard) {
    ::munmap(at, reserved);
    return nullptr;
  }
  return std::unique_ptr<const FileMapping>(new FileMapping(static_cast<const uint8_t*>(at), size, reserved, guard));
}

FileMapping::~FileMapping() {
  MappingGuards::Release(guard_);  // first: what comes to lie at these addresses next is not ours
  ::munmap(const_cast<uint8_t*>(data_), reserved_);
}

}  // namespace pilum
