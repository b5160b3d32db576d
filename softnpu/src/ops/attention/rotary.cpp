// Rotary position embeddings.
#include "kernels/attention/rotary.h"

#include <algorithm>
#include <array>

#include "kernels/matmul/matmul.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

k::Rotation rotation_of(const Plan& plan, int64_t mode) {
  if (mode < 0 || mode > 3)
    plan.invalid("mode is ", mode, ", wanted 0 (half), 1 (interleave), 2 (quarter) or 3 (interleave-half)");
  return k::Rotation(mode);
}
k::Rotation rotation_of(const Plan& plan, std::string_view mode) {
  if (mode == "half") return k::Rotation::half;
  if (mode == "interleave") return k::Rotation::neighbours;
  if (mode == "quarter") return k::Rotation::quarter;
  plan.invalid("rotaryMode is '", mode, "', wanted 'half', 'interleave' or 'quarter'");
}

void require_angles(const Plan& plan, const Operand& x, const Operand& cos, const Operand& sin,
                    k::Rotation rotation) {
  plan.require_dtype(x, "x", domains::floating);
  plan.require_dtype(cos, "cos", domains::floating);
  plan.require_same_shape(cos, "cos", sin, "sin");
  plan.require_same_dtype(cos, "cos", sin, "sin");
  plan.require_broadcast(cos, "cos", x);
  const int64_t unit = rotation == k::Rotation::quarter ? 4 : 2;
  if (x.ndim == 0 || x.sizes[x.ndim - 1] % unit != 0)
    plan.invalid("tensor 'x' has shape ", shape_text(x), ", whose last dimension must be a multiple of ",
                 unit);
}

void rotate(Plan& plan, const aclTensor* x, const aclTensor* cos, const aclTensor* sin, k::Rotation rotation,
            const aclTensor* out) {
  const Operand in = plan.input(x, "x"), c = plan.input(cos, "cos"), s = plan.input(sin, "sin"),
                to = plan.output(out, "out");
  require_angles(plan, in, c, s, rotation);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(in, "x", to, "out");
  plan.run(
      [=](const aclOpExecutor& e) { k::rotary(in.view(e), c.view(e), s.view(e), rotation, to.view(e)); });
}

// In place, the first part of each row where the angles are fewer.
void rotate_both(Plan& plan, const aclTensor* queryRef, const aclTensor* keyRef, const aclTensor* cos,
                 const aclTensor* sin, int64_t layout, k::Rotation rotation) {
  Operand query = plan.output(queryRef, "queryRef"), key = plan.output(keyRef, "keyRef");
  const Operand c = plan.input(cos, "cos"), s = plan.input(sin, "sin");
  if (layout < 1 || layout > 4) plan.invalid("layout is ", layout, ", wanted 1 to 4");
  for (Operand* operand : {&query, &key}) {
    if (operand->ndim < 1 || c.ndim < 1 || operand->sizes[operand->ndim - 1] < c.sizes[c.ndim - 1])
      plan.invalid("tensors 'queryRef', 'keyRef' and 'cos' have shapes ", shape_text(query), ", ",
                   shape_text(key), " and ", shape_text(c), ", whose last dimensions do not fit");
    *operand = narrowed(*operand, operand->ndim - 1, 0, c.sizes[c.ndim - 1]);
    require_angles(plan, *operand, c, s, rotation);
  }
  plan.run([=](const aclOpExecutor& e) {
    k::rotary(query.view(e), c.view(e), s.view(e), rotation, query.view(e));
    k::rotary(key.view(e), c.view(e), s.view(e), rotation, key.view(e));
  });
}

}  // namespace

void RotaryPositionEmbedding(Plan& plan, const aclTensor* x, const aclTensor* cos, const aclTensor* sin,
                             int64_t mode, aclTensor* out) {
  rotate(plan, x, cos, sin, rotation_of(plan, mode), out);
}
// `rotate` [D, D] says instead of the mode how a row is turned by a right angle: x @ rotate.
void RotaryPositionEmbeddingV2(Plan& plan, const aclTensor* x, const aclTensor* cos, const aclTensor* sin,
                               int64_t mode, const aclTensor* rotate, aclTensor* out) {
  const k::Rotation rotation = rotation_of(plan, mode);
  if (rotate == nullptr) return ops::rotate(plan, x, cos, sin, rotation, out);
  const Operand in = plan.input(x, "x"), c = plan.input(cos, "cos"), s = plan.input(sin, "sin"),
                matrix = plan.input(rotate, "rotate"), to = plan.output(out, "out");
  require_angles(plan, in, c, s, rotation);
  plan.require_same_shape(in, "x", to, "out");
  plan.require_dtype(to, "out", domains::floating);
  const int64_t width = in.sizes[in.ndim - 1];
  plan.require_shape(matrix, "rotate", {width, width});
  plan.run([=](const aclOpExecutor& e) {
    const View from = in.view(e);
    const k::DenseInput<float> row(from), turn(matrix.view(e));
    const k::Temporary turned(from, DType::float32), cosines(from, DType::float32),
        sines(from, DType::float32);
    k::copy(c.view(e), cosines.view());
    k::copy(s.view(e), sines.view());
    const int64_t sizes[2] = {width == 0 ? 0 : row.numel() / width, width}, strides[2] = {width, 1},
                  square[2] = {width, width};
    k::gemm({const_cast<float*>(row.data()), sizes, strides, 2, DType::float32},
            {const_cast<float*>(turn.data()), square, strides, 2, DType::float32},
            {turned.view().data, sizes, strides, 2, DType::float32}, Scalar(1), Scalar(0));
    const k::DenseOutput<float> result(to.view(e));
    for (int64_t i = 0; i < result.numel(); ++i)
      result[i] =
          row[i] * cosines.view().as<float>()[i] + turned.view().as<float>()[i] * sines.view().as<float>()[i];
    result.store();
  });
}
void RotaryPositionEmbeddingGrad(Plan& plan, const aclTensor* dy, const aclTensor* cos, const aclTensor* sin,
                                 const aclTensor* xOptional, int64_t mode, const aclTensor* dxOut,
                                 const aclTensor* dcosOut, const aclTensor* dsinOut) {
  const Operand grad = plan.input(dy, "dy"), c = plan.input(cos, "cos"), s = plan.input(sin, "sin");
  const std::optional<Operand> x = unless_empty(plan.optional_input(xOptional, "x"));
  const Operand dx = plan.output(dxOut, "dxOut");
  const std::optional<Operand> dc = unless_empty(optional_output(plan, dcosOut, "dcosOut")),
                               ds = unless_empty(optional_output(plan, dsinOut, "dsinOut"));
  const k::Rotation rotation = rotation_of(plan, mode);
  require_angles(plan, grad, c, s, rotation);
  plan.require_same_shape(grad, "dy", dx, "dxOut");
  if (x) plan.require_same_shape(grad, "dy", *x, "x");
  // Without x there are no gradients of the angles.
  if (x && dc) plan.require_same_shape(*dc, "dcosOut", c, "cos");
  if (x && ds) plan.require_same_shape(*ds, "dsinOut", s, "sin");
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView values(x, e), to_cos(dc, e), to_sin(ds, e);
    k::rotary_backward(grad.view(e), c.view(e), s.view(e), values.get(), rotation, dx.view(e),
                       x ? to_cos.get() : nullptr, x ? to_sin.get() : nullptr);
  });
}

void ApplyRotaryPosEmb(Plan& plan, aclTensor* queryRef, aclTensor* keyRef, const aclTensor* cos,
                       const aclTensor* sin, int64_t layout) {
  rotate_both(plan, queryRef, keyRef, cos, sin, layout, k::Rotation::half);
}
void ApplyRotaryPosEmbV2(Plan& plan, aclTensor* queryRef, aclTensor* keyRef, const aclTensor* cos,
                         const aclTensor* sin, int64_t layout, char* rotaryMode) {
  rotate_both(plan, queryRef, keyRef, cos, sin, layout, rotation_of(plan, text_of(rotaryMode, "half")));
}
void InterleaveRope(Plan& plan, const aclTensor* x, const aclTensor* cos, const aclTensor* sin,
                    aclTensor* out) {
  rotate(plan, x, cos, sin, k::Rotation::neighbours_to_halves, out);
}

namespace {

// Row p of the cache holds the cosines and then the sines of position p, one for each pair. Tokens in space have several
// positions, [axes, tokens]: each pair belongs to an axis.
struct AngleCache {
  Operand positions, cache;
  int64_t head_size;
  bool halves;                // pairs lie half a row apart; else they are neighbours
  std::vector<int64_t> axes;  // of each pair; none: there is only one

  int64_t width() const { return cache.sizes[1]; }
  int64_t tokens() const { return positions.sizes[positions.ndim - 1]; }

  // The angles of the tokens, each for both numbers of its pair: [tokens, 1, width].
  void read(const aclOpExecutor& e, const k::Temporary& cos, const k::Temporary& sin) const {
    const k::DenseInput<int64_t> at(positions.view(e));
    const k::DenseInput<float> rows(cache.view(e));
    const int64_t pairs = width() / 2;
    for (int64_t i = 0; i < at.numel(); ++i)
      if (at[i] < 0 || at[i] >= cache.sizes[0])
        mt::fail(mt::ErrorKind::index, "position ", at[i], " is out of range for a cache of ", cache.sizes[0],
                 " rows");
    for (int64_t t = 0; t < tokens(); ++t)
      for (int64_t i = 0; i < width(); ++i) {
        const int64_t pair = halves ? i % pairs : i / 2;
        const float* row = rows.data() + at[(axes.empty() ? 0 : axes[size_t(pair)]) * tokens() + t] * width();
        cos.view().as<float>()[t * width() + i] = row[pair];
        sin.view().as<float>()[t * width() + i] = row[pairs + pair];
      }
  }
  // [tokens, heads * head size] seen as [tokens, heads, head size].
  Operand heads_of(const Plan& plan, const Operand& tensor, const char* name) const {
    plan.require_ndim(tensor, name, 2);
    plan.require_dtype(tensor, name, domains::floating);
    if (tensor.sizes[0] != tokens() || tensor.sizes[1] % head_size != 0)
      plan.invalid("tensor '", name, "' has shape ", shape_text(tensor), ", wanted ", tokens(),
                   " tokens with heads of ", head_size);
    Operand result = unsqueezed(tensor, 1);
    result.sizes[1] = tensor.sizes[1] / head_size, result.strides[1] = tensor.strides[1] * head_size;
    result.sizes[2] = head_size;
    return result;
  }
};

// Which axis each pair belongs to: one after the other in sections, or axes 1 and 2 in turn between those of axis 0.
std::vector<int64_t> axes_of_pairs(const Plan& plan, const std::vector<int64_t>& sections, int64_t pairs,
                                   int64_t mode) {
  if (mode < 0 || mode > 1) plan.invalid("cacheMode is ", mode, ", wanted 0 (sections) or 1 (in turn)");
  if (sections.empty()) return {};
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < sections.size(); ++axis) {
    if (sections[axis] < 0) plan.invalid("mropeSection holds ", sections[axis]);
    axes.insert(axes.end(), size_t(sections[axis]), int64_t(axis));
  }
  if (int64_t(axes.size()) != pairs)
    plan.invalid("mropeSection adds up to ", axes.size(), ", wanted ", pairs, " pairs");
  if (mode == 0) return axes;
  if (sections.size() != 3) plan.invalid("cacheMode 1 wants three sections, got ", sections.size());
  for (int64_t pair = 0; pair < pairs; ++pair) axes[size_t(pair)] = pair < 3 * sections[1] ? pair % 3 : 0;
  return axes;
}

void rotate_by_cache(Plan& plan, const aclTensor* positions, const aclTensor* queryIn, const aclTensor* keyIn,
                     const aclTensor* cosSinCache, const aclIntArray* mropeSection, int64_t headSize,
                     bool isNeoxStyle, int64_t cacheMode, const aclTensor* queryOut,
                     const aclTensor* keyOut) {
  const Operand places = plan.input(positions, "positions"), query = plan.input(queryIn, "queryIn"),
                key = plan.input(keyIn, "keyIn"), cache = plan.input(cosSinCache, "cosSinCache"),
                to_query = plan.output(queryOut, "queryOut"), to_key = plan.output(keyOut, "keyOut");
  plan.require_dtype(places, "positions", k::dtype_set(DType::int32, DType::int64));
  plan.require_ndim(cache, "cosSinCache", 2);
  plan.require_dtype(cache, "cosSinCache", domains::floating);
  if (headSize < 1 || cache.sizes[1] % 2 != 0 || cache.sizes[1] > headSize)
    plan.invalid("tensor 'cosSinCache' has shape ", shape_text(cache), ", wanted pairs for at most ",
                 headSize, " numbers");
  plan.require_same_shape(query, "queryIn", to_query, "queryOut");
  plan.require_same_shape(key, "keyIn", to_key, "keyOut");
  std::vector<int64_t> sections = optional_list(mropeSection);
  if (std::all_of(sections.begin(), sections.end(), [](int64_t part) { return part == 0; })) sections.clear();
  if (sections.empty()) plan.require_ndim(places, "positions", 1);
  else {
    plan.require_ndim(places, "positions", 2);
    plan.require_shape(places, "positions", {int64_t(sections.size()), places.sizes[1]});
  }
  const AngleCache angles{places, cache, headSize, isNeoxStyle,
                          axes_of_pairs(plan, sections, cache.sizes[1] / 2, cacheMode)};
  struct Turn {
    Operand from, to;
  };
  const std::array turns{
      Turn{angles.heads_of(plan, query, "queryIn"), angles.heads_of(plan, to_query, "queryOut")},
      Turn{angles.heads_of(plan, key, "keyIn"), angles.heads_of(plan, to_key, "keyOut")}};
  plan.run([=](const aclOpExecutor& e) {
    const std::vector<int64_t> shape{angles.tokens(), 1, angles.width()};
    const k::Temporary cos(shape, DType::float32), sin(shape, DType::float32);
    angles.read(e, cos, sin);
    for (const Turn& turn : turns) {
      // What lies beyond the angles stays as it is.
      const int64_t rest = headSize - angles.width();
      const Operand kept = narrowed(turn.from, 2, angles.width(), rest),
                    to_kept = narrowed(turn.to, 2, angles.width(), rest),
                    turned = narrowed(turn.from, 2, 0, angles.width()),
                    to_turned = narrowed(turn.to, 2, 0, angles.width());
      k::copy(kept.view(e), to_kept.view(e));
      k::rotary(turned.view(e), cos.view(), sin.view(),
                isNeoxStyle ? k::Rotation::half : k::Rotation::neighbours, to_turned.view(e));
    }
  });
}

}  // namespace

void RopeWithSinCosCache(Plan& plan, const aclTensor* positions, const aclTensor* queryIn,
                         const aclTensor* keyIn, const aclTensor* cosSinCache,
                         const aclIntArray* mropeSection, int64_t headSize, bool isNeoxStyle,
                         aclTensor* queryOut, aclTensor* keyOut) {
  rotate_by_cache(plan, positions, queryIn, keyIn, cosSinCache, mropeSection, headSize, isNeoxStyle, 0,
                  queryOut, keyOut);
}
void RopeWithSinCosCacheV2(Plan& plan, const aclTensor* positions, const aclTensor* queryIn,
                           const aclTensor* keyIn, const aclTensor* cosSinCache,
                           const aclIntArray* mropeSection, int64_t headSize, bool isNeoxStyle,
                           int64_t cacheMode, aclTensor* queryOut, aclTensor* keyOut) {
  rotate_by_cache(plan, positions, queryIn, keyIn, cosSinCache, mropeSection, headSize, isNeoxStyle,
                  cacheMode, queryOut, keyOut);
}

}  // namespace softnpu::ops
