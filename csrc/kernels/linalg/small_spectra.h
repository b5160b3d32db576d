// Eigenvalues and singular values of many small real matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/linalg/batch.h"

namespace mt::kernels::linalg {

// Note [Rotations in lanes]
// Each lane of a vector has a matrix of its own, and all are turned at once, pair of columns by pair of columns, until what is
// beside the diagonal (of the matrix, or of its square) is gone: Jacobi's way, which needs no choices that would differ from
// lane to lane. Matrices are divided by a power of two first, so that squares neither overflow nor vanish.
template <class T>
struct SmallSpectra {
  static constexpr int64_t kBytes = kHasLevels ? 64 : 16, kLanes = kBytes / int64_t(sizeof(T));
  static constexpr int64_t kMostColumns = 16, kMostRows = 32;
  // Columns a power of two apart would share a few places of the cache.
  static constexpr int64_t kRoom = kMostRows + 1;
  typedef T Lanes __attribute__((vector_size(kBytes)));

  // Whether a batch of so many is worth it: of a few matrices, most lanes are idle.
  static bool fits(int64_t batch, int64_t m, int64_t n) {
    const int64_t columns = std::min(m, n);
    return columns > 0 && columns <= kMostColumns && std::max(m, n) <= kMostRows &&
           (columns <= 4 || batch >= 4);
  }

  // values[column] for a[column][row], with no more columns than rows; a is destroyed.
  struct Singular {
    static constexpr bool triangle = false;
    [[gnu::always_inline]] static inline void run(Lanes (*a)[kRoom], int64_t m, int64_t n, Lanes* values) {
      const T tolerance = 4 * T(m) * epsilon * epsilon;  // of a squared cosine
      bool turned = true;
      for (int sweep = 0; sweep < kSweeps && turned; ++sweep) {
        turned = false;
        for (int64_t p = 0; p < n; ++p) {
          for (int64_t q = p + 1; q < n; ++q) {
            Lanes *x = a[p], *y = a[q], alike = {}, of_x = {}, of_y = {};
            for (int64_t i = 0; i < m; ++i) alike += x[i] * y[i], of_x += x[i] * x[i], of_y += y[i] * y[i];
            const auto turns = alike * alike > tolerance * of_x * of_y;
            if (!any(turns)) continue;
            turned = true;
            const Rotation rotation(of_y - of_x, turns ? alike : Lanes{});
            for (int64_t i = 0; i < m; ++i) rotation.turn(x[i], y[i]);
          }
        }
      }
      for (int64_t p = 0; p < n; ++p) {
        Lanes square = {};
        for (int64_t i = 0; i < m; ++i) square += a[p][i] * a[p][i];
        values[p] = root(square);
      }
    }
  };

  // values[i] for the symmetric matrix whose lower triangle is a[column][row]; a is destroyed.
  struct Symmetric {
    static constexpr bool triangle = true;
    [[gnu::always_inline]] static inline void run(Lanes (*a)[kRoom], int64_t, int64_t n, Lanes* values) {
      // Smaller squares are nothing, and what they are of would become so small that computing with it is slow.
      const T least = epsilon * epsilon * epsilon;
      for (int sweep = 0; sweep < kSweeps; ++sweep) {
        Lanes on = {}, beside = {};
        for (int64_t p = 0; p < n; ++p) {
          on += a[p][p] * a[p][p];
          for (int64_t q = p + 1; q < n; ++q) beside += a[p][q] * a[p][q];
        }
        if (!any(beside > epsilon * epsilon * on)) break;
        for (int64_t p = 0; p < n; ++p) {
          for (int64_t q = p + 1; q < n; ++q) {
            const Lanes x = a[p][q] * a[p][q] > least ? a[p][q] : Lanes{};
            const Rotation rotation(a[q][q] - a[p][p], x);
            const Lanes moved = rotation.tangent * x;
            a[p][p] -= moved, a[q][q] += moved, a[p][q] = Lanes{};
            for (int64_t k = 0; k < p; ++k) rotation.turn(a[k][p], a[k][q]);
            for (int64_t k = p + 1; k < q; ++k) rotation.turn(a[p][k], a[k][q]);
            for (int64_t k = q + 1; k < n; ++k) rotation.turn(a[p][k], a[q][k]);
          }
        }
      }
      for (int64_t p = 0; p < n; ++p) values[p] = a[p][p];
    }
  };

  // The values of all matrices of `a`, m by n, whose rows and columns are so far apart, in the order of `before`. one(i) takes
  // a matrix by itself: those of a group that has numbers which are not finite.
  template <class Kind, class Before, class One>
  static void each(const View& a, int64_t m, int64_t n, int64_t row, int64_t column, Before before,
                   const View& values, const One& one) {
    const int64_t batch = batch_count(a, 2), groups = (batch + kLanes - 1) / kLanes;
    const int64_t grain = std::max<int64_t>(1, kGrain / (m * n * n * kLanes));
    parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
      Lanes matrices[kMostColumns][kRoom], found[kMostColumns], scale;
      for (int64_t group = begin; group < end; ++group) {
        const int64_t first = group * kLanes, count = std::min(kLanes, batch - first);
        bool finite = true;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const T* from = element(a, 2, first + std::min(lane, count - 1)).template as<T>();
          T largest = 0, nothing = 0;
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = Kind::triangle ? j : 0; i < m; ++i) {
              const T x = from[i * row + j * column], size = std::abs(x);
              matrices[j][i][lane] = x;
              largest = std::max(largest, size), nothing += x - x;
            }
          }
          finite &= nothing == 0;
          scale[lane] =
              largest > 0 ? std::ldexp(T(1), -std::clamp(std::ilogb(largest), kLeast, -kLeast)) : T(1);
        }
        if (!finite) {
          for (int64_t i = first; i < first + count; ++i) one(i);
          continue;
        }
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = Kind::triangle ? j : 0; i < m; ++i) matrices[j][i] *= scale;
        at_level<Kind, Lanes(*)[kRoom], int64_t, int64_t, Lanes*>(matrices, m, n, found);
        for (int64_t lane = 0; lane < count; ++lane) {
          T sorted[kMostColumns];
          for (int64_t p = 0; p < n; ++p) sorted[p] = found[p][lane] / scale[lane];
          std::sort(sorted, sorted + n, before);
          store_vector<T>(sorted, element(values, 1, first + lane));
        }
      }
    });
  }

 private:
  static constexpr int kSweeps = 40, kLeast = std::numeric_limits<T>::min_exponent + 2;
  static constexpr T epsilon = std::numeric_limits<T>::epsilon();

  template <class Mask>
  [[gnu::always_inline]] static inline bool any(const Mask& mask) {
    bool found = false;
    for (int64_t l = 0; l < kLanes; ++l) found |= mask[l] != 0;
    return found;
  }
  [[gnu::always_inline]] static inline Lanes root(const Lanes& x) {
    Lanes result;
    for (int64_t l = 0; l < kLanes; ++l) result[l] = std::sqrt(x[l]);
    return result;
  }
  // What makes [[p, x], [x, q]] diagonal, for q - p and x. Small turns change numbers little, and so round little.
  struct Rotation {
    Lanes tangent, sine, bend;
    [[gnu::always_inline]] inline Rotation(const Lanes& apart, const Lanes& x) {
      const Lanes distance = apart < 0 ? -apart : apart, across = root(apart * apart + 4 * x * x);
      const Lanes length = distance + across, safe = length > 0 ? length : Lanes{} + 1;
      const Lanes slope = 2 * x / safe;
      tangent = apart < 0 ? -slope : slope;
      const Lanes cosine = 1 / root(1 + tangent * tangent);
      sine = tangent * cosine;
      bend = sine / (1 + cosine);
    }
    [[gnu::always_inline]] inline void turn(Lanes& x, Lanes& y) const {
      const Lanes before = x;
      x -= sine * (y + bend * before);
      y += sine * (before - bend * y);
    }
  };
};

}  // namespace mt::kernels::linalg
