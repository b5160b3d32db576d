// aclopCompileAndExecute: finds the operator, looks at the arguments, carries it out.
#include "aclop/call.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

namespace softnpu::aclop {
namespace {

using Arguments = std::vector<Call::Argument>;

Arguments arguments(const char* function, const char* kind, int count, const aclTensorDesc* const* descs,
                    const aclDataBuffer* const* buffers) {
  if (count < 0 || (count > 0 && (descs == nullptr || buffers == nullptr)))
    throw Refused(ACL_ERROR_INVALID_PARAM,
                  mt::join_text(function, ": ", count, " ", kind, "s, but their array is NULL"));
  Arguments listed;
  for (int i = 0; i < count; ++i) {
    if (descs[i] == nullptr || buffers[i] == nullptr)
      throw Refused(ACL_ERROR_INVALID_PARAM, mt::join_text(function, ": ", kind, " ", i, " is NULL"));
    listed.push_back({descs[i], buffers[i]});
  }
  return listed;
}

int execute(const char* function, const char* type, int input_count, const aclTensorDesc* const* input_descs,
            const aclDataBuffer* const* inputs, int output_count, const aclTensorDesc* const* output_descs,
            const aclDataBuffer* const* outputs, const aclopAttr* attributes, aclrtStream stream) {
  if (type == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": opType is NULL");
  try {
    const Arguments in = arguments(function, "input", input_count, input_descs, inputs);
    const Arguments out = arguments(function, "output", output_count, output_descs, outputs);
    const Operator run = find_operator(type);
    if (run == nullptr)
      return fail(ACL_ERROR_OP_NOT_FOUND, function, ": operator ", type,
                  " of the old interface is not implemented by the software NPU");
    run(Call(type, in, out, attributes, stream));
  } catch (const Refused& error) {
    return record_failure(error.code, error.what());
  } catch (const std::exception& error) {
    return fail(ACL_ERROR_INVALID_PARAM, function, ": ", type, ": ", error.what());
  }
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace softnpu::aclop

using softnpu::aclop::execute;

SOFTNPU_EXPORT aclError aclopCompileAndExecute(const char* opType, int numInputs,
                                               const aclTensorDesc* const* inputDesc,
                                               const aclDataBuffer* const* inputs, int numOutputs,
                                               const aclTensorDesc* const* outputDesc,
                                               aclDataBuffer* const* outputs, const aclopAttr* attr,
                                               aclopEngineType engineType, aclopCompileType compileFlag,
                                               const char* opPath, aclrtStream stream) {
  SOFTNPU_ENTER(aclopCompileAndExecute, opType, numInputs, numOutputs, engineType, compileFlag, stream);
  return execute("aclopCompileAndExecute", opType, numInputs, inputDesc, inputs, numOutputs, outputDesc,
                 outputs, attr, stream);
}

// V2 may write the shapes of outputs back into their descriptions; those here always have the given shape.
SOFTNPU_EXPORT aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc** inputDesc,
                                                 aclDataBuffer** inputs, int numOutputs,
                                                 aclTensorDesc** outputDesc, aclDataBuffer** outputs,
                                                 aclopAttr* attr, aclopEngineType engineType,
                                                 aclopCompileType compileFlag, const char* opPath,
                                                 aclrtStream stream) {
  SOFTNPU_ENTER(aclopCompileAndExecuteV2, opType, numInputs, numOutputs, engineType, compileFlag, stream);
  return execute("aclopCompileAndExecuteV2", opType, numInputs, inputDesc, inputs, numOutputs, outputDesc,
                 outputs, attr, stream);
}
