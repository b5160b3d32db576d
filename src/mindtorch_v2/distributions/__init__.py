"""``torch.distributions``: probability distributions with samples, log probabilities and gradients."""

from . import constraints as constraints
from .bernoulli import Bernoulli as Bernoulli
from .beta import Beta as Beta
from .binomial import Binomial as Binomial
from .categorical import Categorical as Categorical
from .cauchy import Cauchy as Cauchy
from .chi2 import Chi2 as Chi2
from .constraint_registry import biject_to as biject_to
from .constraint_registry import transform_to as transform_to
from .dirichlet import Dirichlet as Dirichlet
from .distribution import Distribution as Distribution
from .exponential import Exponential as Exponential
from .gamma import Gamma as Gamma
from .geometric import Geometric as Geometric
from .gumbel import Gumbel as Gumbel
from .half_cauchy import HalfCauchy as HalfCauchy
from .half_normal import HalfNormal as HalfNormal
from .independent import Independent as Independent
from .kl import kl_divergence as kl_divergence
from .kl import register_kl as register_kl
from .laplace import Laplace as Laplace
from .log_normal import LogNormal as LogNormal
from .lowrank_multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
from .mixture_same_family import MixtureSameFamily as MixtureSameFamily
from .multinomial import Multinomial as Multinomial
from .multivariate_normal import MultivariateNormal as MultivariateNormal
from .negative_binomial import NegativeBinomial as NegativeBinomial
from .normal import Normal as Normal
from .one_hot_categorical import (
    OneHotCategorical as OneHotCategorical,
)
from .one_hot_categorical import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from .pareto import Pareto as Pareto
from .poisson import Poisson as Poisson
from .relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from .relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from .studentT import StudentT as StudentT
from .transformed_distribution import TransformedDistribution as TransformedDistribution
from .transforms import (
    AbsTransform as AbsTransform,
)
from .transforms import (
    AffineTransform as AffineTransform,
)
from .transforms import (
    ComposeTransform as ComposeTransform,
)
from .transforms import (
    ExpTransform as ExpTransform,
)
from .transforms import LowerCholeskyTransform as LowerCholeskyTransform
from .transforms import (
    PowerTransform as PowerTransform,
)
from .transforms import (
    SigmoidTransform as SigmoidTransform,
)
from .transforms import (
    SoftmaxTransform as SoftmaxTransform,
)
from .transforms import (
    SoftplusTransform as SoftplusTransform,
)
from .transforms import (
    TanhTransform as TanhTransform,
)
from .transforms import (
    Transform as Transform,
)
from .transforms import (
    identity_transform as identity_transform,
)
from .uniform import Uniform as Uniform
from .weibull import Weibull as Weibull
from .wishart import Wishart as Wishart
