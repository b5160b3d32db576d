"""Reinforcement learning: an environment, a replay buffer, advantages, and the losses of DQN, PPO and SAC."""

import torch
from tensordict import TensorDict
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.data import Bounded, Composite, LazyTensorStorage, OneHot, ReplayBuffer, Unbounded
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import Compose, EnvBase, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import MLP, ProbabilisticActor, QValueActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss, DQNLoss, SACLoss, SoftUpdate
from torchrl.objectives.value import GAE


class Point(EnvBase):
    """A point that is pushed towards the origin."""

    def __init__(self, device):
        super().__init__(device=device, batch_size=[])
        self.observation_spec = Composite(observation=Unbounded(2, device=device), device=device)
        self.action_spec = Bounded(-1, 1, (2,), device=device)
        self.reward_spec = Unbounded(1, device=device)

    def _reset(self, tensordict=None):
        self.position = torch.tensor([1.0, -0.5], device=self.device)
        return TensorDict({"observation": self.position.clone()}, [], device=self.device)

    def _step(self, tensordict):
        self.position = self.position + 0.1 * tensordict["action"]
        reward = -self.position.norm().view(1)
        done = torch.zeros(1, dtype=torch.bool, device=self.device)
        return TensorDict(
            {
                "observation": self.position.clone(),
                "reward": reward,
                "done": done,
                "terminated": done.clone(),
            },
            [],
            device=self.device,
        )

    def _set_seed(self, seed):
        torch.manual_seed(seed)


def actor_and_value():
    actor = ProbabilisticActor(
        TensorDictModule(
            nn.Sequential(MLP(2, 4, depth=1, num_cells=16), NormalParamExtractor()),
            in_keys=["observation"],
            out_keys=["loc", "scale"],
        ),
        in_keys=["loc", "scale"],
        out_keys=["action"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": -1.0, "high": 1.0},
        return_log_prob=True,
    )
    return actor, ValueOperator(MLP(2, 1, depth=1, num_cells=16), in_keys=["observation"])


def run(device):
    torch.manual_seed(0)
    actor, value = actor_and_value()
    environment = TransformedEnv(Point("cpu"), Compose(StepCounter(max_steps=8), RewardSum()))
    with torch.no_grad():
        rollout = environment.rollout(12, actor, break_when_any_done=False)
    actor, value, data = actor.to(device), value.to(device), rollout.to(device)

    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value, average_gae=True)
    loss_module = ClipPPOLoss(actor, value, clip_epsilon=0.2, entropy_bonus=False)
    optimizer = torch.optim.Adam(loss_module.parameters(), lr=3e-3)
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(12, device=device),
        sampler=SamplerWithoutReplacement(shuffle=False),
        batch_size=6,
    )
    ppo = []
    for _ in range(2):
        advantage(data)
        buffer.empty()
        buffer.extend(data.reshape(-1))
        for _ in range(2):
            losses = loss_module(buffer.sample())
            total = sum(loss for name, loss in losses.items() if name.startswith("loss_"))
            optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
            optimizer.step()
            ppo.append(total.item())

    torch.manual_seed(1)
    spec = OneHot(3)
    q = QValueActor(MLP(2, 3, depth=1, num_cells=16), in_keys=["observation"], spec=spec).to(device)
    dqn_loss = DQNLoss(q, action_space=spec, delay_value=True, double_dqn=True)
    dqn_loss.make_value_estimator(gamma=0.9)
    updater = SoftUpdate(dqn_loss, eps=0.9)
    batch = TensorDict(
        {
            "observation": torch.randn(10, 2),
            "action": torch.eye(3)[torch.randint(0, 3, (10,))],
            "next": {
                "observation": torch.randn(10, 2),
                "reward": torch.randn(10, 1),
                "done": torch.zeros(10, 1, dtype=torch.bool),
                "terminated": torch.zeros(10, 1, dtype=torch.bool),
            },
        },
        [10],
    ).to(device)
    optimizer = torch.optim.Adam(dqn_loss.parameters(), lr=1e-2)
    dqn = []
    for _ in range(4):
        loss = dqn_loss(batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updater.step()
        dqn.append(loss.item())

    torch.manual_seed(2)  # it draws actions: on the cpu, where a seed gives PyTorch's numbers
    actor, _ = actor_and_value()
    critic = ValueOperator(MLP(4, 1, depth=1, num_cells=16), in_keys=["observation", "action"])
    sac_loss = SACLoss(actor, critic, num_qvalue_nets=2, target_entropy=-2.0)
    losses = sac_loss(rollout.exclude("action_log_prob", "loc", "scale").clone())
    sum(losses[name] for name in ("loss_actor", "loss_qvalue", "loss_alpha")).backward()
    gradients = [p.grad.abs().sum().item() for p in sac_loss.parameters() if p.grad is not None]
    return {
        "observations": rollout["next", "observation"],
        "episode": rollout["next", "episode_reward"],
        "advantage": data["advantage"],
        "target": data["value_target"],
        "ppo": ppo,
        "dqn": dqn,
        "q": q(batch.select("observation"))["action_value"],
        "sac": [losses["loss_qvalue"].item(), losses["loss_actor"].item()],
        "sac gradients": gradients,
    }
