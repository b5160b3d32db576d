#include "kernels/openblas/lapack.h"

#include <algorithm>
#include <type_traits>
#include <vector>

// The Fortran interface, because it takes column-major matrices without copies. A string's length comes last, as
// gfortran passes it.
#ifdef MT_BLAS_PLAIN_NAMES
#define MT_LAPACK(name) name##_
#else
#define MT_LAPACK(name) scipy_##name##_
#endif

#define MT_DECLARE_COMMON(p, T, R)                                                                         \
  void MT_LAPACK(p##sytrf)(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);   \
  void MT_LAPACK(p##sytrs)(const char*, const int*, const int*, const T*, const int*, const int*, T*,      \
                           const int*, int*, size_t);                                                      \
  void MT_LAPACK(p##geqrf)(const int*, const int*, T*, const int*, T*, T*, const int*, int*);              \
  void MT_LAPACK(p##gels)(const char*, const int*, const int*, const int*, T*, const int*, T*, const int*, \
                          T*, const int*, int*, size_t);

#define MT_DECLARE_REAL(p, T)                                                                                \
  MT_DECLARE_COMMON(p, T, T)                                                                                 \
  void MT_LAPACK(p##orgqr)(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*,     \
                           int*);                                                                            \
  void MT_LAPACK(p##ormqr)(const char*, const char*, const int*, const int*, const int*, const T*,           \
                           const int*, const T*, T*, const int*, T*, const int*, int*, size_t, size_t);      \
  void MT_LAPACK(p##gesdd)(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*,      \
                           const int*, T*, const int*, int*, int*, size_t);                                  \
  void MT_LAPACK(p##syevd)(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*,   \
                           const int*, int*, size_t, size_t);                                                \
  void MT_LAPACK(p##geev)(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*,  \
                          const int*, T*, const int*, int*, size_t, size_t);                                 \
  void MT_LAPACK(p##gelsy)(const int*, const int*, const int*, T*, const int*, T*, const int*, int*,         \
                           const T*, int*, T*, const int*, int*);                                            \
  void MT_LAPACK(p##gelsd)(const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const T*, \
                           int*, T*, const int*, int*, int*);                                                \
  void MT_LAPACK(p##gelss)(const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const T*, \
                           int*, T*, const int*, int*);

#define MT_DECLARE_COMPLEX(p, T, R)                                                                          \
  MT_DECLARE_COMMON(p, T, R)                                                                                 \
  void MT_LAPACK(p##hetrf)(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);     \
  void MT_LAPACK(p##hetrs)(const char*, const int*, const int*, const T*, const int*, const int*, T*,        \
                           const int*, int*, size_t);                                                        \
  void MT_LAPACK(p##ungqr)(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*,     \
                           int*);                                                                            \
  void MT_LAPACK(p##unmqr)(const char*, const char*, const int*, const int*, const int*, const T*,           \
                           const int*, const T*, T*, const int*, T*, const int*, int*, size_t, size_t);      \
  void MT_LAPACK(p##gesdd)(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,      \
                           const int*, T*, const int*, R*, int*, int*, size_t);                              \
  void MT_LAPACK(p##heevd)(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*,     \
                           const int*, int*, const int*, int*, size_t, size_t);                              \
  void MT_LAPACK(p##geev)(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*,      \
                          const int*, T*, const int*, R*, int*, size_t, size_t);                             \
  void MT_LAPACK(p##gelsy)(const int*, const int*, const int*, T*, const int*, T*, const int*, int*,         \
                           const R*, int*, T*, const int*, R*, int*);                                        \
  void MT_LAPACK(p##gelsd)(const int*, const int*, const int*, T*, const int*, T*, const int*, R*, const R*, \
                           int*, T*, const int*, R*, int*, int*);                                            \
  void MT_LAPACK(p##gelss)(const int*, const int*, const int*, T*, const int*, T*, const int*, R*, const R*, \
                           int*, T*, const int*, R*, int*);

extern "C" {
MT_DECLARE_REAL(s, float)
MT_DECLARE_REAL(d, double)
MT_DECLARE_COMPLEX(c, std::complex<float>, float)
MT_DECLARE_COMPLEX(z, std::complex<double>, double)
}

namespace mt::kernels::lapack {
namespace {

template <class T> inline constexpr bool is_real = std::is_floating_point_v<T>;

// routine<T>: the type's own function; `real` and `complex` may be two names of one operation.
#define MT_ROUTINE(name, real_name, complex_name)                                                  \
  template <class T> constexpr auto name##_of() {                                                  \
    if constexpr (std::is_same_v<T, float>) return &MT_LAPACK(s##real_name);                       \
    else if constexpr (std::is_same_v<T, double>) return &MT_LAPACK(d##real_name);                 \
    else if constexpr (std::is_same_v<T, std::complex<float>>) return &MT_LAPACK(c##complex_name); \
    else return &MT_LAPACK(z##complex_name);                                                       \
  }
MT_ROUTINE(sytrf, sytrf, sytrf)
MT_ROUTINE(sytrs, sytrs, sytrs)
MT_ROUTINE(hetrf, sytrf, hetrf)
MT_ROUTINE(hetrs, sytrs, hetrs)
MT_ROUTINE(geqrf, geqrf, geqrf)
MT_ROUTINE(orgqr, orgqr, ungqr)
MT_ROUTINE(ormqr, ormqr, unmqr)
MT_ROUTINE(gesdd, gesdd, gesdd)
MT_ROUTINE(syevd, syevd, heevd)
MT_ROUTINE(geev, geev, geev)
MT_ROUTINE(gels, gels, gels)
MT_ROUTINE(gelsy, gelsy, gelsy)
MT_ROUTINE(gelsd, gelsd, gelsd)
MT_ROUTINE(gelss, gelss, gelss)

// The size LAPACK answers in the first element of a workspace when asked with length -1. Large sizes lose their last
// digits in float, so one in 2^20 is added.
template <class T> int workspace(T answer) {
  const double size = double(std::real(answer));
  return std::max(1, int(size * (1.0 + 1e-6) + 1));
}

// Runs call(work, length, info) twice: to ask for the workspace, then to compute.
template <class T, class Call> int with_workspace(Call&& call) {
  T answer{};
  int info = 0;
  call(&answer, -1, &info);
  if (info != 0) return info;
  const int length = workspace(answer);
  std::vector<T> work(static_cast<size_t>(length));
  call(work.data(), length, &info);
  return info;
}

// The same for reflections of a few columns: they are applied one after the other, so the room is known.
template <class T, class Call> int with_columns(int columns, Call&& call) {
  constexpr int few = 32;
  if (columns > few) return with_workspace<T>(call);
  T work[few];
  int info = 0;
  call(work, few, &info);
  return info;
}

}  // namespace

template <class T> int sytrf(bool hermitian, int n, T* a, int lda, int* pivots) {
  return with_workspace<T>([&](T* work, int length, int* info) {
    (hermitian ? hetrf_of<T>() : sytrf_of<T>())("L", &n, a, &lda, pivots, work, &length, info, 1);
  });
}

template <class T>
int sytrs(bool hermitian, int n, int columns, const T* a, int lda, const int* pivots, T* b, int ldb) {
  int info = 0;
  (hermitian ? hetrs_of<T>() : sytrs_of<T>())("L", &n, &columns, a, &lda, pivots, b, &ldb, &info, 1);
  return info;
}

template <class T> int geqrf(int m, int n, T* a, int lda, T* tau) {
  return with_columns<T>(
      n, [&](T* work, int length, int* info) { geqrf_of<T>()(&m, &n, a, &lda, tau, work, &length, info); });
}

template <class T> int orgqr(int m, int n, int k, T* a, int lda, const T* tau) {
  return with_columns<T>(n, [&](T* work, int length, int* info) {
    orgqr_of<T>()(&m, &n, &k, a, &lda, tau, work, &length, info);
  });
}

template <class T>
int ormqr(bool left, Form form, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc) {
  const char letter = form == Form::plain ? 'N' : is_real<T> ? 'T' : 'C';
  return with_workspace<T>([&](T* work, int length, int* info) {
    ormqr_of<T>()(left ? "L" : "R", &letter, &m, &n, &k, a, &lda, tau, c, &ldc, work, &length, info, 1, 1);
  });
}

template <class T> int gesdd(char job, int m, int n, T* a, int lda, real_t<T>* s, T* u, int ldu, T* vt,
                             int ldvt) {
  const size_t small = size_t(std::min(m, n)), large = size_t(std::max(m, n));
  std::vector<int> integers(std::max<size_t>(1, 8 * small));
  if constexpr (is_real<T>) {
    return with_workspace<T>([&](T* work, int length, int* info) {
      gesdd_of<T>()(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &length, integers.data(), info, 1);
    });
  } else {
    const size_t reals =
        std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small);
    std::vector<real_t<T>> more(std::max<size_t>(1, job == 'N' ? 7 * small : reals));
    return with_workspace<T>([&](T* work, int length, int* info) {
      gesdd_of<T>()(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &length, more.data(), integers.data(),
                    info, 1);
    });
  }
}

template <class T> int syevd(bool vectors, bool upper, int n, T* a, int lda, real_t<T>* w) {
  const char *job = vectors ? "V" : "N", *part = upper ? "U" : "L";
  int info = 0, ask = -1, integer_size = 0;
  T size{};
  if constexpr (is_real<T>) {
    syevd_of<T>()(job, part, &n, a, &lda, w, &size, &ask, &integer_size, &ask, &info, 1, 1);
    if (info != 0) return info;
    const int length = workspace(size);
    std::vector<T> work(static_cast<size_t>(length));
    std::vector<int> integers(size_t(std::max(1, integer_size)));
    syevd_of<T>()(job, part, &n, a, &lda, w, work.data(), &length, integers.data(), &integer_size, &info, 1,
                  1);
  } else {
    real_t<T> real_size{};
    syevd_of<T>()(job, part, &n, a, &lda, w, &size, &ask, &real_size, &ask, &integer_size, &ask, &info, 1, 1);
    if (info != 0) return info;
    const int length = workspace(size), reals = workspace(real_size);
    std::vector<T> work(static_cast<size_t>(length));
    std::vector<real_t<T>> more(static_cast<size_t>(reals));
    std::vector<int> integers(size_t(std::max(1, integer_size)));
    syevd_of<T>()(job, part, &n, a, &lda, w, work.data(), &length, more.data(), &reals, integers.data(),
                  &integer_size, &info, 1, 1);
  }
  return info;
}

template <class T>
int geev(int n, T* a, int lda, std::complex<real_t<T>>* w, std::complex<real_t<T>>* v, int ldv) {
  using C = std::complex<real_t<T>>;
  const char* job = v ? "V" : "N";
  const int one = 1;
  T unused{};
  if constexpr (is_real<T>) {
    const size_t size = size_t(std::max(1, n));
    std::vector<T> re(size), im(size), vectors(v ? size * size : 1);
    const int leading = v ? int(size) : 1;
    const int info = with_workspace<T>([&](T* work, int length, int* status) {
      geev_of<T>()("N", job, &n, a, &lda, re.data(), im.data(), &unused, &one, vectors.data(), &leading, work,
                   &length, status, 1, 1);
    });
    for (int j = 0; j < n; ++j) w[j] = C(re[size_t(j)], im[size_t(j)]);
    if (!v) return info;
    for (int j = 0; j < n; ++j) {  // a pair of conjugate columns comes as real and imaginary part
      const T *x = vectors.data() + size_t(j) * size, *y = x + size;
      if (im[size_t(j)] == T(0) || j + 1 == n) {
        for (int i = 0; i < n; ++i) v[size_t(j) * size_t(ldv) + size_t(i)] = C(x[i], T(0));
        continue;
      }
      for (int i = 0; i < n; ++i) {
        v[size_t(j) * size_t(ldv) + size_t(i)] = C(x[i], y[i]);
        v[size_t(j + 1) * size_t(ldv) + size_t(i)] = C(x[i], -y[i]);
      }
      ++j;
    }
    return info;
  } else {
    std::vector<real_t<T>> reals(size_t(std::max(1, 2 * n)));
    const int leading = v ? ldv : 1;
    return with_workspace<T>([&](T* work, int length, int* status) {
      geev_of<T>()("N", job, &n, a, &lda, w, &unused, &one, v ? v : &unused, &leading, work, &length,
                   reals.data(), status, 1, 1);
    });
  }
}

template <class T>
int least_squares(LeastSquares driver, int m, int n, int columns, T* a, int lda, T* b, int ldb, real_t<T>* s,
                  real_t<T> rcond, int* rank) {
  using R = real_t<T>;
  const size_t small = size_t(std::min(m, n)), width = size_t(std::max(1, n)), right = size_t(columns);
  if (driver == LeastSquares::gels) {
    return with_workspace<T>([&](T* work, int length, int* info) {
      gels_of<T>()("N", &m, &n, &columns, a, &lda, b, &ldb, work, &length, info, 1);
    });
  }
  std::vector<int> integers(driver == LeastSquares::gelsd ? 1024 + 128 * small : width, 0);
  // gelsd's largest need with its smallest block size of 25 and 32 levels of division.
  const size_t levels = 32, block = 26;
  [[maybe_unused]] std::vector<R> reals(is_real<T> ? 1
                                                   : 10 * width + 2 * width * block + 8 * width * levels +
                                                         3 * block * right + block * block + 8 * width +
                                                         width * (1 + right) + 2 * right + 5 * small + 64);
  return with_workspace<T>([&](T* work, int length, int* info) {
    if constexpr (is_real<T>) {
      if (driver == LeastSquares::gelsy)
        gelsy_of<T>()(&m, &n, &columns, a, &lda, b, &ldb, integers.data(), &rcond, rank, work, &length, info);
      else if (driver == LeastSquares::gelsd)
        gelsd_of<T>()(&m, &n, &columns, a, &lda, b, &ldb, s, &rcond, rank, work, &length, integers.data(),
                      info);
      else gelss_of<T>()(&m, &n, &columns, a, &lda, b, &ldb, s, &rcond, rank, work, &length, info);
    } else {
      if (driver == LeastSquares::gelsy)
        gelsy_of<T>()(&m, &n, &columns, a, &lda, b, &ldb, integers.data(), &rcond, rank, work, &length,
                      reals.data(), info);
      else if (driver == LeastSquares::gelsd)
        gelsd_of<T>()(&m, &n, &columns, a, &lda, b, &ldb, s, &rcond, rank, work, &length, reals.data(),
                      integers.data(), info);
      else
        gelss_of<T>()(&m, &n, &columns, a, &lda, b, &ldb, s, &rcond, rank, work, &length, reals.data(), info);
    }
  });
}

#define MT_INSTANTIATE(T)                                                                   \
  template int sytrf(bool, int, T*, int, int*);                                             \
  template int sytrs(bool, int, int, const T*, int, const int*, T*, int);                   \
  template int geqrf(int, int, T*, int, T*);                                                \
  template int orgqr(int, int, int, T*, int, const T*);                                     \
  template int ormqr(bool, Form, int, int, int, const T*, int, const T*, T*, int);          \
  template int gesdd(char, int, int, T*, int, real_t<T>*, T*, int, T*, int);                \
  template int syevd(bool, bool, int, T*, int, real_t<T>*);                                 \
  template int geev(int, T*, int, std::complex<real_t<T>>*, std::complex<real_t<T>>*, int); \
  template int least_squares(LeastSquares, int, int, int, T*, int, T*, int, real_t<T>*, real_t<T>, int*);
MT_INSTANTIATE(float)
MT_INSTANTIATE(double)
MT_INSTANTIATE(std::complex<float>)
MT_INSTANTIATE(std::complex<double>)

}  // namespace mt::kernels::lapack
