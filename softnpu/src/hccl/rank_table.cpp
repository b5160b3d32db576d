// Rank tables: the JSON files that name the servers, devices and ranks of a cluster.
#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "hccl/failure.h"
#include "hccl/json.h"
#include "hccl/rendezvous.h"

namespace softnpu::hccl {
namespace {

uint32_t number(const Json& from, const char* key, const std::string& path) {
  const Json* found = from.find(key);
  const std::string text = found == nullptr ? "" : found->text();
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos)
    refuse(HCCL_E_PARA, "the rank table ", path, " has a device whose ", key, " is '", text,
           "', wanted a number");
  return uint32_t(std::stoul(text));
}

const Json::Array& list(const Json& from, const char* key, const std::string& path) {
  const Json* found = from.find(key);
  const Json::Array* items = found == nullptr ? nullptr : found->array();
  if (items == nullptr || items->empty())
    refuse(HCCL_E_PARA, "the rank table ", path, " has no list '", key, "', or an empty one");
  return *items;
}

Json parse_file(const std::string& path, std::string* content) {
  std::ifstream file(path);
  if (!file) refuse(HCCL_E_OPEN_FILE_FAILURE, "the rank table ", path, " cannot be opened");
  content->assign(std::istreambuf_iterator<char>(file), {});
  try {
    return parse_json(*content);
  } catch (const std::runtime_error& problem) {
    refuse(HCCL_E_PARA, "the rank table ", path, " is ", problem.what());
  }
}

}  // namespace

RankTable read_rank_table(const std::string& path) {
  std::string content;
  const Json table = parse_file(path, &content);
  const Json* status = table.find("status");
  if (status == nullptr || status->text() != "completed")
    refuse(HCCL_E_UNAVAIL, "the rank table ", path, " has the status '",
           status == nullptr ? "" : status->text(), "', wanted 'completed'");
  const Json::Array& servers = list(table, "server_list", path);
  if (servers.size() > 1)
    refuse(HCCL_E_NOT_SUPPORT, "the rank table ", path, " names ", servers.size(),
           " servers; the software NPU connects processes of one");
  std::map<uint32_t, int32_t> devices;
  for (const Json& device : list(servers[0], "device", path)) {
    const uint32_t rank = number(device, "rank_id", path);
    if (!devices.emplace(rank, int32_t(number(device, "device_id", path))).second)
      refuse(HCCL_E_PARA, "the rank table ", path, " has rank ", rank, " twice");
  }
  RankTable result;
  for (const auto& [rank, device] : devices) {
    if (rank != result.devices.size())
      refuse(HCCL_E_PARA, "the rank table ", path, " has no rank ", result.devices.size());
    result.devices.push_back(device);
  }
  result.identity = std::to_string(std::hash<std::string>()(content));
  return result;
}

}  // namespace softnpu::hccl
