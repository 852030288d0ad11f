"""Writes GGUF files from Python: parts for well-formed and for hostile ones, and a tiny llama model with random weights."""
import random
import struct

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
T_F32 = 0


def string(s):
    data = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, v):
    if kind == STRING:
        return string(v)
    if kind == ARRAY:
        element, items = v
        return struct.pack("<IQ", element, len(items)) + b"".join(value(element, i) for i in items)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q"}[kind], v)


def pair(key, kind, v):
    return string(key) + struct.pack("<I", kind) + value(kind, v)


def tensor_info(name, dims, offset, kind=T_F32):
    return string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def header(n_tensors, n_pairs, version=3, magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, n_tensors, n_pairs)


def pad(data, alignment=32):
    return data + b"\0" * (-len(data) % alignment)


def byte_alphabet():
    """GPT-2's printable stand-ins for the 256 bytes."""
    kept = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table = {b: chr(b) for b in kept}
    for i, b in enumerate(b for b in range(256) if b not in table):
        table[b] = chr(256 + i)
    return [table[b] for b in range(256)]


CHATML = "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"


def build(context=512, head_dim=64, chat=True, layers=2, name="Tiny", seed=1):
    """Byte-level vocabulary, one attention head, weights from a seed."""
    tokens = byte_alphabet() + ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    width, hidden = head_dim, 64
    pairs = [
        pair("general.architecture", STRING, "llama"),
        pair("general.name", STRING, name),
        pair("llama.block_count", U32, layers),
        pair("llama.context_length", U32, context),
        pair("llama.embedding_length", U32, width),
        pair("llama.feed_forward_length", U32, hidden),
        pair("llama.attention.head_count", U32, 1),
        pair("llama.attention.head_count_kv", U32, 1),
        pair("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        pair("llama.rope.freq_base", F32, 10000.0),
        pair("llama.vocab_size", U32, len(tokens)),
        pair("tokenizer.ggml.model", STRING, "gpt2"),
        pair("tokenizer.ggml.pre", STRING, "gpt-2"),
        pair("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
        pair("tokenizer.ggml.token_type", ARRAY, (I32, [1] * 256 + [3] * 3)),
        pair("tokenizer.ggml.merges", ARRAY, (STRING, [])),
        pair("tokenizer.ggml.bos_token_id", U32, 256),
        pair("tokenizer.ggml.eos_token_id", U32, 258),
        pair("tokenizer.ggml.add_bos_token", BOOL, False),
    ]
    if chat:
        pairs.append(pair("tokenizer.chat_template", STRING, CHATML))
    shapes = [("token_embd.weight", (width, len(tokens))), ("output_norm.weight", (width,)), ("output.weight", (width, len(tokens)))]
    for i in range(layers):
        shapes += [(f"blk.{i}.{n}.weight", d) for n, d in (
            ("attn_norm", (width,)), ("attn_q", (width, width)), ("attn_k", (width, width)), ("attn_v", (width, width)),
            ("attn_output", (width, width)), ("ffn_norm", (width,)), ("ffn_gate", (width, hidden)), ("ffn_up", (width, hidden)),
            ("ffn_down", (hidden, width)))]
    rng = random.Random(seed)
    infos, data = b"", b""
    for tensor, dims in shapes:
        n = dims[0] * (dims[1] if len(dims) > 1 else 1)
        values = [1.0] * n if len(dims) == 1 else [rng.gauss(0, 0.25) for _ in range(n)]
        infos += tensor_info(tensor, dims, len(data))
        data = pad(data + struct.pack(f"<{n}f", *values))
    return pad(header(len(shapes), len(pairs)) + b"".join(pairs) + infos) + data
