#include "check.h"
#include "kernels/loss/nll.h"

using namespace mt;
using namespace mt::kernels;

TEST("negative log likelihood with weights, ignored targets and every reduction") {
  Array<float> scores({3, 4}, std::function<float(int64_t)>([](int64_t i) { return -float(i) - 1.0f; }));
  Array<int64_t> target({3});
  target.data = {2, -100, 1};
  Array<float> weight({4}), each({3}), one(std::vector<int64_t>{}), total(std::vector<int64_t>{});
  weight.data = {1, 2, 0.5f, 1};
  const View w = weight.view();
  nll_loss(scores.view(), target.view(), &w, each.view(), total.view(), Reduction::none, -100);
  CHECK(each[0] == 1.5f && each[1] == 0 && each[2] == 20.0f && total[0] == 0);
  nll_loss(scores.view(), target.view(), &w, one.view(), total.view(), Reduction::sum, -100);
  CHECK(one[0] == 21.5f && total[0] == 2.5f);
  nll_loss(scores.view(), target.view(), &w, one.view(), total.view(), Reduction::mean, -100);
  CHECK(one[0] == 8.6f && total[0] == 2.5f);
  nll_loss(scores.view(), target.view(), nullptr, one.view(), total.view(), Reduction::mean, -100);
  CHECK(one[0] == 6.5f && total[0] == 2.0f);

  Array<float> upstream(std::vector<int64_t>{}, 2.0f), grad({3, 4}, 9.0f);
  nll_loss_backward(upstream.view(), target.view(), nullptr, total.view(), grad.view(), Reduction::mean,
                    -100);
  CHECK(grad[2] == -1.0f && grad[0] == 0 && grad[5] == 0 && grad[9] == -1.0f);
  Array<float> per_sample({3}, 3.0f);
  nll_loss_backward(per_sample.view(), target.view(), &w, total.view(), grad.view(), Reduction::none, -100);
  CHECK(grad[2] == -1.5f && grad[9] == -6.0f);

  target.data = {2, 12, 1};
  CHECK_FAILS(
      nll_loss(scores.view(), target.view(), nullptr, one.view(), total.view(), Reduction::mean, -100),
      "Target 12 is out of bounds.");
  Array<float> row({4}, -1.0f);
  Array<int64_t> single(std::vector<int64_t>{}, 3);
  nll_loss(row.view(), single.view(), nullptr, one.view(), total.view(), Reduction::mean, -100);
  CHECK(one[0] == 1.0f);
}
