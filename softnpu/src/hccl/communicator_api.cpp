// The exported functions that make, describe and end communicators.
#include <algorithm>
#include <cstring>
#include <set>

#include "hccl/call.h"
#include "hccl/configuration.h"
#include "hccl/rendezvous.h"
#include "runtime/device.h"

namespace softnpu::hccl {
namespace {

constexpr uint64_t kNotInSubCommunicator = 0xFFFFFFFF;

int32_t device_of_thread() {
  int32_t device = -1;
  if (aclrtGetDevice(&device) != ACL_SUCCESS)
    refuse(HCCL_E_RUNTIME, "no device is set in this thread; call aclrtSetDevice first");
  return device;
}

HcclComm add(std::unique_ptr<Segment> segment, int32_t device, CommunicatorOptions options) {
  return add_communicator(std::make_shared<Communicator>(std::move(segment), device, std::move(options)));
}

void init_by_root_info(uint32_t ranks, const HcclRootInfo* info, uint32_t rank, CommunicatorOptions options,
                       HcclComm* comm) {
  require_pointer(comm, "comm");
  const int32_t device = device_of_thread();
  *comm = add(join_by_root_info(*require_pointer(info, "rootInfo"), ranks, rank, device), device,
              std::move(options));
}

void init_by_rank_table(const char* path, uint32_t rank, CommunicatorOptions options, HcclComm* comm) {
  require_pointer(comm, "comm");
  const int32_t device = device_of_thread();
  const RankTable table = read_rank_table(require_pointer(path, "clusterInfo"));
  const uint32_t ranks = uint32_t(table.devices.size());
  if (rank >= ranks) refuse(HCCL_E_PARA, "the rank is ", rank, ", but ", path, " has ", ranks, " ranks");
  if (table.devices[rank] != device)
    refuse(HCCL_E_PARA, path, " gives rank ", rank, " the device ", table.devices[rank],
           ", but the current device is ", device);
  *comm = add(join_by_name("table-" + table.identity + "-" + options.name, ranks, rank, device), device,
              std::move(options));
}

// The ranks of a sub-communicator, in the order of their ids there.
std::vector<uint32_t> sub_ranks(const Communicator& parent, uint32_t count, const uint32_t* ids,
                                uint32_t own) {
  require_pointer(ids, "rankIds");
  if (count == 0 || count > parent.ranks())
    refuse(HCCL_E_PARA, "rankNum is ", count, ", but the communicator has ", parent.ranks(), " ranks");
  std::vector<uint32_t> ranks(ids, ids + count);
  if (std::set<uint32_t>(ranks.begin(), ranks.end()).size() != count)
    refuse(HCCL_E_PARA, "rankIds has a rank twice");
  if (const uint32_t most = *std::max_element(ranks.begin(), ranks.end()); most >= parent.ranks())
    refuse(HCCL_E_PARA, "rankIds has the rank ", most, ", but the communicator has ", parent.ranks(),
           " ranks");
  if (own >= count || ranks[own] != parent.rank())
    refuse(HCCL_E_PARA, "subCommRankId is ", own, ", which is not the place of rank ", parent.rank(),
           " in rankIds");
  return ranks;
}

struct ErrorText {
  HcclResult code;
  const char* text;
};
constexpr ErrorText kErrorTexts[] = {
    {HCCL_SUCCESS, "no error"},
    {HCCL_E_PARA, "an argument is wrong"},
    {HCCL_E_PTR, "a pointer is NULL"},
    {HCCL_E_MEMORY, "there is not enough memory"},
    {HCCL_E_INTERNAL, "internal error"},
    {HCCL_E_NOT_SUPPORT, "not supported"},
    {HCCL_E_NOT_FOUND, "not found"},
    {HCCL_E_UNAVAIL, "a resource is unavailable"},
    {HCCL_E_SYSCALL, "a call of the operating system failed"},
    {HCCL_E_TIMEOUT, "time-out"},
    {HCCL_E_OPEN_FILE_FAILURE, "a file cannot be opened"},
    {HCCL_E_TCP_CONNECT, "the connection failed"},
    {HCCL_E_RUNTIME, "a call of the runtime failed"},
    {HCCL_E_REMOTE, "another rank has failed"},
    {HCCL_E_SUSPENDING, "the communicator is suspended"},
};

}  // namespace
}  // namespace softnpu::hccl

using namespace softnpu;
using namespace softnpu::hccl;

SOFTNPU_EXPORT HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  HCCL_ENTER(HcclGetRootInfo);
  return guarded("HcclGetRootInfo", [&] { Segment::create(require_pointer(rootInfo, "rootInfo")); });
}

SOFTNPU_EXPORT HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                               HcclComm* comm) {
  HCCL_ENTER(HcclCommInitRootInfo, nRanks, rank);
  return guarded("HcclCommInitRootInfo",
                 [&] { init_by_root_info(nRanks, rootInfo, rank, default_configuration(), comm); });
}

SOFTNPU_EXPORT HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo,
                                                     uint32_t rank, const HcclCommConfig* config,
                                                     HcclComm* comm) {
  HCCL_ENTER(HcclCommInitRootInfoConfig, nRanks, rank);
  return guarded("HcclCommInitRootInfoConfig", [&] {
    init_by_root_info(nRanks, rootInfo, rank, read_configuration(*require_pointer(config, "config")), comm);
  });
}

SOFTNPU_EXPORT HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  HCCL_ENTER(HcclCommInitClusterInfo, clusterInfo, rank);
  return guarded("HcclCommInitClusterInfo",
                 [&] { init_by_rank_table(clusterInfo, rank, default_configuration(), comm); });
}

SOFTNPU_EXPORT HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
                                                        HcclCommConfig* config, HcclComm* comm) {
  HCCL_ENTER(HcclCommInitClusterInfoConfig, clusterInfo, rank);
  return guarded("HcclCommInitClusterInfoConfig", [&] {
    init_by_rank_table(clusterInfo, rank, read_configuration(*require_pointer(config, "config")), comm);
  });
}

SOFTNPU_EXPORT HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  HCCL_ENTER(HcclCommInitAll, ndev);
  return guarded("HcclCommInitAll", [&] {
    require_pointer(devices, "devices");
    require_pointer(comms, "comms");
    if (ndev == 0) refuse(HCCL_E_PARA, "ndev is 0, wanted at least 1");
    if (std::set<int32_t>(devices, devices + ndev).size() != ndev)
      refuse(HCCL_E_PARA, "devices names a device twice");
    uint32_t count = 0;
    aclrtGetDeviceCount(&count);
    const OwnRootInfo root;
    std::vector<std::unique_ptr<Segment>> segments(ndev);
    for (uint32_t rank = 0; rank < ndev; ++rank) {
      if (devices[rank] < 0 || uint32_t(devices[rank]) >= count)
        refuse(HCCL_E_PARA, "device ", devices[rank], " does not exist; there are ", count);
      Segment::attach(root.info, ndev, rank, devices[rank], &segments[rank]);
    }
    for (uint32_t rank = 0; rank < ndev; ++rank) {
      segments[rank]->wait_until_complete(connect_timeout());
      comms[rank] = add(std::move(segments[rank]), devices[rank], default_configuration());
    }
  });
}

SOFTNPU_EXPORT HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds,
                                                  uint64_t subCommId, uint32_t subCommRankId,
                                                  HcclCommConfig* config, HcclComm* subComm) {
  HCCL_ENTER(HcclCreateSubCommConfig, rankNum, subCommId, subCommRankId);
  return guarded("HcclCreateSubCommConfig", [&] {
    const auto parent = find_communicator(*require_pointer(comm, "comm"));
    require_pointer(subComm, "subComm");
    // A rank that stays outside calls it, too.
    if (rankIds == nullptr && subCommId == kNotInSubCommunicator) {
      *subComm = nullptr;
      return;
    }
    const std::vector<uint32_t> ranks = sub_ranks(*parent, rankNum, rankIds, subCommRankId);
    CommunicatorOptions options = read_configuration(*require_pointer(config, "config"));
    if (options.name.empty()) options.name = parent->name + "_sub_" + std::to_string(subCommId);
    std::string key = "sub-" + std::to_string(parent->segment().header().identity) + "-" +
                      std::to_string(subCommId) + "-" + std::to_string(ranks[0]);
    *subComm =
        add(join_by_name(key, rankNum, subCommRankId, parent->device), parent->device, std::move(options));
  });
}

SOFTNPU_EXPORT HcclResult HcclCommDestroy(HcclComm comm) {
  HCCL_ENTER_CLEANUP(HcclCommDestroy, comm);
  return guarded("HcclCommDestroy", [&] { remove_communicator(require_pointer(comm, "comm")); });
}

SOFTNPU_EXPORT HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  HCCL_ENTER(HcclGetRankSize, comm);
  return guarded("HcclGetRankSize", [&] {
    *require_pointer(rankSize, "rankSize") = find_communicator(require_pointer(comm, "comm"))->ranks();
  });
}

SOFTNPU_EXPORT HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  HCCL_ENTER(HcclGetRankId, comm);
  return guarded("HcclGetRankId", [&] {
    *require_pointer(rank, "rank") = find_communicator(require_pointer(comm, "comm"))->rank();
  });
}

SOFTNPU_EXPORT HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  HCCL_ENTER(HcclGetCommName, comm);
  return guarded("HcclGetCommName", [&] {
    const std::string name = find_communicator(require_pointer(comm, "comm"))->name;
    const size_t length = std::min<size_t>(name.size(), COMM_NAME_MAX_LENGTH - 1);
    std::memcpy(require_pointer(commName, "commName"), name.data(), length);
    commName[length] = 0;
  });
}

SOFTNPU_EXPORT HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  HCCL_ENTER(HcclCommGetHandleWithName, commName);
  return guarded("HcclCommGetHandleWithName", [&] {
    require_pointer(comm, "comm");
    *comm = find_communicator_by_name(require_pointer(commName, "commName"));
  });
}

SOFTNPU_EXPORT HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  HCCL_ENTER(HcclGetCommAsyncError, comm);
  return guarded("HcclGetCommAsyncError", [&] {
    const auto communicator = find_communicator(require_pointer(comm, "comm"));
    std::string reason;
    *require_pointer(asyncError, "asyncError") = communicator->error(&reason);
    // The call succeeds; why the communicator failed is what the next look at the message says.
    if (!reason.empty()) fail(*asyncError, "HcclGetCommAsyncError: ", reason);
  });
}

SOFTNPU_EXPORT const char* HcclGetErrorString(HcclResult code) {
  for (const ErrorText& known : kErrorTexts)
    if (known.code == code) return known.text;
  return "unknown error";
}
