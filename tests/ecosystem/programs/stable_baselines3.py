"""Agents: DQN and TD3 train on the device; PPO and A2C collect by the cpu's seeds and go on there."""

import io
import tempfile

import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecNormalize


class Watch(BaseCallback):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def _on_step(self):
        self.steps += 1
        return True


def parameters(policy):
    return [p.detach().double().abs().mean().item() for p in policy.parameters()]


def made_on_cpu(kind, *args, device, **kwargs):
    """An agent whose weights are the cpu generator's, moved to the device."""
    agent = kind(*args, device="cpu", **kwargs)
    state = agent.policy.state_dict()
    if device != "cpu":
        agent = kind(*args, device=device, **kwargs)
        agent.policy.load_state_dict(state)
    return agent


def run(device):
    watch = Watch()
    dqn = made_on_cpu(
        DQN,
        "MlpPolicy",
        "CartPole-v1",
        learning_starts=20,
        buffer_size=200,
        batch_size=16,
        train_freq=4,
        target_update_interval=20,
        seed=0,
        policy_kwargs={"net_arch": [24]},
        device=device,
    )
    dqn.action_space.seed(0)
    np.random.seed(0)
    dqn.learn(80, callback=watch)
    score = evaluate_policy(
        dqn, make_vec_env("CartPole-v1", seed=5), n_eval_episodes=2, deterministic=True, warn=False
    )[0]

    noise = NormalActionNoise(np.zeros(1), 0.1 * np.ones(1))
    td3 = made_on_cpu(
        TD3,
        "MlpPolicy",
        "Pendulum-v1",
        learning_starts=10,
        buffer_size=100,
        batch_size=8,
        seed=0,
        action_noise=noise,
        target_policy_noise=0.0,
        policy_kwargs={"net_arch": [24]},
        device=device,
    )
    td3.action_space.seed(0)
    np.random.seed(0)
    td3.learn(30)

    environments = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0))
    ppo = PPO(
        "MlpPolicy",
        environments,
        n_steps=16,
        batch_size=16,
        n_epochs=2,
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": {"pi": [16], "vf": [16]}, "activation_fn": torch.nn.ReLU},
    )
    ppo.learn(64)
    with tempfile.TemporaryDirectory() as folder:
        ppo.save(folder + "/ppo")
        there = PPO.load(folder + "/ppo", env=environments, device=device)
    observations = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    tensor = torch.as_tensor(observations, device=device)
    values, log_prob, entropy = there.policy.evaluate_actions(
        tensor, torch.tensor([0, 1, 0, 1, 0], device=device)
    )
    loss = values.mean() - log_prob.mean() - 0.01 * entropy.mean()
    there.policy.optimizer.zero_grad()
    loss.backward()
    there.policy.optimizer.step()

    a2c = A2C("MlpPolicy", "Pendulum-v1", n_steps=5, seed=0, device="cpu", use_rms_prop=True, use_sde=True)
    a2c.learn(20)
    stream = io.BytesIO()
    a2c.save(stream)
    stream.seek(0)
    loaded = A2C.load(stream, device=device)
    return {
        "dqn": parameters(dqn.policy),
        "q": dqn.q_net(tensor),
        "score": float(score),
        "steps": float(watch.steps),
        "td3": parameters(td3.policy),
        "ppo": parameters(there.policy),
        "values": values,
        "loss": loss,
        "actions": torch.tensor(there.predict(observations, deterministic=True)[0]).float(),
        "a2c": torch.tensor(loaded.predict(observations[:, :3], deterministic=True)[0]),
    }
