# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# Noise that is designed, drawn and learned with: two figures, into the folder that is named, or this one. It takes
# the program noisewright, and matplotlib, torch and scikit-learn.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer

import noisewright
import noisewright.torch as nw

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
plt.rcParams.update({"svg.hashsalt": "noisewright", "svg.fonttype": "none", "axes.grid": True, "grid.alpha": 0.3})
METADATA = {"Date": None}

# %% [markdown]
# The best noise for the absolute error at epsilon 1, delta 0.1 and sensitivity 1, a million draws of it, and Laplace
# noise.

# %%
made = noisewright.design(1, 0.1, 1, "l1")
table = made.table
points, probabilities, atom = table.pmf()
width = table.points_per_cell * table.step
edges = np.append(points, points[-1] + table.points_per_cell) * table.step - table.step / 2
x = np.linspace(-3, 3, 601)

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.hist(table.sample(1_000_000), bins=edges, density=True, color="#c8d8e8", label="a million draws")
axes.stairs(
    probabilities / width, edges, color="#1f4e79", label=f"designed, E|X| = {float(table.expected_loss_of('l1')):.4f}"
)
axes.plot(x, np.exp(-np.abs(x)) / 2, color="#b03a2e", linestyle="--", label="Laplace, E|X| = 1")
axes.set(xlabel="noise", ylabel="density", xlim=(-3, 3))
axes.legend()
figure.savefig(folder / "python-noise.svg", metadata=METADATA)

# %% [markdown]
# An encoder that is trained with the noise: 30 features of a person become two private numbers.

# %%
torch.manual_seed(1)
features, labels = (torch.tensor(array) for array in load_breast_cancer(return_X_y=True))
inputs = ((features - features[:399].mean(0)) / features[:399].std(0)).float()
X, y, X_test, y_test = inputs[:399], labels[:399], inputs[399:], labels[399:]


def train(epsilon: float) -> tuple[torch.Tensor, float]:
    """What the people of the test send, and the mean accuracy over twenty times that they do."""
    noise = nw.design(epsilon, 1e-6, coordinates=2, clip=1.0)
    enc = torch.nn.Sequential(torch.nn.Linear(30, 30), torch.nn.Sigmoid(), torch.nn.Linear(30, 2))
    dec = torch.nn.Sequential(torch.nn.Linear(2, 30), torch.nn.ReLU(), torch.nn.Linear(30, 2))
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-2)
    for _ in range(400):
        loss = torch.nn.functional.cross_entropy(dec(noise(enc(X))), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        sent = [noise.release(enc(X_test)) for _ in range(20)]
        right = [(dec(numbers).argmax(1) == y_test).float().mean().item() for numbers in sent]
    return sent[0], float(np.mean(right))


# %%
epsilons = [1, 2, 5, 10, 20]
trained = {epsilon: train(epsilon) for epsilon in epsilons}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for label, name, color in ((0, "malignant", "#b03a2e"), (1, "benign", "#1f4e79")):
    left.scatter(*trained[10][0][y_test == label].T, s=9, color=color, label=name)
left.set(xlabel="first private number", ylabel="second", title="what people send at ε = 10")
left.legend()
right.plot(epsilons, [trained[epsilon][1] for epsilon in epsilons], marker="o", color="#1f4e79")
right.axhline((y_test == 1).float().mean().item(), color="gray", linestyle=":", label="guessing benign")
right.set(
    xscale="log", xticks=epsilons, xticklabels=epsilons, xlabel="ε of a person", title="accuracy on people held out"
)
right.legend()
figure.savefig(folder / "python-encoder.svg", metadata=METADATA)
for epsilon in epsilons:
    print(f"epsilon {epsilon:2}  accuracy {trained[epsilon][1]:.3f}")
