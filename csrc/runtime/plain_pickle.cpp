#include "runtime/plain_pickle.h"

#include <vector>

#include "base/error.h"

namespace mt::runtime {
namespace {

// What Python's objects weigh, rounded up.
constexpr size_t kNumber = 32, kText = 56, kTuple = 56, kList = 72, kDict = 240, kItem = 16, kPair = 110;
constexpr size_t kMemoEntry = 16;

class Machine {
 public:
  Machine(std::string_view pickle, size_t most_bytes) : pickle_(pickle), most_(most_bytes) {}

  size_t run() {
    if (pickle_.size() < 2 || uint8_t(pickle_[0]) != 0x80)
      bad("it does not begin as a pickle of protocol 2 or newer does");
    while (!step()) {}
    return weight_;
  }

 private:
  [[noreturn]] void bad(std::string_view why) const {
    fail(ErrorKind::value, "not a plain pickle: ", why, " (byte ", at_, " of ", pickle_.size(), ")");
  }
  uint64_t number(int bytes) {
    if (pickle_.size() - at_ < size_t(bytes)) bad("it ends too early");
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint64_t(uint8_t(pickle_[at_ + size_t(i)])) << 8 * i;
    at_ += size_t(bytes);
    return value;
  }
  void skip(uint64_t bytes) {
    if (pickle_.size() - at_ < bytes) bad("it ends too early");
    at_ += size_t(bytes);
  }
  void weigh(size_t bytes) {
    weight_ += bytes;
    if (weight_ > most_)
      fail(ErrorKind::value, "the snapshot would take more than ", most_,
           " bytes of memory when it is read; raise the limit if that is what you want");
  }
  void push(size_t bytes) {
    weigh(bytes);
    ++depth_;
  }
  void pop(size_t values) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (depth_ - floor < values) bad("it takes a value that is not there");
    depth_ -= values;
  }
  size_t pop_to_mark() {
    if (marks_.empty()) bad("it closes what it has not opened");
    const size_t values = depth_ - marks_.back();
    depth_ = marks_.back();
    marks_.pop_back();
    return values;
  }
  void text(uint64_t bytes) {
    skip(bytes);
    push(kText + size_t(bytes));
  }
  void need(size_t values) {
    pop(values);
    depth_ += values;
  }
  void put(uint64_t index) {
    need(1);
    // Writers count; a reader makes a table as long as the largest number.
    if (index > memo_) bad("it numbers values as no writer does");
    if (index == memo_) ++memo_, weigh(kMemoEntry);
  }
  void get(uint64_t index) {
    if (index >= memo_) bad("it repeats a value that is not there");
    push(0);
  }
  // One instruction; true at the end.
  bool step() {
    switch (const uint64_t code = number(1)) {
      case 0x80:  // PROTO
        if (const uint64_t protocol = number(1); protocol < 2 || protocol > 5) bad("of an unknown protocol");
        break;
      case 0x95: number(8); break;  // FRAME
      case 'N':
      case 0x88:
      case 0x89: push(0); break;                  // NONE, NEWTRUE, NEWFALSE
      case 'J': number(4), push(kNumber); break;  // BININT
      case 'K': number(1), push(kNumber); break;  // BININT1
      case 'M': number(2), push(kNumber); break;  // BININT2
      case 'G': number(8), push(kNumber); break;  // BINFLOAT
      case 0x8a: {                                // LONG1
        const uint64_t bytes = number(1);
        if (bytes > 16) bad("a number of more than 16 bytes");
        skip(bytes), push(kNumber);
        break;
      }
      case 0x8c: text(number(1)); break;  // SHORT_BINUNICODE
      case 'X': text(number(4)); break;   // BINUNICODE
      case 0x8d: text(number(8)); break;  // BINUNICODE8
      case ')': push(kTuple); break;      // EMPTY_TUPLE
      case ']': push(kList); break;       // EMPTY_LIST
      case '}': push(kDict); break;       // EMPTY_DICT
      case '(':                           // MARK
        marks_.push_back(depth_);
        weigh(kItem);
        break;
      case 't': push_made(kTuple, pop_to_mark() * kItem); break;  // TUPLE
      case 'l': push_made(kList, pop_to_mark() * kItem); break;   // LIST
      case 'd': {                                                 // DICT
        const size_t values = pop_to_mark();
        if (values % 2) bad("a key without a value");
        push_made(kDict, values / 2 * kPair);
        break;
      }
      case 0x85: pop(1), push(kTuple + kItem); break;          // TUPLE1
      case 0x86: pop(2), push(kTuple + 2 * kItem); break;      // TUPLE2
      case 0x87: pop(3), push(kTuple + 3 * kItem); break;      // TUPLE3
      case 'a': pop(1), need(1), weigh(kItem); break;          // APPEND
      case 's': pop(2), need(1), weigh(kPair); break;          // SETITEM
      case 'e': weigh(pop_to_mark() * kItem), need(1); break;  // APPENDS
      case 'u': {                                              // SETITEMS
        const size_t values = pop_to_mark();
        if (values % 2) bad("a key without a value");
        weigh(values / 2 * kPair), need(1);
        break;
      }
      case 0x94: put(memo_); break;     // MEMOIZE
      case 'q': put(number(1)); break;  // BINPUT
      case 'r': put(number(4)); break;  // LONG_BINPUT
      case 'h': get(number(1)); break;  // BINGET
      case 'j': get(number(4)); break;  // LONG_BINGET
      case '.':                         // STOP
        if (depth_ != 1 || !marks_.empty()) bad("it does not end with one value");
        if (at_ != pickle_.size()) bad("something follows its end");
        return true;
      default: bad(join_text("instruction ", code, " is for more than plain data, and is not run"));
    }
    return false;
  }
  void push_made(size_t bytes, size_t items) { push(bytes + items); }

  const std::string_view pickle_;
  const size_t most_;
  size_t at_ = 0, depth_ = 0, memo_ = 0, weight_ = 0;
  std::vector<size_t> marks_;
};

}  // namespace

size_t check_plain_pickle(std::string_view pickle, size_t most_bytes) {
  return Machine(pickle, most_bytes).run();
}

}  // namespace mt::runtime
