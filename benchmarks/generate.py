"""Tokens per second of Hugging Face's GPT-2 (124 million drawn weights) on PyTorch and on this package, batch 1.

python benchmarks/generate.py [--device cuda] [--tokens 128] [--runs 3] [--dtype float32]

Each library runs in processes of its own, in turns: `mindtorch run` is what makes `import torch` this package. The
tokens of both must be the same. transformers must be installed beside both.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time


def generate(options: argparse.Namespace) -> None:
    """One library's part: prints its time and tokens."""
    import numpy
    import torch
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
    random = numpy.random.RandomState(0)
    with torch.no_grad():
        for parameter in model.parameters():
            values = 0.05 * random.standard_normal(tuple(parameter.shape)).astype(numpy.float32)
            parameter.copy_(torch.from_numpy(values))
    model = model.to(options.device, getattr(torch, options.dtype))
    prompt = torch.arange(1, 17)[None].to(options.device)
    fixed = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "min_new_tokens": options.tokens}

    def run() -> list[int]:
        return model.generate(prompt, max_new_tokens=options.tokens, **fixed)[0].tolist()

    first = run()
    begin = time.perf_counter()
    tokens = run()
    seconds = time.perf_counter() - begin
    assert tokens == first, f"two runs gave {first} and {tokens}"
    print(json.dumps({"seconds": seconds, "tokens": tokens}))


def measured(library: str, options: argparse.Namespace) -> dict:
    start = [sys.executable] if library == "torch" else [sys.executable, "-m", "mindtorch_v2", "run"]
    settings = ["--device", options.device, "--tokens", str(options.tokens), "--dtype", options.dtype]
    done = subprocess.run(
        [*start, __file__, "--one", *settings], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        generate(options)
        return
    rates: dict[str, list[float]] = {"torch": [], "mindtorch_v2": []}
    tokens = []
    for _ in range(options.runs):
        for library, found in rates.items():
            made = measured(library, options)
            found.append(options.tokens / made["seconds"])
            tokens.append(made["tokens"])
            print(f"{library:13} {found[-1]:8.1f} tokens/s", flush=True)
    theirs, ours = (statistics.median(found) for found in rates.values())
    print(
        f"ours over PyTorch's: {ours / theirs:.2f}; tokens equal: {all(each == tokens[0] for each in tokens)}"
    )


if __name__ == "__main__":
    main()
