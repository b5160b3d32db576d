// The versions of FlashAttentionScore and its gradient: which arguments each of them has.
#include "op_plans.h"
#include "ops/attention/flash.h"

namespace softnpu::ops {

void FlashAttentionScore(Plan& plan, const aclTensor* query, const aclTensor* key, const aclTensor* value,
                         const aclTensor* realShiftOptional, const aclTensor* dropMaskOptional,
                         const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
                         const aclIntArray*, double scaleValue, double keepProb, int64_t preTokens,
                         int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t, int64_t sparseMode,
                         const aclTensor* softmaxMaxOut, const aclTensor* softmaxSumOut,
                         const aclTensor* softmaxOutOut, const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionScoreGrad(Plan& plan, const aclTensor* query, const aclTensor* keyIn,
                             const aclTensor* value, const aclTensor* dy, const aclTensor* pseShiftOptional,
                             const aclTensor* dropMaskOptional, const aclTensor* paddingMaskOptional,
                             const aclTensor* attenMaskOptional, const aclTensor* softmaxMaxOptional,
                             const aclTensor* softmaxSumOptional, const aclTensor* softmaxInOptional,
                             const aclTensor* attentionInOptional, const aclIntArray*, double scaleValue,
                             double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum,
                             char* inputLayout, int64_t, int64_t sparseMode, const aclTensor* dqOut,
                             const aclTensor* dkOut, const aclTensor* dvOut, const aclTensor* dpseOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, nullptr);
}
void FlashAttentionScoreGradV2(Plan& plan, const aclTensor* query, const aclTensor* keyIn,
                               const aclTensor* value, const aclTensor* dy, const aclTensor* pseShiftOptional,
                               const aclTensor* dropMaskOptional, const aclTensor* paddingMaskOptional,
                               const aclTensor* attenMaskOptional, const aclTensor* softmaxMaxOptional,
                               const aclTensor* softmaxSumOptional, const aclTensor* softmaxInOptional,
                               const aclTensor* attentionInOptional, const aclIntArray*,
                               const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional,
                               double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens,
                               int64_t headNum, char* inputLayout, int64_t, int64_t sparseMode,
                               int64_t pseType, const aclTensor* dqOut, const aclTensor* dkOut,
                               const aclTensor* dvOut, const aclTensor* dpseOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, nullptr);
}
void FlashAttentionScoreGradV3(Plan& plan, const aclTensor* query, const aclTensor* keyIn,
                               const aclTensor* value, const aclTensor* dy, const aclTensor* pseShiftOptional,
                               const aclTensor* dropMaskOptional, const aclTensor* paddingMaskOptional,
                               const aclTensor* attenMaskOptional, const aclTensor* softmaxMaxOptional,
                               const aclTensor* softmaxSumOptional, const aclTensor* softmaxInOptional,
                               const aclTensor* attentionInOptional, const aclTensor* sinkInOptional,
                               const aclIntArray*, const aclIntArray* qStartIdxOptional,
                               const aclIntArray* kvStartIdxOptional, double scaleValue, double keepProb,
                               int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout,
                               int64_t, int64_t sparseMode, int64_t pseType, const aclTensor* dqOut,
                               const aclTensor* dkOut, const aclTensor* dvOut, const aclTensor* dpseOut,
                               const aclTensor* dsinkOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.sink = sinkInOptional, a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, dsinkOut);
}
void FlashAttentionScoreGradV4(
    Plan& plan, const aclTensor* query, const aclTensor* keyIn, const aclTensor* value, const aclTensor* dy,
    const aclTensor* pseShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
    const aclTensor* softmaxMaxOptional, const aclTensor* softmaxSumOptional,
    const aclTensor* softmaxInOptional, const aclTensor* attentionInOptional, const aclTensor* sinkInOptional,
    const aclTensor* queryRopeOptional, const aclTensor* keyRopeOptional, const aclTensor* dScaleQOptional,
    const aclTensor* dScaleKOptional, const aclTensor* dScaleVOptional, const aclTensor* dScaleDyOptional,
    const aclTensor* dScaleOOptional, const aclIntArray*, const aclIntArray* actualSeqQLenOptional,
    const aclIntArray* actualSeqKvLenOptional, const aclIntArray* qStartIdxOptional,
    const aclIntArray* kvStartIdxOptional, double scaleValue, double keepProb, int64_t preTokens,
    int64_t nextTokens, int64_t headNum, char* inputLayout, char*, int64_t, int64_t sparseMode,
    int64_t pseType, int64_t, int64_t, int64_t, const aclTensor* dqOut, const aclTensor* dkOut,
    const aclTensor* dvOut, const aclTensor*, const aclTensor*, const aclTensor* dpseOut,
    const aclTensor* dsinkOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.sink = sinkInOptional, a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  const std::initializer_list<const aclTensor*> refused = {
      queryRopeOptional, keyRopeOptional,  dScaleQOptional, dScaleKOptional,
      dScaleVOptional,   dScaleDyOptional, dScaleOOptional};
  a.refused = refused;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, dsinkOut);
}
void FlashAttentionScoreV2(Plan& plan, const aclTensor* query, const aclTensor* key, const aclTensor* value,
                           const aclTensor* realShiftOptional, const aclTensor* dropMaskOptional,
                           const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
                           const aclIntArray*, const aclIntArray* qStartIdxOptional,
                           const aclIntArray* kvStartIdxOptional, double scaleValue, double keepProb,
                           int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
                           int64_t sparseMode, int64_t pseType, const aclTensor* softmaxMaxOut,
                           const aclTensor* softmaxSumOut, const aclTensor* softmaxOutOut,
                           const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionScoreV3(Plan& plan, const aclTensor* query, const aclTensor* key, const aclTensor* value,
                           const aclTensor* realShiftOptional, const aclTensor* dropMaskOptional,
                           const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
                           const aclTensor* sinkOptional, const aclIntArray*,
                           const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional,
                           double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens,
                           int64_t headNum, char* inputLayout, int64_t, int64_t sparseMode, int64_t pseType,
                           const aclTensor* softmaxMaxOut, const aclTensor* softmaxSumOut,
                           const aclTensor* softmaxOutOut, const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.sink = sinkOptional, a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionScoreV4(Plan& plan, const aclTensor* query, const aclTensor* key, const aclTensor* value,
                           const aclTensor* realShiftOptional, const aclTensor* dropMaskOptional,
                           const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
                           const aclTensor* queryRopeOptional, const aclTensor* keyRopeOptional,
                           const aclTensor* dScaleQOptional, const aclTensor* dScaleKOptional,
                           const aclTensor* dScaleVOptional, const aclTensor* sinkOptional,
                           const aclIntArray*, const aclIntArray* actualSeqQLenOptional,
                           const aclIntArray* actualSeqKvLenOptional, const aclIntArray* qStartIdxOptional,
                           const aclIntArray* kvStartIdxOptional, double scaleValue, double keepProb,
                           int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
                           int64_t sparseMode, int64_t, int64_t pseType, char*, int64_t, int64_t,
                           const aclTensor* softmaxMaxOut, const aclTensor* softmaxSumOut,
                           const aclTensor* softmaxOutOut, const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.sink = sinkOptional, a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  const std::initializer_list<const aclTensor*> refused = {queryRopeOptional, keyRopeOptional,
                                                           dScaleQOptional, dScaleKOptional, dScaleVOptional};
  a.refused = refused;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionUnpaddingScoreGrad(
    Plan& plan, const aclTensor* query, const aclTensor* keyIn, const aclTensor* value, const aclTensor* dy,
    const aclTensor* pseShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
    const aclTensor* softmaxMaxOptional, const aclTensor* softmaxSumOptional,
    const aclTensor* softmaxInOptional, const aclTensor* attentionInOptional, const aclIntArray*,
    const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, const aclTensor* dqOut, const aclTensor* dkOut, const aclTensor* dvOut,
    const aclTensor* dpseOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, nullptr);
}
void FlashAttentionUnpaddingScoreGradV2(
    Plan& plan, const aclTensor* query, const aclTensor* keyIn, const aclTensor* value, const aclTensor* dy,
    const aclTensor* pseShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
    const aclTensor* softmaxMaxOptional, const aclTensor* softmaxSumOptional,
    const aclTensor* softmaxInOptional, const aclTensor* attentionInOptional, const aclIntArray*,
    const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional,
    const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, int64_t pseType, const aclTensor* dqOut, const aclTensor* dkOut,
    const aclTensor* dvOut, const aclTensor* dpseOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, nullptr);
}
void FlashAttentionUnpaddingScoreGradV3(
    Plan& plan, const aclTensor* query, const aclTensor* queryRope, const aclTensor* keyIn,
    const aclTensor* keyInRope, const aclTensor* value, const aclTensor* dy,
    const aclTensor* pseShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
    const aclTensor* softmaxMaxOptional, const aclTensor* softmaxSumOptional,
    const aclTensor* softmaxInOptional, const aclTensor* attentionInOptional, const aclIntArray*,
    const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional,
    const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, int64_t pseType, const aclTensor* dqOut, const aclTensor*, const aclTensor* dkOut,
    const aclTensor*, const aclTensor* dvOut, const aclTensor* dpseOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  const std::initializer_list<const aclTensor*> refused = {queryRope, keyInRope};
  a.refused = refused;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, nullptr);
}
void FlashAttentionUnpaddingScoreGradV4(
    Plan& plan, const aclTensor* query, const aclTensor* keyIn, const aclTensor* value, const aclTensor* dy,
    const aclTensor* pseShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
    const aclTensor* softmaxMaxOptional, const aclTensor* softmaxSumOptional,
    const aclTensor* softmaxInOptional, const aclTensor* attentionInOptional, const aclIntArray*,
    const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, const aclTensor* dqOut, const aclTensor* dkOut, const aclTensor* dvOut,
    const aclTensor* dpseOut, char*) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, nullptr);
}
void FlashAttentionUnpaddingScoreGradV5(
    Plan& plan, const aclTensor* query, const aclTensor* queryRope, const aclTensor* keyIn,
    const aclTensor* keyInRope, const aclTensor* value, const aclTensor* dy,
    const aclTensor* pseShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
    const aclTensor* softmaxMaxOptional, const aclTensor* softmaxSumOptional,
    const aclTensor* softmaxInOptional, const aclTensor* attentionInOptional, const aclTensor* sinkInOptional,
    const aclIntArray*, const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional,
    const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, int64_t pseType, char*, const aclTensor* dqOut, const aclTensor*,
    const aclTensor* dkOut, const aclTensor*, const aclTensor* dvOut, const aclTensor* dpseOut,
    const aclTensor* dsinkOut) {
  ScoreArguments a;
  a.query = query, a.key = keyIn, a.value = value;
  a.bias = pseShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.grad = dy, a.max = softmaxMaxOptional, a.sum = softmaxSumOptional, a.softmax = softmaxInOptional,
  a.out = attentionInOptional;
  a.sink = sinkInOptional, a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  const std::initializer_list<const aclTensor*> refused = {queryRope, keyInRope};
  a.refused = refused;
  attention_score_backward(plan, a, dqOut, dkOut, dvOut, dpseOut, dsinkOut);
}
void FlashAttentionVarLenScore(Plan& plan, const aclTensor* query, const aclTensor* key,
                               const aclTensor* value, const aclTensor* realShiftOptional,
                               const aclTensor* dropMaskOptional, const aclTensor* paddingMaskOptional,
                               const aclTensor* attenMaskOptional, const aclIntArray*,
                               const aclIntArray* actualSeqQLenOptional,
                               const aclIntArray* actualSeqKvLenOptional, double scaleValue, double keepProb,
                               int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout,
                               int64_t, int64_t sparseMode, const aclTensor* softmaxMaxOut,
                               const aclTensor* softmaxSumOut, const aclTensor* softmaxOutOut,
                               const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionVarLenScoreV2(
    Plan& plan, const aclTensor* query, const aclTensor* key, const aclTensor* value,
    const aclTensor* realShiftOptional, const aclTensor* dropMaskOptional,
    const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional, const aclIntArray*,
    const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional,
    const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, int64_t pseType, const aclTensor* softmaxMaxOut, const aclTensor* softmaxSumOut,
    const aclTensor* softmaxOutOut, const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionVarLenScoreV3(Plan& plan, const aclTensor* query, const aclTensor* queryRope,
                                 const aclTensor* key, const aclTensor* keyRope, const aclTensor* value,
                                 const aclTensor* realShiftOptional, const aclTensor* dropMaskOptional,
                                 const aclTensor* paddingMaskOptional, const aclTensor* attenMaskOptional,
                                 const aclIntArray*, const aclIntArray* actualSeqQLenOptional,
                                 const aclIntArray* actualSeqKvLenOptional,
                                 const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional,
                                 double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens,
                                 int64_t headNum, char* inputLayout, int64_t, int64_t sparseMode,
                                 int64_t pseType, const aclTensor* softmaxMaxOut,
                                 const aclTensor* softmaxSumOut, const aclTensor* softmaxOutOut,
                                 const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  const std::initializer_list<const aclTensor*> refused = {queryRope, keyRope};
  a.refused = refused;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionVarLenScoreV4(Plan& plan, const aclTensor* query, const aclTensor* key,
                                 const aclTensor* value, const aclTensor* realShiftOptional,
                                 const aclTensor* dropMaskOptional, const aclTensor* paddingMaskOptional,
                                 const aclTensor* attenMaskOptional, const aclIntArray*,
                                 const aclIntArray* actualSeqQLenOptional,
                                 const aclIntArray* actualSeqKvLenOptional, double scaleValue,
                                 double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum,
                                 char* inputLayout, int64_t, int64_t sparseMode, char*,
                                 const aclTensor* softmaxMaxOut, const aclTensor* softmaxSumOut,
                                 const aclTensor* softmaxOutOut, const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}
void FlashAttentionVarLenScoreV5(
    Plan& plan, const aclTensor* query, const aclTensor* queryRope, const aclTensor* key,
    const aclTensor* keyRope, const aclTensor* value, const aclTensor* realShiftOptional,
    const aclTensor* dropMaskOptional, const aclTensor* paddingMaskOptional,
    const aclTensor* attenMaskOptional, const aclTensor* sinkOptional, const aclIntArray*,
    const aclIntArray* actualSeqQLenOptional, const aclIntArray* actualSeqKvLenOptional,
    const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional, double scaleValue,
    double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, char* inputLayout, int64_t,
    int64_t sparseMode, int64_t pseType, char*, const aclTensor* softmaxMaxOut,
    const aclTensor* softmaxSumOut, const aclTensor* softmaxOutOut, const aclTensor* attentionOutOut) {
  ScoreArguments a;
  a.query = query, a.key = key, a.value = value;
  a.bias = realShiftOptional, a.drop = dropMaskOptional, a.padding = paddingMaskOptional,
  a.mask = attenMaskOptional;
  a.sink = sinkOptional, a.query_lengths = actualSeqQLenOptional, a.key_lengths = actualSeqKvLenOptional,
  a.query_start = qStartIdxOptional, a.key_start = kvStartIdxOptional;
  a.scale = scaleValue, a.keep = keepProb, a.before = preTokens, a.after = nextTokens;
  a.heads = headNum, a.layout = inputLayout, a.sparse_mode = sparseMode, a.bias_type = pseType;
  const std::initializer_list<const aclTensor*> refused = {queryRope, keyRope};
  a.refused = refused;
  attention_score(plan, a, softmaxMaxOut, softmaxSumOut, softmaxOutOut, attentionOutOut);
}

}  // namespace softnpu::ops
