"""A text encoder trained on pairs, saved, used to encode, compare, search and cluster; a cross-encoder."""

import torch
from datasets import Dataset
from sentence_transformers import (
    CrossEncoder,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    models,
    util,
)
from sentence_transformers.losses import CosineSimilarityLoss, MultipleNegativesRankingLoss
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers import models as tokenizer_models
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

WORDS = "red green blue car boat bird fish runs swims flies fast slow over under the a big small house tree".split()


def save_encoder(folder: str, kind, **options) -> None:
    torch.manual_seed(0)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: index for index, word in enumerate([*special, *WORDS])}
    words = Tokenizer(tokenizer_models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=32, **names).save_pretrained(folder)
    kind(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=24, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=40, max_position_embeddings=32, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0, **options,
        )
    ).save_pretrained(folder)  # fmt: skip


def sentences(count: int, seed: int) -> list[str]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 8, (count,), generator=generator).tolist()
    return [
        " ".join(WORDS[i] for i in torch.randint(0, len(WORDS), (n,), generator=generator)) for n in lengths
    ]


def train(model: SentenceTransformer, data: dict, loss, device: str) -> list[float]:
    settings = SentenceTransformerTrainingArguments(
        "out", per_device_train_batch_size=4, max_steps=4, learning_rate=2e-3, logging_steps=1, report_to="none",
        use_cpu=device == "cpu", save_strategy="no", seed=1, disable_tqdm=True,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model, settings, train_dataset=Dataset.from_dict(data), loss=loss(model)
    )
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def run(device: str):
    save_encoder("bert", BertModel)
    encoder = models.Transformer("bert", max_seq_length=16)
    pooling = models.Pooling(encoder.get_embedding_dimension(), pooling_mode="mean")
    model = SentenceTransformer(modules=[encoder, pooling, models.Normalize()], device=device)
    found = {}
    pairs = {"anchor": sentences(12, 1), "positive": sentences(12, 2)}
    found["ranking"] = train(model, pairs, MultipleNegativesRankingLoss, device)
    scores = torch.rand(12, generator=torch.Generator().manual_seed(3)).tolist()
    scored = {"sentence1": sentences(12, 4), "sentence2": sentences(12, 5), "score": scores}
    found["cosine"] = train(model, scored, CosineSimilarityLoss, device)

    model.save("model")
    model = SentenceTransformer("model", device=device)
    corpus, queries = sentences(20, 6), sentences(3, 7)
    embedded = model.encode(corpus, convert_to_tensor=True, batch_size=6)
    asked = model.encode(queries, convert_to_tensor=True)
    assert embedded.device.type == device
    found["embeddings"], found["similarity"] = embedded, model.similarity(asked, embedded)
    hits = util.semantic_search(asked, embedded, top_k=3)
    found["search"] = torch.tensor([[hit["score"] for hit in row] for row in hits])
    found["communities"] = float(len(util.community_detection(embedded, threshold=0.9, min_community_size=1)))

    save_encoder("cross", BertForSequenceClassification, num_labels=1)
    cross = CrossEncoder("cross", device=device, max_length=24)
    found["cross"] = torch.as_tensor(cross.predict(list(zip(queries, corpus[:3], strict=True))))
    return found
