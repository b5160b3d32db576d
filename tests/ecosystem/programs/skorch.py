"""Networks in scikit-learn: pipelines, cross validation, a search over options, callbacks, saving."""

import tempfile

import numpy as np
import torch
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import (
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    Freezer,
    GradientNormClipping,
    LRScheduler,
)
from skorch.dataset import ValidSplit
from skorch.helper import SliceDataset, predefined_split
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden=12, outputs=2, last=None):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
        self.last = last or nn.Identity()

    def forward(self, X):
        return self.last(self.body(X)).squeeze(-1)


def run(device):
    X, y = make_classification(120, 10, n_informative=5, random_state=0)
    X, y = X.astype(np.float32), y.astype(np.int64)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        net = NeuralNetClassifier(
            Net,
            module__last=nn.Softmax(-1),
            max_epochs=5,
            lr=0.1,
            device=device,
            iterator_train__shuffle=True,
            verbose=0,
            train_split=ValidSplit(4, stratified=True),
            callbacks=[
                ("auc", EpochScoring("roc_auc", lower_is_better=False)),
                GradientNormClipping(1.0),
                LRScheduler("StepLR", step_size=2, gamma=0.5),
                EarlyStopping(patience=10),
                Checkpoint(dirname=folder),
            ],
        )
        net.fit(X, y)
        probabilities = net.predict_proba(X)
        net.save_params(
            f_params=folder + "/net.pt", f_optimizer=folder + "/opt.pt", f_history=folder + "/h.json"
        )
        again = NeuralNetClassifier(Net, module__last=nn.Softmax(-1), device=device).initialize()
        again.load_params(f_params=folder + "/net.pt")
        loaded = again.predict_proba(X[:5])
    history = net.history[:, ("train_loss", "valid_loss", "roc_auc")]

    torch.manual_seed(1)
    search = GridSearchCV(
        NeuralNetClassifier(
            Net, criterion=nn.CrossEntropyLoss, max_epochs=3, train_split=None, verbose=0, device=device
        ),
        {"lr": [0.05, 0.5], "module__hidden": [4, 8]},
        cv=2,
        scoring="accuracy",
        refit=False,
    )
    search.fit(X, y)
    torch.manual_seed(2)
    A, b = make_regression(60, 10, random_state=0)
    regressor = make_pipeline(
        StandardScaler(),
        NeuralNetRegressor(
            Net,
            module__outputs=1,
            max_epochs=4,
            lr=0.01,
            verbose=0,
            device=device,
            optimizer=torch.optim.Adam,
            optimizer__weight_decay=1e-3,
            callbacks=[Freezer("body.0.bias")],
        ),
    )
    folds = cross_val_predict(regressor, A.astype(np.float32), (b / 50).astype(np.float32), cv=3)
    torch.manual_seed(3)
    held = torch.utils.data.TensorDataset(torch.tensor(X[:20]), torch.tensor(y[:20]).float())
    binary = NeuralNetBinaryClassifier(
        Net, module__outputs=1, max_epochs=3, verbose=0, device=device, train_split=predefined_split(held)
    )
    binary.fit(X, y.astype(np.float32))
    binary.partial_fit(X, y.astype(np.float32))
    sliced = SliceDataset(held)
    return {
        "history": [value for row in history for value in row],
        "probabilities": torch.tensor(probabilities),
        "loaded": torch.tensor(loaded),
        "search": search.cv_results_["mean_test_score"].tolist(),
        "folds": torch.tensor(folds),
        "binary": torch.tensor(binary.predict_proba(X[:10])),
        "binary losses": binary.history[:, "valid_loss"],
        "sliced": torch.stack([sliced[i] for i in range(3)]),
    }
