// The node's status as JSON, for many readers at once: they share one reading of the driver. A reader never gets what
// was read before it asked, unless nothing changed through this server since and it is younger than kFresh.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "api/json.h"
#include "api/node.h"
#include "base/error.h"

namespace partita::serve {

class StatusCache {
 public:
  static constexpr std::chrono::milliseconds kFresh{100};

  class Reading {
   public:
    explicit Reading(api::StatusAnswer answer);
    const api::StatusAnswer status;
    const std::string text;  // to_json
    const std::string etag;  // of the layout alone: mode and instances of each GPU
    const std::string& text_with_boards() const;

   private:
    mutable std::once_flag written_;
    mutable std::string text_with_boards_;
  };
  explicit StatusCache(api::Node& node) : node_(node) {}
  Result<std::shared_ptr<const Reading>> get();
  // Something was changed through this server.
  void changed() { changes_.fetch_add(1); }

 private:
  Result<std::shared_ptr<const Reading>> read();

  api::Node& node_;
  std::atomic<std::uint64_t> changes_{0};
  std::mutex mutex_;
  std::condition_variable read_;
  bool reading_ = false;
  std::uint64_t started_ = 0, finished_ = 0;  // readings
  Result<std::shared_ptr<const Reading>> last_;
  std::uint64_t last_changes_ = 0;  // as they were when the last reading began
  std::chrono::steady_clock::time_point last_begun_;
};

// "\"9f86d081884c7d65\"": the same for the same modes and instances.
std::string layout_etag(const layout::NodeState& state);

}  // namespace partita::serve
