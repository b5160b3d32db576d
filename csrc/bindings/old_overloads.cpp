#include "bindings/old_overloads.h"

#include <algorithm>

#include "bindings/owned.h"
#include "core/warn.h"

namespace mt::bindings {
namespace {

// How an old call looks: `pattern` has N for a number and T for a tensor; the numbers are today's `keywords`.
struct OldForm {
  const char* pattern;
  std::vector<const char*> keywords;
  const char* text;
};

using Forms = std::vector<OldForm>;

Forms scaled(bool method) {
  if (method) return {{"NT", {"alpha"}, "(Number alpha, Tensor other)"}};
  return {{"TNT", {"alpha"}, "(Tensor input, Number alpha, Tensor other, *, Tensor out = None)"}};
}
Forms weighted(bool method) {
  if (method) return {{"NTT", {"value"}, "(Number value, Tensor tensor1, Tensor tensor2)"}};
  return {{"TNTT",
           {"value"},
           "(Tensor input, Number value, Tensor tensor1, Tensor tensor2, *, Tensor out = None)"}};
}
Forms product(bool method) {
  if (method)
    return {{"NNTT", {"beta", "alpha"}, "(Number beta, Number alpha, Tensor, Tensor)"},
            {"NTT", {"beta"}, "(Number beta, Tensor, Tensor)"}};
  return {{"NTNTT", {"beta", "alpha"}, "(Number beta, Tensor input, Number alpha, Tensor, Tensor)"},
          {"NTTT", {"beta"}, "(Number beta, Tensor input, Tensor, Tensor)"}};
}

Forms forms_of(std::string name, bool method) {
  if (name.ends_with('_')) name.pop_back();
  if (name == "add" || name == "sub") return scaled(method);
  if (name == "addcmul" || name == "addcdiv") return weighted(method);
  for (const char* known : {"addmm", "addmv", "addr", "addbmm", "baddbmm"})
    if (name == known) return product(method);
  return {};
}

PyObject* keyword_tuple(const std::vector<const char*>& names) {
  Owned tuple(PyTuple_New(Py_ssize_t(names.size())));
  for (size_t i = 0; i < names.size(); ++i)
    PyTuple_SET_ITEM(tuple.object, Py_ssize_t(i), PyUnicode_InternFromString(names[i]));
  return tuple.release();
}

// Once in a process, as PyTorch does.
void warn_old(const char* name, const OldForm& form, const std::vector<Signature>& signatures) {
  static bool told = false;
  if (!first_time(told)) return;
  std::string text = join_text("This overload of ", name, " is deprecated:\n\t", name, form.text,
                               "\nConsider using one of the following signatures instead:");
  for (const Signature& s : signatures)
    if (*s.text) text += join_text("\n\t", name, s.text);
  warn(text);
}

}  // namespace

std::optional<ModernCall> modern_call(const char* name, bool method, PyObject* const* args, Py_ssize_t count,
                                      const std::vector<Signature>& signatures) {
  std::string pattern;
  for (Py_ssize_t i = 0; i < count; ++i) pattern += is_tensor(args[i]) ? 'T' : is_number(args[i]) ? 'N' : '?';
  const Forms forms = forms_of(name, method);
  const auto form = std::ranges::find_if(forms, [&](const OldForm& f) { return pattern == f.pattern; });
  if (form == forms.end()) return std::nullopt;
  ModernCall call;
  std::copy_if(args, args + count, std::back_inserter(call.args), is_tensor);
  call.count = Py_ssize_t(call.args.size());
  std::copy_if(args, args + count, std::back_inserter(call.args), [](PyObject* o) { return !is_tensor(o); });
  static PyObject *alpha = keyword_tuple({"alpha"}), *value = keyword_tuple({"value"}),
                  *beta = keyword_tuple({"beta"}), *both = keyword_tuple({"beta", "alpha"});
  const std::string first = form->keywords[0];
  call.keywords = form->keywords.size() == 2 ? both
                  : first == "alpha"         ? alpha
                  : first == "beta"          ? beta
                                             : value;
  warn_old(name, *form, signatures);
  return call;
}

}  // namespace mt::bindings
