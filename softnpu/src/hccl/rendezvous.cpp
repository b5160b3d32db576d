#include "hccl/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "hccl/failure.h"
#include "runtime/futex.h"

namespace softnpu::hccl {
namespace {

constexpr int kRetryMilliseconds = 5;

uint32_t seconds_from(const char* variable, uint32_t usual, uint32_t least, uint32_t most) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == 0) return usual;
  uint32_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, problem] = std::from_chars(text, end, value);
  if (problem != std::errc() || stop != end || value < least || value > most)
    refuse(HCCL_E_PARA, variable, " is '", text, "'; wanted seconds, from ", least, " to ", most);
  return value;
}

// A local socket with an abstract name: no file, nothing to clean up.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) refuse(HCCL_E_SYSCALL, "no socket: ", std::strerror(errno));
  }
  Socket() : Socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  Socket(const Socket&) = delete;
  ~Socket() { close(descriptor_); }

  operator int() const { return descriptor_; }

  // Whether the other end belongs to the same user.
  bool trusted() const {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
  }

 private:
  int descriptor_;
};

struct Name {
  explicit Name(const std::string& text) {
    address.sun_family = AF_UNIX;
    // The first byte stays 0, which makes the name abstract; a long one is told apart by what it ends in.
    const size_t room = sizeof address.sun_path - 1, used = std::min(room, text.size());
    std::memcpy(address.sun_path + 1, text.data() + text.size() - used, used);
    length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + used);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t length;
};

void pause_before_retry() { std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMilliseconds)); }

bool is_late(int64_t start) { return now_ns() - start > int64_t(connect_timeout()) * 1'000'000'000; }

void send_root_info(int listener, const HcclRootInfo& info) {
  const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) return;
  const Socket peer(accepted);
  // The bytes fit into the socket's buffer. Who does not read them tries again.
  if (peer.trusted()) (void)send(peer, info.internal, sizeof info.internal, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::unique_ptr<Segment> serve(const std::string& name, uint32_t ranks, int32_t device) {
  const Socket listener;
  const Name address(name);
  const int64_t start = now_ns();
  while (bind(listener, address.get(), address.length) != 0) {
    if (errno != EADDRINUSE) refuse(HCCL_E_SYSCALL, "no socket named ", name, ": ", std::strerror(errno));
    if (is_late(start)) refuse(HCCL_E_TIMEOUT, "another program is rank 0 of '", name, "'");
    pause_before_retry();
  }
  if (listen(listener, int(ranks)) != 0) refuse(HCCL_E_SYSCALL, "cannot listen: ", std::strerror(errno));
  const OwnRootInfo root;
  std::unique_ptr<Segment> segment;
  Segment::attach(root.info, ranks, 0, device, &segment);
  while (!segment->complete()) {
    pollfd waiting{listener, POLLIN, 0};
    if (poll(&waiting, 1, kRetryMilliseconds) > 0) send_root_info(listener, root.info);
    if (!segment->complete()) segment->check_joining(start, connect_timeout());
  }
  segment->wait_until_complete(connect_timeout());
  return segment;
}

bool receive_root_info(const Name& address, HcclRootInfo* info) {
  const Socket connection;
  if (connect(connection, address.get(), address.length) != 0 || !connection.trusted()) return false;
  size_t received = 0;
  while (received < sizeof info->internal) {
    pollfd waiting{connection, POLLIN, 0};
    if (poll(&waiting, 1, 1000) <= 0) return false;
    const ssize_t bytes = recv(connection, info->internal + received, sizeof info->internal - received, 0);
    if (bytes <= 0) return false;
    received += size_t(bytes);
  }
  return true;
}

}  // namespace

// The least is 120 with a card; here a test may want to see a time-out soon.
uint32_t connect_timeout() { return seconds_from("HCCL_CONNECT_TIMEOUT", 120, 1, 7200); }
uint32_t exec_timeout() { return seconds_from("HCCL_EXEC_TIMEOUT", 1836, 0, 2147483647); }

std::unique_ptr<Segment> join_by_root_info(const HcclRootInfo& info, uint32_t ranks, uint32_t rank,
                                           int32_t device) {
  const uint32_t seconds = connect_timeout();
  std::unique_ptr<Segment> segment;
  if (Segment::attach(info, ranks, rank, device, &segment) == Segment::Join::full)
    refuse(HCCL_E_PARA, "all ranks of this rootInfo have joined already; rank ", rank, " is one too many");
  segment->wait_until_complete(seconds);
  return segment;
}

std::unique_ptr<Segment> join_by_name(const std::string& name, uint32_t ranks, uint32_t rank,
                                      int32_t device) {
  const std::string full_name = "softnpu-hccl-" + std::to_string(geteuid()) + "-" + name;
  if (rank == 0) return serve(full_name, ranks, device);
  const Name address(full_name);
  const int64_t start = now_ns();
  HcclRootInfo info;
  std::unique_ptr<Segment> segment;
  // A full segment belongs to an earlier communicator of the same name, which rank 0 is about to be done with.
  while (!receive_root_info(address, &info) ||
         Segment::attach(info, ranks, rank, device, &segment) == Segment::Join::full) {
    if (is_late(start))
      refuse(HCCL_E_TIMEOUT, "rank ", rank, " waited ", connect_timeout(),
             " s (HCCL_CONNECT_TIMEOUT) for rank 0 of ", ranks, ", which did not answer");
    pause_before_retry();
  }
  segment->wait_until_complete(connect_timeout());
  return segment;
}

}  // namespace softnpu::hccl
