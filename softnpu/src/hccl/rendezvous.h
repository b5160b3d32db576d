// How the ranks of a communicator find each other: by a root info that the program has passed around, or by a
// name that they all know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hccl/segment.h"

namespace softnpu::hccl {

// Seconds, from HCCL_CONNECT_TIMEOUT and HCCL_EXEC_TIMEOUT; a Failure when they cannot be read.
uint32_t connect_timeout();
uint32_t exec_timeout();

std::unique_ptr<Segment> join_by_root_info(const HcclRootInfo& info, uint32_t ranks, uint32_t rank,
                                           int32_t device);

// Rank 0 makes the root info and hands it to the others over a local socket without a file, which is gone when its
// process is.
std::unique_ptr<Segment> join_by_name(const std::string& name, uint32_t ranks, uint32_t rank, int32_t device);

struct RankTable {
  std::vector<int32_t> devices;  // by rank
  std::string identity;          // the same for all who read the same table
};
// A Failure that says what is wrong with the file.
RankTable read_rank_table(const std::string& path);

}  // namespace softnpu::hccl
