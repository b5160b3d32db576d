#include "hccl/communicator.h"
#include "runtime/device_memory.h"
#include "sanitizer/sanitizer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace softnpu::hccl {
namespace {

std::string default_name(const Segment& segment) {
  char text[64];
  std::snprintf(text, sizeof text, "softnpu_%016llx",
                static_cast<unsigned long long>(segment.header().identity));
  return text;
}

// What the stream's synchronisation reports.
int runtime_code(HcclResult code) {
  switch (code) {
    case HCCL_E_REMOTE: return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    case HCCL_E_TIMEOUT: return ACL_ERROR_RT_TASK_TIMEOUT;
    default: return ACL_ERROR_RT_AICPU_EXCEPTION;
  }
}

struct Communicators {
  std::mutex mutex;
  std::map<HcclComm, std::shared_ptr<Communicator>> by_handle;
};
Communicators& communicators() {
  static auto* instance = new Communicators;
  return *instance;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Segment> segment, int32_t device_id, CommunicatorOptions options)
    : device(device_id),
      name(options.name.empty() ? default_name(*segment) : options.name),
      exec_timeout(options.exec_timeout),
      sends(segment->ranks()),
      receives(segment->ranks()),
      segment_(std::move(segment)) {}

void Communicator::check_health(uint32_t peer, const char* operation, int64_t waiting_since) const {
  std::string reason;
  if (error(&reason) != HCCL_SUCCESS) throw Failure(HCCL_E_REMOTE, reason);
  if (task_should_give_up()) refuse(HCCL_E_SUSPENDING, "the stream was destroyed or the process is ending");
  const Member& other = segment_->member(peer);
  if (other.state.load() == kLeft)
    refuse(HCCL_E_REMOTE, rank_text(*segment_, peer), " has destroyed the communicator, but rank ", rank(),
           " waits for it in ", operation);
  if (!is_alive(other.process))
    refuse(HCCL_E_REMOTE, rank_text(*segment_, peer), " has ended, but rank ", rank(), " waits for it in ",
           operation);
  if (exec_timeout != 0 && now_ns() - waiting_since > int64_t(exec_timeout) * 1'000'000'000)
    refuse(HCCL_E_TIMEOUT, "rank ", rank(), " waited ", exec_timeout, " s (HCCL_EXEC_TIMEOUT) for ",
           rank_text(*segment_, peer), " in ", operation, "; did that rank call it?");
}

void Communicator::fail(HcclResult code, const std::string& reason) {
  {
    std::lock_guard lock(error_mutex_);
    if (error_ != HCCL_SUCCESS) return;  // the first one explains the rest
    error_ = code;
    reason_ = reason;
  }
  SegmentHeader& header = segment_->header();
  uint32_t none = 0;
  if (!header.failed.compare_exchange_strong(none, 1)) return;
  header.failed_rank = rank();
  const size_t length = std::min(reason.size(), sizeof header.failure - 1);
  std::memcpy(header.failure, reason.data(), length);
  header.failure[length] = 0;
  header.failed.store(2);
}

HcclResult Communicator::error(std::string* reason) const {
  {
    std::lock_guard lock(error_mutex_);
    if (error_ != HCCL_SUCCESS) {
      if (reason != nullptr) *reason = reason_;
      return error_;
    }
  }
  const SegmentHeader& header = segment_->header();
  if (header.failed.load() != 2) return HCCL_SUCCESS;
  if (reason != nullptr)
    *reason =
        "rank " + std::to_string(header.failed_rank) + " of the communicator has failed: " + header.failure;
  return HCCL_E_REMOTE;
}

Operation::~Operation() {
  if (pending_.load()) comm->fail(HCCL_E_SUSPENDING, std::string(name) + " was dropped before it could run");
}

void Operation::put_on(Stream& stream, std::shared_ptr<Operation> operation) {
  Operation& self = *operation;
  if (sanitizer::on() && !stream.recording()) [[unlikely]] {
    std::vector<sanitizer::Access> accesses;
    self.for_each_part([&](const char* data, uint64_t bytes, bool write) {
      if (bytes != 0)
        accesses.push_back(
            sanitizer::Access::rows(data - address_space.mirror_delta, bytes, 1, bytes, write));
    });
    sanitizer::operation(self.name, &stream, accesses, sanitizer::Effect::computes);
  }
  // Tickets and places in a stream must have the same order, or two operations could wait for each other.
  std::lock_guard lock(self.comm->submit_mutex);
  self.state_.store(kSubmitting);
  self.pending_.store(true);
  const uint64_t place = stream.submit(self.name, Task::Kind::work, [operation] { operation->execute(); });
  if (place == 0) {  // recorded in a graph: it will not run now
    self.pending_.store(false);
    self.state_.store(kWithoutTickets);
    return;
  }
  self.take_tickets();
  self.state_.store(kWithTickets);
}

void Operation::execute() {
  // The caller is between two lines of put_on: not for long, and it waits for nothing there.
  while (state_.load() == kSubmitting) cpu_relax();
  pending_.store(false);
  try {
    run(state_.exchange(kWithoutTickets) == kWithTickets);
  } catch (const Failure& failure) {
    comm->fail(failure.code, failure.what());
    throw TaskError(runtime_code(failure.code), failure.what());
  } catch (const std::exception& problem) {
    comm->fail(HCCL_E_INTERNAL, problem.what());
    throw;
  }
}

std::shared_ptr<Communicator> find_communicator(HcclComm handle) {
  Communicators& all = communicators();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_handle.find(handle);
  if (found == all.by_handle.end())
    refuse(HCCL_E_PARA, "the communicator ", handle, " is not one, or was destroyed");
  return found->second;
}

HcclComm find_communicator_by_name(const std::string& name) {
  Communicators& all = communicators();
  std::lock_guard lock(all.mutex);
  for (const auto& [key, communicator] : all.by_handle) {
    if (communicator->name == name) return key;
  }
  refuse(HCCL_E_NOT_FOUND, "there is no communicator named '", name, "'");
}

HcclComm add_communicator(std::shared_ptr<Communicator> communicator) {
  Communicators& all = communicators();
  std::lock_guard lock(all.mutex);
  HcclComm handle = communicator.get();
  all.by_handle.emplace(handle, std::move(communicator));
  return handle;
}

void remove_communicator(HcclComm handle) {
  std::shared_ptr<Communicator> removed;  // ends after the lock is released
  Communicators& all = communicators();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_handle.find(handle);
  if (found == all.by_handle.end())
    refuse(HCCL_E_PARA, "the communicator ", handle, " is not one, or was destroyed");
  removed = std::move(found->second);
  all.by_handle.erase(found);
}

}  // namespace softnpu::hccl
