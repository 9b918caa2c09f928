// What this program's `new` has been asked for since its start. Apart from the tests that read it, since tools that
// follow a `delete` into its own definition take its argument for freed already.
#include <cstdlib>
#include <new>

namespace {
std::size_t allocated = 0;
}

void* operator new(std::size_t size) {
  allocated += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace partita::study {

std::size_t bytes_allocated();
std::size_t bytes_allocated() { return allocated; }

}  // namespace partita::study
