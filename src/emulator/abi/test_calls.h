// Calls of every function of the interface with drawn arguments, for the test and for the fuzz target: null and wild
// handles, those of instances that are gone, wrong versions, any number. Pointers are null or lead to memory that the
// interface lets the library write: structs end where the page ends, so that a byte too much is a crash.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "emulator/abi/nvml_types.h"

namespace partita::emulator::test {

// Readable and writable bytes, with a page after them that is neither.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    size_ = (size + page_ - 1) / page_ * page_;
    void* at = ::mmap(nullptr, size_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || ::mprotect(static_cast<char*>(at) + size_, page_, PROT_NONE) != 0) std::abort();
    begin_ = static_cast<char*>(at);
  }
  ~GuardedBytes() { ::munmap(begin_, size_ + page_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  char* last(std::size_t size) const { return begin_ + size_ - size; }
  char* begin() const { return begin_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t page_, size_ = 0;
  char* begin_ = nullptr;
};

// Draws arguments from bytes; zeros once they are used up.
class Draw {
 public:
  static constexpr std::size_t kPointers = 8, kRoom = 256 * 1024;

  Draw() {
    for (auto& buffer : buffers_) buffer = std::make_unique<GuardedBytes>(kRoom);
  }

  void feed(std::span<const std::uint8_t> bytes) { bytes_ = bytes; }
  bool empty() const { return bytes_.empty(); }
  std::uint64_t bits(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes && !bytes_.empty(); ++i, bytes_ = bytes_.subspan(1)) value = value << 8 | bytes_.front();
    return value;
  }
  // One of 0 to n - 1.
  std::size_t one_of(std::size_t n) { return static_cast<std::size_t>(bits(n > 256 ? 2 : 1)) % n; }

  // Handles and texts that mean something: kept from calls that gave them.
  std::vector<const void*> handles{nullptr};
  std::vector<std::string> texts{""};

  template <class T>
  T handle() {
    const std::size_t kind = one_of(8);
    if (kind == 0) return reinterpret_cast<T>(static_cast<std::uintptr_t>(bits(8)));  // wild
    if (kind == 1) return reinterpret_cast<T>(static_cast<std::uintptr_t>(0xe0 + bits(1) % 8) << 56 | bits(7));
    return reinterpret_cast<T>(const_cast<void*>(handles[one_of(handles.size())]));
  }
  template <class T>
  T number() {
    switch (one_of(4)) {
      case 0:
        return static_cast<T>(one_of(48));
      case 1:
        return static_cast<T>(std::array<std::uint64_t, 4>{0, 1, ~std::uint64_t{0}, 0x80000000u}[one_of(4)]);
      case 2:
        return static_cast<T>(bits(2));
      default:
        return static_cast<T>(bits(sizeof(T)));
    }
  }
  // How many elements an array has that the caller gives: -1 to 63.
  template <class T>
  T count() {
    return static_cast<T>(static_cast<int>(one_of(65)) - (std::is_signed_v<T> ? 1 : 0));
  }
  unsigned wait() { return static_cast<unsigned>(one_of(3)); }  // milliseconds

  char* text() {
    if (one_of(16) == 0) return nullptr;
    char* at = next().begin();
    const std::string& given = texts[one_of(texts.size())];
    std::memcpy(at, given.c_str(), given.size() + 1);
    if (one_of(4) == 0) at[one_of(given.size() + 1)] = static_cast<char>(bits(1));
    at[given.size()] = '\0';
    return at;
  }
  template <class T>
  T* array() {
    if (one_of(16) == 0) return nullptr;
    char* at = next().begin();
    const std::uint64_t first = number<std::uint64_t>();
    std::memcpy(at, &first, sizeof first);
    return reinterpret_cast<T*>(at);
  }
  struct Places {  // offsets in a struct
    std::initializer_list<std::size_t> pointers, handles, waits;
  };
  template <class T>
  T* structure(std::initializer_list<unsigned> versions, const Places& places) {
    if (one_of(16) == 0) return nullptr;
    std::size_t size = sizeof(T);
    for (const unsigned version : versions) size = std::max<std::size_t>(size, version & 0xffffff);
    char* at = next().last(size);
    std::memset(at, 0, size);
    const bool wild = one_of(2) == 0;
    for (std::size_t i = 0; wild && i < std::min<std::size_t>(size, 64); ++i) at[i] = static_cast<char>(bits(1));
    if (versions.size() > 0 && one_of(8) != 0) {
      put(at, versions.begin()[one_of(versions.size())]);
    } else if (size >= sizeof(unsigned) && one_of(2) == 0) {
      put(at, static_cast<unsigned>(one_of(4)));
    }
    for (const std::size_t offset : places.pointers) put(at + offset, one_of(3) == 0 ? nullptr : next().begin());
    for (const std::size_t offset : places.handles) put(at + offset, handle<const void*>());
    for (const std::size_t offset : places.waits) put(at + offset, wait());
    return reinterpret_cast<T*>(at);
  }

  // Keeps what was given back as a handle, for later calls.
  template <class Function, class... Arguments>
  int call(void* function, Arguments... arguments) {
    const int answer = reinterpret_cast<Function>(function)(arguments...);
    if (answer == NVML_SUCCESS) (keep(arguments), ...);
    used_ = 0;
    return answer;
  }

 private:
  GuardedBytes& next() { return *buffers_[used_++ % kPointers]; }
  template <class T>
  static void put(char* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }
  template <class T>
  void keep(T) {}
  void keep(nvmlDevice_t* given) { keep_handle(given); }
  void keep(nvmlGpuInstance_t* given) { keep_handle(given); }
  void keep(nvmlComputeInstance_t* given) { keep_handle(given); }
  void keep(nvmlEventSet_t* given) { keep_handle(given); }
  void keep(nvmlGpmSample_t* given) { keep_handle(given); }
  void keep_handle(const auto* given) {
    if (handles.size() < 64) {
      handles.push_back(*given);
    } else {
      handles[1 + one_of(63)] = *given;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::array<std::unique_ptr<GuardedBytes>, kPointers> buffers_;
  std::size_t used_ = 0;
};

struct Call {
  const char* name;
  int (*make)(void* function, Draw& draw);
};
inline constexpr Call kCalls[] = {
#include "nvml_calls.inc"
};

// The functions of the library by the rows of kCalls.
inline std::vector<void*> find_functions(void* library) {
  std::vector<void*> found;
  for (const Call& call : kCalls) found.push_back(::dlsym(library, call.name));
  return found;
}

inline bool is_return(int answer) { return (answer >= 0 && answer <= 29) || answer == NVML_ERROR_UNKNOWN; }

}  // namespace partita::emulator::test
