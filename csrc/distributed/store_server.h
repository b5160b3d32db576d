// The server of a TCPStore: keys and bytes that processes share while they find each other.
//
// Note [Store protocol]
// A message is its length (four bytes, little endian) and its fields, each with a length of its own. A request has an
// operation, the milliseconds that it may wait (eight bytes) and arguments; an answer has a state (done, late, empty,
// wrong) and results. Requests whose keys are not there yet are answered when they are, or when their time is over.
// The server is a thread that never holds Python's lock: whoever computes or waits in Python does not keep the others waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace mt::distributed {

using Fields = std::vector<std::string>;

// Keys with values, and queues.
class StoreTable {
 public:
  bool has(const Fields& keys) const;
  std::string& value(const std::string& key) { return values_[key]; }
  const std::string& get(const std::string& key) const { return values_.at(key); }
  int64_t add(const std::string& key, int64_t amount);  // a number is kept as its digits
  // Replaces `expected` (empty: an absent key) and gives what is there then.
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  bool erase(const std::string& key) { return values_.erase(key) > 0; }
  Fields keys() const;
  void push(const std::string& queue, std::string value) { queues_[queue].push_back(std::move(value)); }
  size_t length(const std::string& queue) const;
  std::string pop(const std::string& queue);  // of a queue that is not empty

 private:
  std::unordered_map<std::string, std::string> values_;
  std::unordered_map<std::string, std::deque<std::string>> queues_;
};

class StoreServer {
 public:
  // Listens on a port of all addresses (0: one that is free), or on a socket that listens already.
  explicit StoreServer(int port, int listening = -1);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  int port() const { return port_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    std::string received, unsent;
  };
  struct Waiting {
    int client;
    Clock::time_point end;
    std::function<bool()> ready;
    std::function<Fields()> answer;
  };

  void serve();
  int pause() const;  // milliseconds until somebody has waited too long; -1: for ever
  void accept_all();
  bool receive(int socket, Client& client);  // false: it is gone, or does not speak the protocol
  bool flush(int socket, Client& client);
  void drop(int socket);
  bool handle(int socket, Fields&& request);
  void answer(int socket, const char* state, const Fields& results = {});
  void answer_ready();
  void answer_late();

  int listener_ = -1, port_ = 0;
  int wake_[2] = {-1, -1};
  std::atomic<bool> closing_{false};
  StoreTable table_;
  std::map<int, Client> clients_;
  std::vector<Waiting> waiting_;
  std::thread thread_;
};

}  // namespace mt::distributed
