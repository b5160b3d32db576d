"""Optimisation on manifolds: spheres, Stiefel, hyperbolic balls, positive matrices; Riemannian SGD and Adam."""

import geoopt
import torch


def run(device):
    out = {}
    torch.manual_seed(0)
    a = torch.randn(6, 6)
    a = (a @ a.T).to(device)
    x = geoopt.ManifoldParameter(torch.randn(6, 2).to(device), manifold=geoopt.Stiefel())
    with torch.no_grad():
        x.proj_()
    optimizer = geoopt.optim.RiemannianAdam([x], lr=5e-2)
    found = []
    for _ in range(20):
        loss = -(x.T @ a @ x).trace()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    out["stiefel"] = found
    out["orthogonal"] = x.T @ x
    ball = geoopt.PoincareBall(c=1.0).to(device)
    p, q = (0.2 * torch.randn(5, 3)).to(device), (0.2 * torch.randn(5, 3)).to(device)
    out["dist"] = ball.dist(p, q)
    out["mobius"] = ball.mobius_add(p, q)
    out["exp"] = ball.expmap(p, q)
    out["log"] = ball.logmap(p, q)
    out["transport"] = ball.transp(p, q, p + 0.1)
    out["geodesic"] = ball.geodesic(torch.tensor(0.3).to(device), p, q)
    point = geoopt.ManifoldParameter(p.clone(), manifold=ball)
    optimizer = geoopt.optim.RiemannianSGD([point], lr=0.1, momentum=0.9, stabilize=2)
    found = []
    for _ in range(5):
        loss = ball.dist(point, q).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    out["ball"] = found
    sphere = geoopt.Sphere()
    s = sphere.projx(torch.randn(4, 3).to(device))
    v = sphere.proju(s, torch.randn(4, 3).to(device))
    out["sphere"] = sphere.expmap(s, v)
    out["sphere_log"] = sphere.logmap(s, sphere.projx(s + 0.3 * v))
    lorentz = geoopt.Lorentz().to(device)
    l1 = lorentz.projx(torch.randn(4, 3).to(device))
    l2 = lorentz.projx(torch.randn(4, 3).to(device))
    out["lorentz"] = lorentz.dist(l1, l2)
    spd = geoopt.SymmetricPositiveDefinite()
    m = torch.randn(2, 3, 3)
    m1, m2 = (m @ m.mT + torch.eye(3)).to(device), (m.mT @ m + torch.eye(3)).to(device)
    out["spd"] = spd.dist(m1, m2)
    out["spd_exp"] = spd.expmap(m1, 0.1 * m2)
    stereo = geoopt.Stereographic(k=-0.7, learnable=True).to(device)
    d = stereo.dist(p, q).sum()
    d.backward()
    out["k"] = stereo.isp_c.grad if hasattr(stereo, "isp_c") else stereo.k.grad
    product = geoopt.ProductManifold((geoopt.Sphere(), 3), (geoopt.Euclidean(ndim=1), 2)).to(device)
    out["product"] = product.projx(torch.arange(1.0, 6.0).to(device))
    module = torch.nn.Module()
    module.p = point
    out["saved"] = module.state_dict()["p"]
    return out
