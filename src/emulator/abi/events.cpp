// Events: Xids and changes of the MIG configuration, as the engine records them. A set gets what happens after a GPU
// was registered with it.
#include <algorithm>
#include <chrono>
#include <vector>

#include "emulator/abi/objects.h"
#include "emulator/abi/state_words.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned long long kSupported = nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |
                                          nvmlEventTypePState | nvmlEventTypeXidCriticalError | nvmlEventTypeClock |
                                          nvmlEventMigConfigChange;

struct EventSet {
  struct Registration {
    int gpu = 0;
    unsigned long long types = 0;
    std::uint64_t from = 0;  // number of the first event that counts
  };
  std::mutex mutex;
  std::vector<Registration> registrations;
  std::uint64_t next = 0;  // number of the next event to look at
};

Objects<EventSet, HandleKind::event_set>& event_sets() {
  static auto* sets = new Objects<EventSet, HandleKind::event_set>;  // outlives every static destructor
  return *sets;
}

bool wants(const EventSet& set, const Event& event) {
  return std::ranges::any_of(set.registrations, [&](const EventSet::Registration& registration) {
    return registration.gpu == event.gpu && (registration.types & event.type) != 0 && event.number >= registration.from;
  });
}

std::optional<Event> take(const Engine& engine, EventSet& set) {
  const std::lock_guard guard(set.mutex);
  for (const std::uint64_t end = engine.next_event(); set.next < end;) {
    const std::optional<Event> event = engine.event(set.next++);
    if (event && wants(set, *event)) return event;
  }
  return std::nullopt;
}

bool any_lost(const Engine& engine, EventSet& set) {
  const std::lock_guard guard(set.mutex);
  return std::ranges::any_of(set.registrations, [&](const EventSet::Registration& registration) {
    return engine.summary(registration.gpu).lost != 0;
  });
}

// The next event within the time; what came before a GPU was lost is still given.
Return await(Engine& engine, const void* handle, unsigned time_out_ms, Event& event) {
  const auto set = event_sets().find(handle);
  if (!set) return kInvalidArgument;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(time_out_ms);
  for (;;) {
    const std::uint64_t seen = engine.next_event();
    if (const auto found = take(engine, *set)) {
      event = *found;
      return kSuccess;
    }
    if (any_lost(engine, *set)) return kGpuIsLost;
    if (current_engine() != &engine) return kUninitialized;  // shut down by another thread
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return kTimeout;
    engine.wait_event(seen, std::min(left, std::chrono::milliseconds(500)));
  }
}

unsigned number_of(std::optional<int> id) { return id ? static_cast<unsigned>(*id) : kNoInstance; }

Return wait(const char* function, const void* set, nvmlEventData_t* data, unsigned time_out_ms, bool ids) noexcept {
  return guarded(function, -1, [&](Engine& engine) -> Return {
    if (data == nullptr) return kInvalidArgument;
    Event event;
    const Return answer = await(engine, set, time_out_ms, event);
    if (answer != kSuccess) return answer;
    data->device = gpu_handle(event.gpu);
    data->eventType = event.type;
    data->eventData = event.data;
    if (ids) {
      data->gpuInstanceId = number_of(event.gpu_instance);
      data->computeInstanceId = number_of(event.compute_instance);
    }
    return kSuccess;
  });
}

}  // namespace

void partita::emulator::abi::forget_event_sets() { event_sets().clear(); }

NVML_EXPORT nvmlEventSetCreate(nvmlEventSet_t* set) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (set == nullptr) return kInvalidArgument;
    auto made = std::make_shared<EventSet>();
    made->next = engine.next_event();
    *set = event_sets().add(std::move(made));
    return kSuccess;
  });
}

NVML_EXPORT nvmlEventSetFree(nvmlEventSet_t set) {
  return guarded(__func__, -1,
                 [&](Engine&) -> Return { return event_sets().remove(set) ? kSuccess : kInvalidArgument; });
}

// Of whole GPUs only; their events name the instance.
NVML_EXPORT nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    const auto found = event_sets().find(set);
    if (!found || (types & ~static_cast<unsigned long long>(nvmlEventTypeAll)) != 0) return kInvalidArgument;
    if ((types & ~kSupported) != 0) return kNotSupported;
    const std::lock_guard guard(found->mutex);
    found->registrations.push_back({target.handle.gpu, types, target.engine.next_event()});
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types) {
  return gpu_value(__func__, device, types, [](const Target&) { return kSupported; });
}

// The first version of the struct ends before the instance ids.
NVML_EXPORT nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data, unsigned time_out_ms) {
  return wait(__func__, set, data, time_out_ms, false);
}
NVML_EXPORT nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned time_out_ms) {
  return wait(__func__, set, data, time_out_ms, true);
}

NVML_EXPORT nvmlEventSetWait_v3(nvmlEventSet_t set, nvmlEventSetWait_v3_t* data) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (data == nullptr) return kInvalidArgument;
    Event event;
    const unsigned time_out = data->timeoutMs;
    const Return answer = await(engine, set, time_out, event);
    if (answer != kSuccess) return answer;
    *data = {};
    data->timeoutMs = time_out;
    data->dataType = NVML_EVENT_DATA_TYPE_NVML_EVENT;
    put_text(data->uuid, engine.spec().gpus[static_cast<std::size_t>(event.gpu)].uuid);
    data->eventType = event.type;
    data->eventData = event.data;
    data->timestampUsec = static_cast<unsigned long long>(microseconds(event.time));
    data->gpuInstanceId = number_of(event.gpu_instance);
    data->computeInstanceId = number_of(event.compute_instance);
    return kSuccess;
  });
}
