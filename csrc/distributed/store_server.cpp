#include "distributed/store_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>

#include "base/error.h"

namespace mt::distributed {
namespace {

constexpr size_t kMostBytes = size_t(1)
                              << 28;  // of one message; text that is none begins with a larger number

[[noreturn]] void fail_system(const char* what) {
  fail(ErrorKind::runtime, "TCPStore: ", what, ": ", std::strerror(errno));
}

uint32_t length_at(std::string_view bytes) {
  uint32_t length;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

std::optional<Fields> unpacked(std::string_view body) {
  Fields fields;
  while (!body.empty()) {
    if (body.size() < 4 || length_at(body) > body.size() - 4) return std::nullopt;
    const size_t length = length_at(body);
    fields.emplace_back(body.substr(4, length));
    body.remove_prefix(4 + length);
  }
  return fields;
}

void append_field(std::string& message, std::string_view field) {
  const auto length = uint32_t(field.size());
  message.append(reinterpret_cast<const char*>(&length), sizeof length).append(field);
}

void set_nonblocking(int socket) { fcntl(socket, F_SETFL, fcntl(socket, F_GETFL, 0) | O_NONBLOCK); }

// A socket of both versions of the protocol where the machine has them.
int listen_on(int port) {
  const int both = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int listener = both >= 0 ? both : ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) fail_system("no socket can be made");
  const int on = 1, off = 0;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int bound;
  if (both >= 0) {
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    address.sin6_port = htons(uint16_t(port));
    bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(port));
    bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  if (bound < 0 || listen(listener, 2048) < 0) {
    const int why = errno;
    close(listener);
    fail(ErrorKind::runtime, "TCPStore: the server socket has failed to listen on port ", port, ": ",
         std::strerror(why), ". Is another program using it? Choose another MASTER_PORT");
  }
  return listener;
}

int port_of(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) < 0)
    fail_system("the socket has no address");
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Fields yes_or_no(bool value) { return {value ? "1" : ""}; }

}  // namespace

bool StoreTable::has(const Fields& keys) const {
  return std::ranges::all_of(keys, [&](const std::string& key) { return values_.contains(key); });
}

int64_t StoreTable::add(const std::string& key, int64_t amount) {
  const auto found = values_.find(key);
  const std::optional<int64_t> before = found == values_.end() ? 0 : number(found->second);
  MT_CHECK_AS(value, before, "add: the value of ", key, " is no number");
  values_[key] = std::to_string(*before + amount);
  return *before + amount;
}

std::string StoreTable::compare_set(const std::string& key, const std::string& expected,
                                    const std::string& desired) {
  const auto found = values_.find(key);
  if (found == values_.end()) return expected.empty() ? values_[key] = desired : expected;
  if (found->second == expected) found->second = desired;
  return found->second;
}

Fields StoreTable::keys() const {
  Fields found;
  for (const auto& [key, value] : values_) found.push_back(key);
  return found;
}

size_t StoreTable::length(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : found->second.size();
}

std::string StoreTable::pop(const std::string& queue) {
  const auto found = queues_.find(queue);
  std::string value = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  return value;
}

StoreServer::StoreServer(int port, int listening) : listener_(listening >= 0 ? listening : listen_on(port)) {
  port_ = port_of(listener_);
  set_nonblocking(listener_);
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) < 0) fail_system("no pipe can be made");
  thread_ = std::thread([this] { serve(); });
}

StoreServer::~StoreServer() {
  closing_ = true;
  [[maybe_unused]] const ssize_t written = write(wake_[1], "x", 1);
  thread_.join();
  for (const auto& [socket, client] : clients_) close(socket);
  for (int each : {listener_, wake_[0], wake_[1]}) close(each);
}

void StoreServer::serve() {
  while (!closing_) {
    std::vector<pollfd> watched{{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    for (const auto& [socket, client] : clients_)
      watched.push_back({socket, short(POLLIN | (client.unsent.empty() ? 0 : POLLOUT)), 0});
    if (poll(watched.data(), nfds_t(watched.size()), pause()) < 0 && errno != EINTR) return;
    if (watched[0].revents) accept_all();
    for (const pollfd& each : std::span(watched).subspan(2)) {
      const auto found = clients_.find(each.fd);
      if (found == clients_.end() || !each.revents) continue;
      bool alive = !(each.revents & POLLOUT) || flush(each.fd, found->second);
      alive = alive && (!(each.revents & (POLLIN | POLLHUP | POLLERR)) || receive(each.fd, found->second));
      if (!alive) drop(each.fd);
    }
    answer_late();
  }
}

int StoreServer::pause() const {
  if (waiting_.empty()) return -1;
  const auto first = std::ranges::min(waiting_, {}, &Waiting::end).end;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now()).count() + 1;
  return int(std::clamp<int64_t>(left, 0, 1 << 30));
}

void StoreServer::accept_all() {
  for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    clients_.try_emplace(socket);
  }
}

void StoreServer::drop(int socket) {
  std::erase_if(waiting_, [&](const Waiting& each) { return each.client == socket; });
  clients_.erase(socket);
  close(socket);
}

bool StoreServer::receive(int socket, Client& client) {
  char bytes[1 << 16];
  const ssize_t count = recv(socket, bytes, sizeof bytes, 0);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (count == 0) return false;
  client.received.append(bytes, size_t(count));
  size_t at = 0;
  while (client.received.size() - at >= 4) {
    const size_t length = length_at(std::string_view(client.received).substr(at));
    if (length > kMostBytes) return false;
    if (client.received.size() - at - 4 < length) break;
    std::optional<Fields> fields = unpacked(std::string_view(client.received).substr(at + 4, length));
    at += 4 + length;
    if (!fields || !handle(socket, std::move(*fields))) return false;
  }
  client.received.erase(0, at);
  return true;
}

bool StoreServer::flush(int socket, Client& client) {
  const ssize_t sent = send(socket, client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  client.unsent.erase(0, size_t(sent));
  return true;
}

void StoreServer::answer(int socket, const char* state, const Fields& results) {
  const auto found = clients_.find(socket);
  if (found == clients_.end()) return;
  std::string body;
  append_field(body, state);
  for (const std::string& each : results) append_field(body, each);
  append_field(found->second.unsent, body);
  // One that is gone is dropped when it is read from.
  flush(socket, found->second);
}

void StoreServer::answer_ready() {
  for (size_t i = 0; i < waiting_.size();) {
    if (!waiting_[i].ready()) {
      ++i;
      continue;
    }
    const Waiting each = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + ptrdiff_t(i));
    answer(each.client, "done", each.answer());
    i = 0;  // what was taken from a queue is no more there for those before
  }
}

void StoreServer::answer_late() {
  const auto now = Clock::now();
  for (size_t i = 0; i < waiting_.size();) {
    if (waiting_[i].end > now) {
      ++i;
      continue;
    }
    const int client = waiting_[i].client;
    waiting_.erase(waiting_.begin() + ptrdiff_t(i));
    answer(client, "late");
  }
}

bool StoreServer::handle(int socket, Fields&& request) {
  if (request.size() < 2 || request[1].size() != 8) return false;
  const std::string operation = std::move(request[0]);
  uint64_t patience;
  std::memcpy(&patience, request[1].data(), sizeof patience);
  const auto end = Clock::now() + std::chrono::milliseconds(std::min<uint64_t>(patience, uint64_t(1) << 40));
  Fields given(std::make_move_iterator(request.begin() + 2), std::make_move_iterator(request.end()));

  const auto wait = [&](std::function<bool()> ready, std::function<Fields()> results) {
    waiting_.push_back({socket, end, std::move(ready), std::move(results)});
    answer_ready();
    return true;
  };
  const auto done = [&](const Fields& results = {}) {
    answer(socket, "done", results);
    answer_ready();
    return true;
  };
  const size_t count = given.size();
  if (operation == "set" && count % 2 == 0) {
    for (size_t i = 0; i < count; i += 2) table_.value(given[i]) = std::move(given[i + 1]);
    return done();
  }
  if (operation == "get") {
    return wait([this, given] { return table_.has(given); },
                [this, given] {
                  Fields values;
                  for (const std::string& key : given) values.push_back(table_.get(key));
                  return values;
                });
  }
  if (operation == "wait") return wait([this, given] { return table_.has(given); }, [] { return Fields(); });
  if (operation == "check") return done(yes_or_no(table_.has(given)));
  if (operation == "keys") return done(table_.keys());
  if (operation == "delete" && count == 1) return done(yes_or_no(table_.erase(given[0])));
  if (operation == "append" && count == 2) {
    table_.value(given[0]) += given[1];
    return done();
  }
  if (operation == "compare" && count == 3) return done({table_.compare_set(given[0], given[1], given[2])});
  if (operation == "add" && count == 2) {
    const std::optional<int64_t> amount = number(given[1]);
    if (!amount) return false;
    try {
      return done({std::to_string(table_.add(given[0], *amount))});
    } catch (const Error& error) {
      answer(socket, "wrong", {error.what()});
      return true;
    }
  }
  if (operation == "push" && count == 2) {
    table_.push(given[0], std::move(given[1]));
    return done();
  }
  if (operation == "length" && count == 1) return done({std::to_string(table_.length(given[0]))});
  if (operation == "pop" && count == 2) {
    if (given[1].empty() && table_.length(given[0]) == 0) {
      answer(socket, "empty");
      return true;
    }
    const std::string queue = given[0];
    return wait([this, queue] { return table_.length(queue) > 0; },
                [this, queue] { return Fields{table_.pop(queue)}; });
  }
  return false;
}

}  // namespace mt::distributed
