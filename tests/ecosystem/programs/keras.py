"""Keras on its torch backend: layers, fit, callbacks, a model of functions, a training step of one's own, saving."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers, ops


class Block(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense, self.norm = layers.Dense(units, activation="gelu"), layers.LayerNormalization()

    def call(self, x):
        return x + self.norm(self.dense(x))


def images():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )


def tokens():
    inputs = keras.Input((6,), dtype="int32")
    x = layers.Embedding(20, 16)(inputs)
    x = layers.MultiHeadAttention(2, 8)(x, x) + x
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    x = layers.GRU(16)(x)
    x = Block(16)(x)
    return keras.Model(inputs, layers.Dense(1)(x))


def run(device):
    random = np.random.default_rng(0)
    x = random.normal(size=(48, 8, 8, 1)).astype("float32")
    y = random.integers(0, 3, 48)
    keras.utils.set_random_seed(0)
    weights = [w.copy() for w in images().get_weights()]
    token_weights = [w.copy() for w in tokens().get_weights()]
    with keras.device(device):
        model = images()
        model.set_weights(weights)
        schedule = keras.optimizers.schedules.CosineDecay(0.01, 20)
        model.compile(
            keras.optimizers.Adam(schedule), "sparse_categorical_crossentropy", metrics=["accuracy"]
        )
        history = model.fit(
            x,
            y,
            batch_size=16,
            epochs=3,
            shuffle=False,
            verbose=0,
            validation_data=(x[:16], y[:16]),
            callbacks=[keras.callbacks.EarlyStopping(patience=5), keras.callbacks.TerminateOnNaN()],
        )
        evaluated = model.evaluate(x, y, verbose=0)
        predicted = model.predict(x[:5], verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder + "/model.keras")
            again = keras.models.load_model(folder + "/model.keras")
        loaded = again.predict(x[:5], verbose=0)

        text = tokens()
        text.set_weights(token_weights)
        ids = random.integers(0, 20, (12, 6)).astype("int32")
        goal = random.normal(size=(12, 1)).astype("float32")
        optimizer = keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipnorm=1.0)
        losses = []
        for _ in range(4):
            text.zero_grad()
            loss = ops.mean(
                ops.square(text(ops.convert_to_tensor(ids), training=True) - ops.convert_to_tensor(goal))
            )
            loss.backward()
            values = [v for v in text.trainable_weights]
            with torch.no_grad():
                optimizer.apply([v.value.grad for v in values], values)
            losses.append(float(loss))
        image = ops.image.resize(ops.convert_to_tensor(x[:2]), (5, 7), interpolation="bilinear")
        scanned, _ = ops.scan(
            lambda carry, item: (carry + item, carry * item), ops.ones((2,)), ops.ones((4, 2)) * 2
        )
        product = ops.einsum("bhwc,bhwd->bcd", ops.convert_to_tensor(x[:2]), ops.convert_to_tensor(x[:2]))
    return {
        "loss": history.history["loss"],
        "accuracy": history.history["val_accuracy"],
        "evaluated": list(evaluated),
        "predicted": torch.tensor(predicted),
        "loaded": torch.tensor(loaded),
        "losses": losses,
        "image": image,
        "scanned": scanned,
        "product": product,
    }
