// How the batches that run on one server progress. The simulator gives work in and takes finished batches out; a model
// knows nothing of queues, arrivals or batching.
//
// Work is in seconds alone on the server. Time never goes back; all methods with `now` first bring the model there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "study/simulator.h"

namespace partita::study {

class ServerModel {
 public:
  explicit ServerModel(std::size_t tenants) : used_(tenants) {}
  virtual ~ServerModel() = default;
  ServerModel(const ServerModel&) = delete;
  ServerModel& operator=(const ServerModel&) = delete;

  // Tenant `tenant` (its place on this server) starts a batch; it runs from the next settle() on.
  virtual void start(int tenant, int batch, double work, double now) = 0;
  // To be called after all starts of one moment: decides who runs.
  virtual void settle(double now) = 0;
  // When handle() must be called next; infinity when idle.
  virtual double next() const = 0;
  // Something happens at next(): the finished batch; nullopt: none (a slice ended).
  virtual std::optional<int> handle(double now) = 0;
  // Everything progresses at this factor from now on (neighbours on the GPU).
  virtual void set_speed(double speed, double now) = 0;
  virtual void advance(double now) = 0;

  bool busy() const { return batches_ > 0; }
  // Seconds until the last advance that it worked for a tenant, and for any (switching between tenants included).
  double used(int tenant) const { return used_[static_cast<std::size_t>(tenant)]; }
  double worked() const { return worked_; }

 protected:
  int batches_ = 0;  // started, not finished
  std::vector<double> used_;
  double worked_ = 0;
};

// `tenants`: those on this server, in order; they outlive the model. Demands are read at each start, so that a
// reconfiguration may change them.
struct Resident {
  double weight = 1;
  const double* demand = nullptr;
};
std::unique_ptr<ServerModel> make_server_model(const Server& server, const std::vector<Resident>& residents);

// One model each (see the file of the same name).
std::unique_ptr<ServerModel> make_exclusive_server(std::size_t tenants);
std::unique_ptr<ServerModel> make_time_slice_server(std::size_t tenants, double quantum_s, double switch_s);
std::unique_ptr<ServerModel> make_mps_server(const std::vector<Resident>& residents, double contention,
                                             double saturation);
std::unique_ptr<ServerModel> make_frame_server(const std::vector<double>& shares, double quantum_s, double switch_s);

// Share of time that each resident of a vGPU equal-share or fixed-share server owns, switching left out. Equal share:
// 1 / residents. Fixed share: weights that sum to at most 1 are shares as they stand (what is left belongs to vGPUs
// that are not there); otherwise weight / sum.
std::vector<double> frame_shares(Sharing sharing, const std::vector<Resident>& residents);

}  // namespace partita::study
