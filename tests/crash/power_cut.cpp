#include "power_cut.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace partita::node {
namespace {

// What was written since the last sync, and how long the file is then.
struct Unsynced {
  std::vector<std::pair<sqlite3_int64, std::vector<char>>> writes;  // later ones go over earlier ones
  sqlite3_int64 size = -1;                                          // -1: as on the disk
};

struct File {
  sqlite3_file base;
  Unsynced* unsynced;
  sqlite3_file* real;  // follows this struct
};

sqlite3_vfs* g_real = nullptr;  // NOLINT: SQLite's VFS interface has no other place for it
sqlite3_vfs g_vfs;              // NOLINT
sqlite3_io_methods g_methods;   // NOLINT

File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
sqlite3_file* real(sqlite3_file* file) { return of(file).real; }

int size_of(sqlite3_file* file, sqlite3_int64* size) {
  if (of(file).unsynced->size >= 0) {
    *size = of(file).unsynced->size;
    return SQLITE_OK;
  }
  return real(file)->pMethods->xFileSize(real(file), size);
}

int close_file(sqlite3_file* file) {
  delete of(file).unsynced;
  return real(file)->pMethods->xClose(real(file));
}

int read_file(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
  sqlite3_int64 size = 0;
  size_of(file, &size);
  int result = real(file)->pMethods->xRead(real(file), into, amount, offset);
  if (result != SQLITE_OK && result != SQLITE_IOERR_SHORT_READ) return result;
  for (const auto& [at, data] : of(file).unsynced->writes) {
    const auto first = std::max(at, offset);
    const auto last = std::min(at + static_cast<sqlite3_int64>(data.size()), offset + amount);
    if (first < last)
      std::memcpy(static_cast<char*>(into) + (first - offset), data.data() + (first - at),
                  static_cast<std::size_t>(last - first));
  }
  return offset + amount <= size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  sqlite3_int64 size = 0;
  if (const int result = size_of(file, &size); result != SQLITE_OK) return result;
  const char* const bytes = static_cast<const char*>(from);
  of(file).unsynced->writes.emplace_back(offset, std::vector<char>(bytes, bytes + amount));
  of(file).unsynced->size = std::max(size, offset + amount);
  return SQLITE_OK;
}

int sync_file(sqlite3_file* file, int flags) {
  Unsynced& unsynced = *of(file).unsynced;
  for (const auto& [at, data] : unsynced.writes)
    if (const int result = real(file)->pMethods->xWrite(real(file), data.data(), static_cast<int>(data.size()), at);
        result != SQLITE_OK)
      return result;
  unsynced = {};
  return real(file)->pMethods->xSync(real(file), flags);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int result = sync_file(file, SQLITE_SYNC_NORMAL); result != SQLITE_OK) return result;
  return real(file)->pMethods->xTruncate(real(file), size);
}

int open_file(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out) {
  File& opened = *new (file) File{};
  opened.real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
  const int result = g_real->xOpen(g_real, name, opened.real, flags, out);
  if (result != SQLITE_OK) return result;
  opened.unsynced = new Unsynced;
  g_methods.iVersion = std::min(opened.real->pMethods->iVersion, 2);  // no memory mapping of the file itself
  opened.base.pMethods = &g_methods;
  return SQLITE_OK;
}

}  // namespace

void begin_power_cut() {
  g_real = sqlite3_vfs_find(nullptr);
  g_vfs = *g_real;
  g_vfs.zName = "power-cut";
  g_vfs.szOsFile = static_cast<int>(sizeof(File)) + g_real->szOsFile;
  g_vfs.xOpen = open_file;
  g_vfs.pNext = nullptr;
  g_methods = {};
  g_methods.xClose = close_file;
  g_methods.xRead = read_file;
  g_methods.xWrite = write_file;
  g_methods.xTruncate = truncate_file;
  g_methods.xSync = sync_file;
  g_methods.xFileSize = size_of;
  g_methods.xLock = [](sqlite3_file* f, int lock) { return real(f)->pMethods->xLock(real(f), lock); };
  g_methods.xUnlock = [](sqlite3_file* f, int lock) { return real(f)->pMethods->xUnlock(real(f), lock); };
  g_methods.xCheckReservedLock = [](sqlite3_file* f, int* out) {
    return real(f)->pMethods->xCheckReservedLock(real(f), out);
  };
  g_methods.xFileControl = [](sqlite3_file* f, int op, void* arg) {
    return real(f)->pMethods->xFileControl(real(f), op, arg);
  };
  g_methods.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
  g_methods.xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); };
  g_methods.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
    return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
  };
  g_methods.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
    return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
  };
  g_methods.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
  g_methods.xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); };
  sqlite3_vfs_register(&g_vfs, 1);
}

}  // namespace partita::node
