// Sums of products by the letters of an equation: pairs of tensors become batches of matrices.
#include <map>
#include <memory>

#include "kernels/common/copy.h"
#include "kernels/elementwise/functors.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reduce/reduce.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// "ij,jk->ik"
struct Equation {
  std::vector<std::string> inputs;
  std::string output;

  Equation(const Plan& plan, const char* given) {
    std::string text;
    for (const char* c = given == nullptr ? "" : given; *c != 0; ++c)
      if (*c != ' ') text += *c;
    const size_t arrow = text.find("->");
    if (arrow == std::string::npos) plan.invalid("the equation '", text, "' has no '->'");
    output = text.substr(arrow + 2);
    inputs.emplace_back();
    for (char c : text.substr(0, arrow)) {
      if (c == ',') inputs.emplace_back();
      else inputs.back() += c;
    }
    for (char c : text)
      if (!std::isalpha(static_cast<unsigned char>(c)) && c != ',' && c != '-' && c != '>')
        plan.invalid("the equation '", text, "' has the character '", c, "', wanted letters");
  }
};

// A tensor whose dimensions have letters. What it shows may be a temporary of its own.
struct Lettered {
  std::string letters;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  void* data;
  DType dtype;
  std::shared_ptr<Temporary> owned;

  int ndim() const { return int(letters.size()); }
  View view() const { return {data, sizes, strides, ndim(), dtype}; }
  int64_t size_of(const std::string& some) const {
    int64_t n = 1;
    for (char c : some) n *= sizes[letters.find(c)];
    return n;
  }
  // The same elements with the dimensions in another order.
  Lettered ordered(const std::string& order) const {
    Lettered result = *this;
    result.letters = order;
    for (size_t i = 0; i < order.size(); ++i) {
      result.sizes[i] = sizes[letters.find(order[i])];
      result.strides[i] = strides[letters.find(order[i])];
    }
    return result;
  }
};

// A letter that comes twice stands for the diagonal.
Lettered lettered(const View& view, const std::string& letters) {
  Lettered result{"", {}, {}, view.data, view.dtype, nullptr};
  for (size_t i = 0; i < letters.size(); ++i) {
    const size_t at = result.letters.find(letters[i]);
    if (at != std::string::npos) {
      result.strides[at] += view.strides[i];
      continue;
    }
    result.sizes[result.letters.size()] = view.sizes[i],
    result.strides[result.letters.size()] = view.strides[i];
    result.letters += letters[i];
  }
  return result;
}

Lettered fresh(const std::string& letters, const std::map<char, int64_t>& sizes, DType dtype) {
  MT_CHECK(letters.size() <= kMaxDims, "a product of the equation has more than ", kMaxDims, " dimensions");
  Lettered result{letters, {}, {}, nullptr, dtype, nullptr};
  for (size_t i = 0; i < letters.size(); ++i) result.sizes[i] = sizes.at(letters[i]);
  result.owned = std::make_shared<Temporary>(result.sizes, result.ndim(), dtype);
  result.data = result.owned->view().data;
  std::copy(result.owned->view().strides, result.owned->view().strides + result.ndim(), result.strides);
  return result;
}

// Sums over the letters that nobody else has.
Lettered summed(const Lettered& in, const std::string& kept, const std::map<char, int64_t>& sizes) {
  std::string left;
  for (char c : in.letters)
    if (kept.find(c) != std::string::npos) left += c;
  if (left == in.letters) return in;
  const Lettered result = fresh(left, sizes, in.dtype);
  int64_t out_sizes[kMaxDims], out_strides[kMaxDims];
  for (int i = 0; i < in.ndim(); ++i) {
    const size_t at = left.find(in.letters[size_t(i)]);
    out_sizes[i] = at == std::string::npos ? 1 : in.sizes[i];
    out_strides[i] = at == std::string::npos ? 0 : result.strides[at];
  }
  k::reduce<k::sum_op>(in.view(), {result.data, out_sizes, out_strides, in.ndim(), in.dtype});
  return result;
}

// Both as [batch, rows, inner] and [batch, inner, columns].
Lettered multiplied(const Lettered& a, const Lettered& b, const std::string& kept,
                    const std::map<char, int64_t>& sizes) {
  std::string batch, rows, inner, columns;
  for (char c : a.letters) {
    const bool shared = b.letters.find(c) != std::string::npos, stays = kept.find(c) != std::string::npos;
    (shared ? (stays ? batch : inner) : rows) += c;
  }
  for (char c : b.letters)
    if (a.letters.find(c) == std::string::npos) columns += c;
  const Lettered result = fresh(batch + rows + columns, sizes, a.dtype);
  const Lettered left = a.ordered(batch + rows + inner), right = b.ordered(batch + inner + columns);
  const ReadAs first(left.view(), a.dtype), second(right.view(), a.dtype);
  const int64_t n = a.size_of(batch), m = a.size_of(rows), depth = a.size_of(inner),
                width = b.size_of(columns);
  const int64_t a_sizes[] = {n, m, depth}, a_strides[] = {m * depth, depth, 1}, b_sizes[] = {n, depth, width},
                b_strides[] = {depth * width, width, 1}, c_sizes[] = {n, m, width},
                c_strides[] = {m * width, width, 1};
  k::bmm({first.view().data, a_sizes, a_strides, 3, a.dtype},
         {second.view().data, b_sizes, b_strides, 3, a.dtype}, {result.data, c_sizes, c_strides, 3, a.dtype},
         Scalar(1), Scalar(0));
  return result;
}

}  // namespace

void Einsum(Plan& plan, const aclTensorList* tensors, const char* equation, aclTensor* output) {
  const std::vector<Operand> inputs = plan.inputs(tensors, "tensors");
  const Operand to = plan.output(output, "output");
  const Equation letters(plan, equation);
  if (inputs.size() != letters.inputs.size() || inputs.empty())
    plan.invalid("the equation has ", letters.inputs.size(), " terms for ", inputs.size(), " tensors");
  plan.require_dtype(to, "output", domains::numeric);
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    plan.require_same_dtype(inputs[i], "tensors", to, "output");
    plan.require_ndim(inputs[i], "tensors", int(letters.inputs[i].size()));
    for (int d = 0; d < inputs[i].ndim; ++d) {
      const auto [found, added] = sizes.emplace(letters.inputs[i][size_t(d)], inputs[i].sizes[d]);
      if (found->second != inputs[i].sizes[d])
        plan.invalid("the letter '", found->first, "' stands for ", found->second, " and ",
                     inputs[i].sizes[d]);
    }
  }
  std::vector<int64_t> wanted;
  for (char c : letters.output) {
    if (!sizes.contains(c) || std::count(letters.output.begin(), letters.output.end(), c) != 1)
      plan.invalid("the letter '", c, "' of the result must come once, and in a tensor");
    wanted.push_back(sizes.at(c));
  }
  plan.require_shape(to, "output", wanted);
  plan.run([=](const aclOpExecutor& e) {
    auto needed = [&](size_t from) {  // letters of the result and of tensors that are still to come
      std::string all = letters.output;
      for (size_t i = from; i < inputs.size(); ++i) all += letters.inputs[i];
      return all;
    };
    auto term = [&](size_t i) { return lettered(inputs[i].view(e), letters.inputs[i]); };
    Lettered product = summed(term(0), needed(1), sizes);
    for (size_t i = 1; i < inputs.size(); ++i) {
      const Lettered next = term(i);
      const std::string later = needed(i + 1);
      product = multiplied(product, summed(next, later + product.letters, sizes), later, sizes);
      product = summed(product, later, sizes);
    }
    k::copy(product.ordered(letters.output).view(), to.view(e));
  });
}

}  // namespace softnpu::ops
