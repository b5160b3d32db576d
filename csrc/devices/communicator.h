// One process's end of a group of devices that a vendor's library connects.
//
// Collectives are enqueued on the current stream of the device and never wait on the host. Tensors are contiguous, on the
// communicator's device, and must live until the stream has come past them: that is the caller's care
// (distributed/stream_lane.h). A vendor's class says how its library is called; checks, the types that elements travel
// as, observation and failures are the same for all.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "devices/failure_watch.h"
#include "devices/stream_accelerator.h"

namespace mt::devices {

enum class Reduction : int { sum = 0, product = 1, max = 2, min = 3 };  // as the vendors count them

class Communicator {
 public:
  virtual ~Communicator() = default;  // who is not closed stays connected: the process may be ending
  Communicator(const Communicator&) = delete;

  int device() const { return device_; }
  // What failed while the host was elsewhere; empty: nothing.
  std::string problem();
  // `orderly`: after the streams that used it have ended; otherwise what is under way is given up.
  void close(bool orderly);
  // Gives up what is under way, and says why to whoever waits for the device next.
  void abort(const std::string& why);

  void all_reduce(const Tensor& tensor, Reduction op);
  void reduce(const Tensor& tensor, uint32_t root, Reduction op);
  void broadcast(const Tensor& tensor, uint32_t root);
  void all_gather(const Tensor& out, const Tensor& tensor);
  void reduce_scatter(const Tensor& out, const Tensor& tensor, Reduction op);
  void scatter(const Tensor& out, const Tensor& tensor, uint32_t root);  // only the root has a tensor
  // Counts are elements for and from each rank, in order.
  void all_to_all(const Tensor& out, const Tensor& tensor, const std::vector<int64_t>& out_counts,
                  const std::vector<int64_t>& counts);
  void send(const Tensor& tensor, uint32_t peer);
  void receive(const Tensor& tensor, uint32_t peer);
  void barrier();

 protected:
  // How elements travel: those that the library has no type for as parts that it has.
  struct Wire {
    int type;
    int parts = 1;           // of an element
    bool arithmetic = true;  // sums of the parts are sums of the elements
  };
  struct Buffer {
    void* data;
    uint64_t count;
    int type;
    size_t size;  // of one that is counted
  };
  struct Parts {
    std::vector<uint64_t> counts, begins;
  };
  // The library's functions, by which works are known in traces and messages.
  struct Names {
    const char *all_reduce, *reduce, *broadcast, *all_gather, *reduce_scatter, *scatter, *all_to_all, *send,
        *receive, *barrier;
  };

  Communicator(StreamAccelerator& accelerator, int device, uint32_t ranks, uint32_t rank, std::string name)
      : accelerator_(accelerator), device_(device), ranks_(ranks), rank_(rank), name_(std::move(name)) {}
  void connected();  // by the vendor's class, once it is

  virtual const Names& names() const = 0;
  virtual Wire wire(DType dtype) const = 0;
  // The code of what failed on the device, and its text; 0: nothing did.
  virtual int failure(std::string* text) = 0;
  virtual void end(bool orderly) = 0;  // without Python's lock

  virtual void call_all_reduce(const Buffer& data, Reduction op, void* stream) = 0;
  virtual void call_reduce(const Buffer& data, Reduction op, uint32_t root, void* stream) = 0;
  virtual void call_broadcast(const Buffer& data, uint32_t root, void* stream) = 0;
  virtual void call_all_gather(const Buffer& out, const Buffer& data, void* stream) = 0;
  virtual void call_reduce_scatter(const Buffer& out, const Buffer& data, Reduction op, void* stream) = 0;
  virtual void call_scatter(const Buffer& out, const Buffer& data, uint32_t root, void* stream) = 0;
  virtual void call_all_to_all(const Buffer& out, const Parts& receives, const Buffer& data,
                               const Parts& sends, void* stream) = 0;
  virtual void call_send(const Buffer& data, uint32_t peer, void* stream) = 0;
  virtual void call_receive(const Buffer& out, uint32_t peer, void* stream) = 0;
  virtual void call_barrier(void* stream) = 0;

  StreamAccelerator& accelerator_;
  const int device_;
  const uint32_t ranks_, rank_;
  const std::string name_;

 private:
  Buffer buffer(const Tensor& tensor, const char* function) const;
  Parts parts(const Tensor& tensor, const std::vector<int64_t>& counts, const char* what) const;
  Reduction reduction(const Tensor& tensor, Reduction op, const char* function) const;
  template <class Call>
  void launch(const char* function, uint64_t bytes, const Call& call);
  int found_failure(std::string* text);
  void report_failure(bool told);  // throws the first time, unless somebody was told

  std::mutex mutex_;  // over the rest
  bool open_ = false, reported_ = false;
  std::string given_up_;  // why it was
  std::optional<FailureWatch> watch_;
};

}  // namespace mt::devices
