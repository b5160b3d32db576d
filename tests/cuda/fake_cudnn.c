/* cuDNN's graph interface for tests on machines without a GPU: descriptors keep what they are given, there is one engine, and
   it convolves float and double numbers in plain loops. Numbers of attributes are those of cudnn.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct attribute {
  int name;
  int64_t count;
  char values[64];
  struct attribute* next;
};
struct descriptor {
  int kind;
  struct attribute* attributes;
};

int cudnnCreate(void** handle) { *handle = malloc(1); return 0; }
int cudnnSetStream(void* handle, void* stream) { (void)handle, (void)stream; return 0; }
size_t cudnnGetVersion(void) { return 91000; }
const char* cudnnGetErrorString(int code) { (void)code; return "made up"; }
void cudnnGetLastErrorString(char* text, size_t bytes) { (void)bytes; *text = 0; }

int cudnnBackendCreateDescriptor(int kind, struct descriptor** made) {
  *made = calloc(1, sizeof **made);
  (*made)->kind = kind;
  return 0;
}
/* Others hold it still. */
int cudnnBackendDestroyDescriptor(struct descriptor* d) { (void)d; return 0; }
int cudnnBackendFinalize(struct descriptor* d) { (void)d; return 0; }

static const int sizes_of_types[] = {8, 4, 1, 8, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 8};

int cudnnBackendSetAttribute(struct descriptor* d, int name, int type, int64_t count, const void* values) {
  struct attribute* made = calloc(1, sizeof *made);
  if (count * sizes_of_types[type] > (int64_t)sizeof made->values) return 1;
  made->name = name, made->count = count;
  memcpy(made->values, values, count * sizes_of_types[type]);
  made->next = d->attributes;
  d->attributes = made;
  return 0;
}
static const void* given(const struct descriptor* d, int name) {
  const struct attribute* a = d->attributes;
  while (a->name != name) a = a->next;
  return a->values;
}
static struct descriptor* inner(const struct descriptor* d, int name) { return *(struct descriptor**)given(d, name); }

int cudnnBackendGetAttribute(struct descriptor* d, int name, int type, int64_t wanted, int64_t* count, void* values) {
  (void)wanted;
  if (name == 202) { /* engines of a heuristic: one, which has its graph */
    const struct descriptor* graph = inner(d, 201);
    *count = 1;
    return cudnnBackendSetAttribute(*(struct descriptor**)values, 201, type, 1, &graph);
  }
  if (name == 300) *count = 1;                       /* the engine of a configuration */
  if (name == 1303) *count = 0;                      /* its notes */
  if (name == 402) *count = 1, *(int64_t*)values = 16; /* memory for its work */
  return 0;
}

#define CONVOLVE(T)                                                                                                    \
  static void convolve_##T(int kind, int dims, const int64_t* xs, const int64_t* xt, const int64_t* ws,                \
                           const int64_t* wt, const int64_t* ys, const int64_t* yt, const int64_t* stride,             \
                           const int64_t* padding, const int64_t* dilation, T* x, T* w, T* y) {                        \
    int64_t last = dims == 5 ? ws[4] : 1, rows = dims == 5 ? ys[4] : 1;                                                \
    int64_t groups = xs[1] / ws[1], each = ws[0] / groups;                                                             \
    for (int clear = 1; clear >= 0; --clear)                                                                           \
      for (int64_t n = 0; n < ys[0]; ++n)                                                                              \
        for (int64_t o = 0; o < ws[0]; ++o)                                                                            \
          for (int64_t c = 0; c < ws[1]; ++c)                                                                          \
            for (int64_t p = 0; p < ys[2] * ys[3] * rows; ++p)                                                         \
              for (int64_t k = 0; k < ws[2] * ws[3] * last; ++k) {                                                     \
                const int64_t at[3] = {p / rows / ys[3], p / rows % ys[3], p % rows};                                  \
                const int64_t of[3] = {k / last / ws[3], k / last % ws[3], k % last};                                  \
                int64_t xi = n * xt[0] + (o / each * ws[1] + c) * xt[1], wi = o * wt[0] + c * wt[1];                   \
                int64_t yi = n * yt[0] + o * yt[1];                                                                    \
                int inside = 1;                                                                                        \
                for (int d = 0; d < dims - 2; ++d) {                                                                   \
                  const int64_t place = at[d] * stride[d] - padding[d] + of[d] * dilation[d];                          \
                  inside &= place >= 0 && place < xs[2 + d];                                                           \
                  xi += place * xt[2 + d], wi += of[d] * wt[2 + d], yi += at[d] * yt[2 + d];                           \
                }                                                                                                      \
                if (clear && kind == 10) y[yi] = 0;                                                                    \
                if (clear && kind == 11) w[wi] = 0;                                                                    \
                if (clear || !inside) continue;                                                                        \
                if (kind == 10) y[yi] += x[xi] * w[wi];                                                                \
                if (kind == 11) w[wi] += x[xi] * y[yi];                                                                \
                if (kind == 12) x[xi] += y[yi] * w[wi];                                                                \
              }                                                                                                        \
  }
CONVOLVE(float)
CONVOLVE(double)

int cudnnBackendExecute(void* handle, struct descriptor* plan, struct descriptor* pointers) {
  (void)handle;
  const struct descriptor* operation = inner(inner(inner(plan, 401), 201), 801);
  const int first = operation->kind == 10 ? 700 : operation->kind == 12 ? 706 : 712;
  const struct descriptor *convolution = inner(operation, first + 2), *w = inner(operation, first + 3);
  const struct descriptor *x = inner(operation, first + 4), *y = inner(operation, first + 5);
  const int64_t *xs = given(x, 902), *xt = given(x, 903);
  const int dims = 2 + (int)*(const int64_t*)given(convolution, 106), number = *(const int*)given(x, 901);
  void* const* at = given(pointers, 1001);
  if (!*(void* const*)given(pointers, 1003)) return 2;
  if (operation->kind == 12) { /* not every element is in a window */
    int64_t count = 1;
    for (int d = 0; d < dims; ++d) count *= xs[d];
    memset(at[0], 0, count * (number ? 8 : 4));
  }
#define ARGUMENTS                                                                                                      \
  operation->kind, dims, xs, xt, given(w, 902), given(w, 903), given(y, 902), given(y, 903), given(convolution, 103),  \
      given(convolution, 105), given(convolution, 102), at[0], at[1], at[2]
  if (number == 0) convolve_float(ARGUMENTS);
  else if (number == 1) convolve_double(ARGUMENTS);
  else return 3;
  return 0;
}
