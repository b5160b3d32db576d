"""TabNet over tables: a classifier and a regressor fitted, pretraining, masks explained, saving."""

import numpy as np
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor


def run(device):
    rng = np.random.RandomState(0)
    x = rng.randn(128, 6).astype(np.float32)
    x[:, 5] = rng.randint(0, 3, 128)
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    common = dict(n_d=4, n_a=4, n_steps=2, cat_idxs=[5], cat_dims=[3], cat_emb_dim=2, seed=0, verbose=0,
                  device_name=device, optimizer_params={"lr": 2e-2})  # fmt: skip
    model = TabNetClassifier(**common)
    model.fit(x, y, eval_set=[(x[:64], y[:64])], eval_metric=["accuracy", "logloss"], max_epochs=3, batch_size=64,
              virtual_batch_size=32, patience=5)  # fmt: skip
    masks, _ = model.explain(x[:16])
    saved = model.save_model("tabnet")
    again = TabNetClassifier(device_name=device, verbose=0)
    again.load_model(saved)
    other = TabNetRegressor(**(common | {"mask_type": "entmax"}))
    other.fit(
        x, x[:, :1] * 2, eval_set=[(x, x[:, :1] * 2)], max_epochs=2, batch_size=64, virtual_batch_size=32
    )
    return {
        "loss": model.history["loss"],
        "logloss": model.history["val_0_logloss"],
        "proba": model.predict_proba(x[:8]),
        "again": again.predict_proba(x[:8]),
        "importance": model.feature_importances_,
        "masks": masks,
        "rmse": other.history["loss"],
        "pretrainer": float(TabNetPretrainer is not None),
    }
