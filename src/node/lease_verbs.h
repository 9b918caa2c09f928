// The lease verbs of api::Node as calls to a keeper, for both conductors: a command's and a daemon's differ only in how
// a call reaches its keeper.
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "api/node.h"
#include "base/error.h"
#include "node/keeper.h"

namespace partita::node {

template <class Interface>  // api::Node or DaemonNode
class LeaseVerbs : public Interface {
 public:
  Result<std::vector<api::Lease>> lease(const api::LeaseRequest& request) override {
    LeaseCall call;
    call.request = &request;
    return serve(call, request.caller);
  }
  Result<api::Lease> release(const api::LeaseChange& change) override {
    return serve_one(change_call(LeaseCall::Verb::release, change));
  }
  Result<api::Lease> renew(const api::LeaseChange& change, std::optional<std::chrono::milliseconds> duration) override {
    LeaseCall call = change_call(LeaseCall::Verb::renew, change);
    call.duration = duration;
    return serve_one(std::move(call));
  }
  Result<api::Lease> resize(const api::LeaseChange& change, const api::Requirement& requirement) override {
    LeaseCall call = change_call(LeaseCall::Verb::resize, change);
    call.requirement = &requirement;
    return serve_one(std::move(call));
  }
  Result<api::Lease> park(const api::LeaseChange& change) override {
    return serve_one(change_call(LeaseCall::Verb::park, change));
  }
  Result<api::Lease> unpark(const api::LeaseChange& change) override {
    return serve_one(change_call(LeaseCall::Verb::unpark, change));
  }
  Result<api::Lease> attach(const api::LeaseChange& change, const api::ProcessId& process) override {
    LeaseCall call = change_call(LeaseCall::Verb::attach, change);
    call.process = process;
    return serve_one(std::move(call));
  }

 private:
  // Brings the call to the keeper and waits for its answer.
  virtual Result<std::vector<api::Lease>> serve(LeaseCall& call, const api::Caller& caller) = 0;

  static LeaseCall change_call(LeaseCall::Verb verb, const api::LeaseChange& change) {
    LeaseCall call;
    call.verb = verb;
    call.change = &change;
    return call;
  }
  Result<api::Lease> serve_one(LeaseCall call) {
    std::vector<api::Lease> leases = TRY(serve(call, call.change->caller));
    if (leases.empty()) return fail(ErrorCode::internal, "no lease was answered");
    return std::move(leases.front());
  }
};

}  // namespace partita::node
