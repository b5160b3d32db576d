// Lists of tensors: arithmetic with other lists and with numbers.
#include "op_plans.h"
#include "ops/foreach/foreach.h"

namespace softnpu::ops {

using lists::Numbers;

namespace {

const Scalar kOne(int64_t(1));

template <class Op>
void list(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* out) {
  lists::binary<Op>(plan, lists::Two(plan, x1, x2), Numbers::all(kOne), out);
}

// alpha is a number or a tensor with one.
template <class Op, class Alpha>
void scaled_list(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const Alpha* alpha,
                 const aclTensorList* out) {
  const lists::Two x(plan, x1, x2);
  lists::binary<Op>(plan, x, Numbers::all(plan, alpha, "alpha"), out);
}

template <class Op, class Value>
void addc(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* x3,
          const Value* scalar, const aclTensorList* out) {
  const lists::Three x(plan, x1, x2, x3);
  lists::ternary<Op>(plan, x, Numbers::all(plan, scalar, "scalar"), out);
}
template <class Op>
void addc_each(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* x3,
               const aclTensor* scalars, const aclTensorList* out) {
  const lists::Three x(plan, x1, x2, x3);
  lists::ternary<Op>(plan, x, Numbers::each(plan, scalars, "scalars", x.a.size()), out);
}

}  // namespace

// One macro per shape of arguments: the variants of an operator differ in the functor alone.
#define FOREACH_LIST(NAME, FUNCTOR)                                                                   \
  void NAME(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* out) { \
    list<k::FUNCTOR>(plan, x1, x2, out);                                                              \
  }
#define FOREACH_SCALED_LISTS(NAME, FUNCTOR)                                                                  \
  void NAME(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensor* alpha,            \
            const aclTensorList* out) {                                                                      \
    scaled_list<k::FUNCTOR>(plan, x1, x2, alpha, out);                                                       \
  }                                                                                                          \
  void NAME##V2(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclScalar* alpha,        \
                aclTensorList* out) {                                                                        \
    scaled_list<k::FUNCTOR>(plan, x1, x2, alpha, out);                                                       \
  }                                                                                                          \
  void NAME##Inplace(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensor* alpha) { \
    scaled_list<k::FUNCTOR>(plan, x1, x2, alpha, nullptr);                                                   \
  }
#define FOREACH_NUMBERS(NAME, FUNCTOR)                                                               \
  void NAME(Plan& plan, const aclTensorList* x, const aclTensor* scalar, const aclTensorList* out) { \
    lists::with_number<k::FUNCTOR>(plan, x, scalar, out);                                            \
  }                                                                                                  \
  void NAME##V2(Plan& plan, const aclTensorList* x, const aclScalar* scalar, aclTensorList* out) {   \
    lists::with_number<k::FUNCTOR>(plan, x, scalar, out);                                            \
  }                                                                                                  \
  void NAME##List(Plan& plan, const aclTensorList* x, const aclScalarList* scalars,                  \
                  const aclTensorList* out) {                                                        \
    lists::with_number<k::FUNCTOR>(plan, x, scalars, out);                                           \
  }
#define FOREACH_ADDC(NAME, FUNCTOR)                                                                          \
  void NAME##Scalar(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* x3,   \
                    const aclTensor* scalar, const aclTensorList* out) {                                     \
    addc<k::FUNCTOR>(plan, x1, x2, x3, scalar, out);                                                         \
  }                                                                                                          \
  void NAME##ScalarV2(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* x3, \
                      const aclScalar* scalar, aclTensorList* out) {                                         \
    addc<k::FUNCTOR>(plan, x1, x2, x3, scalar, out);                                                         \
  }                                                                                                          \
  void NAME##ScalarList(Plan& plan, const aclTensorList* x1, const aclTensorList* x2,                        \
                        const aclTensorList* x3, const aclTensor* scalars, const aclTensorList* out) {       \
    addc_each<k::FUNCTOR>(plan, x1, x2, x3, scalars, out);                                                   \
  }                                                                                                          \
  void NAME##List(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* x3,     \
                  const aclTensor* scalars, const aclTensorList* out) {                                      \
    addc_each<k::FUNCTOR>(plan, x1, x2, x3, scalars, out);                                                   \
  }

FOREACH_LIST(ForeachDivList, div_op)
FOREACH_LIST(ForeachMaximumList, maximum_op)
FOREACH_LIST(ForeachMinimumList, minimum_op)
FOREACH_LIST(ForeachMulList, mul_op)
FOREACH_LIST(ForeachPowList, pow_op)
FOREACH_SCALED_LISTS(ForeachAddList, add_op)
FOREACH_SCALED_LISTS(ForeachSubList, sub_op)
FOREACH_NUMBERS(ForeachAddScalar, add_op)
FOREACH_NUMBERS(ForeachDivScalar, div_op)
FOREACH_NUMBERS(ForeachMaximumScalar, maximum_op)
FOREACH_NUMBERS(ForeachMinimumScalar, minimum_op)
FOREACH_NUMBERS(ForeachMulScalar, mul_op)
FOREACH_NUMBERS(ForeachPowScalar, pow_op)
FOREACH_NUMBERS(ForeachSubScalar, sub_op)
FOREACH_ADDC(ForeachAddcdiv, addcdiv_op)
FOREACH_ADDC(ForeachAddcmul, addcmul_op)

#undef FOREACH_LIST
#undef FOREACH_SCALED_LISTS
#undef FOREACH_NUMBERS
#undef FOREACH_ADDC

void ForeachDivListInplace(Plan& plan, const aclTensorList* x1, const aclTensorList* x2) {
  list<k::div_op>(plan, x1, x2, nullptr);
}
void ForeachMulListInplace(Plan& plan, const aclTensorList* x1, const aclTensorList* x2) {
  list<k::mul_op>(plan, x1, x2, nullptr);
}
void ForeachMulScalarInplace(Plan& plan, const aclTensorList* x, const aclTensor* scalar) {
  lists::with_number<k::mul_op>(plan, x, scalar, nullptr);
}
void ForeachSubScalarInplace(Plan& plan, const aclTensorList* x, const aclTensor* scalar) {
  lists::with_number<k::sub_op>(plan, x, scalar, nullptr);
}

void ForeachLerpScalar(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclScalar* weight,
                       const aclTensorList* out) {
  const lists::Two x(plan, x1, x2);
  lists::binary<k::lerp_scalar_op>(plan, x, Numbers::all(plan, weight, "weight"), out);
}
void ForeachLerpList(Plan& plan, const aclTensorList* x1, const aclTensorList* x2,
                     const aclTensorList* weight, const aclTensorList* out) {
  const lists::Three x(plan, x1, x2, weight);
  lists::ternary<k::lerp_op>(plan, x, Numbers::all(kOne), out);
}
void ForeachPowScalarAndTensor(Plan& plan, const aclScalar* scalar, const aclTensorList* x,
                               const aclTensorList* out) {
  const Numbers base = Numbers::all(plan, scalar, "scalar");
  const lists::Operands in = plan.inputs(x, "x");
  lists::with_number<k::pow_op>(plan, in, base, plan.outputs(out, "out"), true);
}

}  // namespace softnpu::ops
