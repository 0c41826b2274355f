#!/usr/bin/env python3
"""Makes the seeds of the fuzzers in corpus/<name>/: small inputs of every kind that the readers know.

    tests/fuzz/make_corpus.py        writes them where they are kept
"""

import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import make_models


def write(name, files):
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for label, data in files.items():
        (folder / label).write_bytes(data.encode("latin-1") if isinstance(data, str) else data)


# --- models

def gguf(metadata=(), tensors=(), version=3):
    """Like make_models.write_gguf, but with any version and any raw values."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, kind, raw in metadata:
        head += make_models._string(key) + struct.pack("<I", kind) + raw
    for name, shape in tensors:
        head += make_models._string(name) + struct.pack("<I%dQ" % len(shape), len(shape), *shape)
        head += struct.pack("<IQ", 1, 0)
    return head


def gguf_seeds():
    every = [("u8", 0, b"\1"), ("i8", 1, b"\xff"), ("u16", 2, b"\1\0"), ("i16", 3, b"\1\0"),
             ("u32", 4, b"\1\0\0\0"), ("i32", 5, b"\1\0\0\0"), ("f32", 6, b"\0\0\x80\x3f"),
             ("bool", 7, b"\1"), ("string", 8, make_models._string("text")),
             ("u64", 10, bytes(8)), ("i64", 11, bytes(8)), ("f64", 12, bytes(8))]
    tokens = b"".join(make_models._string(text) for text in ("a", "", "long token"))

    def tokenizer(model, pre, *each):
        """Each token is its string and its type."""
        strings = b"".join(make_models._string(text) for text, _ in each)
        types = struct.pack("<%di" % len(each), *(kind for _, kind in each))
        return gguf([("tokenizer.ggml.model", 8, make_models._string(model)),
                     ("tokenizer.ggml.pre", 8, make_models._string(pre)),
                     ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, len(each)) + strings),
                     ("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, len(each)) + types)])

    return {
        "spm": tokenizer("llama", "default", ("<s>", 3), ("\u2581a", 1), ("<0x0A>", 6)),
        "bpe": tokenizer("gpt2", "qwen2", ("\u0120a\u010a", 1), ("\u00c3", 1), ("\u00a4", 1)),
        "bpe-with-spaces": tokenizer("gpt2", "sarvam-moe", ("\u2581\u00e4", 1), ("a", 4)),
        "rwkv": tokenizer("rwkv", "", ("a", 1)),
        "shape": gguf([("general.architecture", 8, make_models._string("a")),
                       ("a.block_count", 4, struct.pack("<I", 3)),
                       ("a.embedding_length", 4, struct.pack("<I", 64)),
                       ("a.attention.head_count", 4, struct.pack("<I", 4)),
                       ("a.attention.head_count_kv", 9, struct.pack("<IQ3i", 5, 3, 0, 2, 1))]),
        "empty": gguf(), "v2": gguf(version=2), "v1": gguf(version=1),
        "every-type": gguf(every),
        "strings": gguf([("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 3) + tokens)]),
        "numbers": gguf([("scores", 9, struct.pack("<IQ", 6, 4) + bytes(16))]),
        "nested": gguf([("nested", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 0, 1) + b"x")]),
        "tensors": gguf(tensors=[("token_embd.weight", (64, 300)), ("output_norm.weight", (64,))]),
        "split": gguf([("split.no", 2, b"\0\0"), ("split.count", 2, b"\2\0"),
                       ("general.architecture", 8, make_models._string("llama"))],
                      [("t", (1, 2, 3, 4))]) + bytes(64),
        "huge-count": b"GGUF" + struct.pack("<IQQ", 3, 1 << 62, 1 << 62) + bytes(40),
    }


# --- slot files

def words(*values):
    return struct.pack("<%di" % len(values), *values)


def state(list_words, body=b"k" * 40, version=4):
    return struct.pack("<III", 0x67677371, version, len(list_words) // 4) + list_words + body


def data(length):
    return struct.pack("<Q", length) + b"d" * length


def checkpoints(*lengths):
    out = b"SCKP" + struct.pack("<II", 1, len(lengths))
    for number, length in enumerate(lengths, 1):
        out += struct.pack("<qii", number, 0, number) + data(length) + data(0) + data(0)
    return out


def state_seeds():
    packed = words(-1, 1, 3, 7, 8, 9, 0)
    media = words(-1, 1, 3, 7, -1, 9, 1, 1, 4, 0x64636261)
    draft = b"SDFT" + struct.pack("<I", 1) + data(20) + data(4)
    return {
        "empty-slot": state(words(-1, 1, 0, 0), bytes(8)),
        "packed": state(packed), "plain": state(words(7, 8, 9), version=2),
        "media": state(media),
        "checkpoints": state(packed) + checkpoints(10, 0, 30),
        "draft": state(packed) + draft,
        "both": state(packed) + checkpoints(16) + draft,
        "decoys": state(packed, b"SCKPSDFT" + bytes(30)) + checkpoints(5)[:-1],
        "cut": state(packed)[:20],
    }


# --- manifests

def manifest_seeds():
    full = {
        "format": 1, "id": "0123456789abcdef",
        "signature": {"build": "b11669", "model": "a" * 32, "streams": "1"},
        "model_name": "a.gguf", "model_path": "/models/a.gguf", "tokens": 300, "bytes": 40000,
        "state_version": 4, "created_ms": 1790000000000, "last_used_ms": 1790000000001, "uses": 2,
        "reason": "stop", "slot": 1, "tokens_hash": "c" * 16, "checksum": "b" * 32, "synced": True,
        "boot_id": "boot", "pinned": False, "quarantine": "", "crashes": 0,
        "supersedes": ["fedcba9876543210"],
    }
    earlier = {name: value for name, value in full.items() if name != "tokens_hash"}
    seeds = {"full": json.dumps(full), "pretty": json.dumps(full, indent=2),
             "earlier": json.dumps(earlier), "unknown": json.dumps({**full, "later": {"a": [1, 2.5, None]}}),
             "quarantined": json.dumps({**full, "quarantine": "the checksum differs"}),
             "newer": json.dumps({**full, "format": 2}), "empty": "{}", "array": "[]",
             "wrong": json.dumps({**full, "tokens": -1}),
             "escapes": json.dumps({**full, "model_name": "\u00e4\u0000\n\U0001f600"})}
    return {label: text.encode("utf-8") for label, text in seeds.items()}


# --- HTTP

def head_seeds():
    def lines(*each):
        return "\r\n".join(each) + "\r\n\r\n"

    return {
        "get": lines("GET /health HTTP/1.1", "Host: a"),
        "post": lines("POST /completion HTTP/1.1", "Host: a:8080", "Content-Length: 12",
                      "Content-Type: application/json", "Authorization: Bearer x") + "{}",
        "chunked": lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked",
                         "Connection: keep-alive, X-Named", "X-Named: 1", "TE: trailers"),
        "expect": lines("PUT /x HTTP/1.1", "Host: a", "Content-Length: 1", "Expect: 100-continue"),
        "old": lines("GET / HTTP/1.0", "Connection: keep-alive"),
        "absolute": lines("GET http://a:1/p?q HTTP/1.1", "Host: a:1"),
        "options": lines("OPTIONS * HTTP/1.1", "Host: a"),
        "upgrade": lines("GET /ws HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket"),
        "lengths": lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3, 3", "Content-Length: 3"),
        "smuggled": lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3",
                          "Transfer-Encoding: chunked"),
        "folded": lines("GET / HTTP/1.1", "Host: a", "X: 1", "  2"),
        "ok": lines("HTTP/1.1 200 OK", "Content-Length: 5", "Set-Cookie: a", "Set-Cookie: b"),
        "stream": lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked",
                        "Content-Type: text/event-stream", "Trailer: X"),
        "close": lines("HTTP/1.1 200 OK", "Connection: close"),
        "interim": lines("HTTP/1.1 100 Continue"), "switch": lines("HTTP/1.1 101 Switching Protocols",
                                                                   "Upgrade: websocket"),
        "none": lines("HTTP/1.1 204 No Content"), "ancient": lines("HTTP/1.0 200 OK"),
    }


def chunk_seeds():
    bodies = {
        "simple": "4\r\nWiki\r\n0\r\n\r\n",
        "extension": "4;name=\"v\"\r\nWiki\r\n0005\r\npedia\r\n0\r\n\r\n",
        "trailers": "A\r\n0123456789\r\n0\r\nTrailer: yes\r\nOther: 1\r\n\r\nGET / HTTP/1.1\r\n",
        "bare-lf": "4\nWiki\n0\n\n", "huge": "ffffffffffffffff\r\nx", "too-long": "1" * 17 + "\r\n",
        "sign": "+4\r\nWiki\r\n0\r\n\r\n", "empty": "",
    }
    return {f"{label}-{piece}": bytes([piece]) + body.encode()
            for label, body in bodies.items() for piece in (1, 7)}


# --- completion requests

def request_lineage_seeds():
    """Two bodies, one after the other, behind the length of the first."""
    def pair(last, following):
        return struct.pack("<H", len(last)) + last.encode() + following.encode()

    user, reply = {"role": "user", "content": "a \"b\" \\"}, {"role": "assistant", "content": "[\u00e4"}
    chat = json.dumps({"model": "m", "messages": [user], "stream": True})
    return {
        "chat": pair(chat, json.dumps({"model": "m", "messages": [user, reply, user], "stream": True})),
        "again": pair(chat, chat), "cut": pair(chat[:40], chat),
        "tokens": pair('{"prompt":[1,2]}', '{"prompt":[1,23]}'),
        "text": pair('{"n":1,"prompt":"abc"}', '{"n":1,"prompt":"abcdef"}'),
        "responses": pair('{"input" : "abc" }', '{"input" : [ {"x":[]} , null ] }'),
        "infill": pair('{"input_prefix":"a","input_suffix":"b","prompt":""}', '{"input_prefix":"a"}'),
        "nested": pair('{"x":{"messages":[{}]},"y":"messages"}', '{"messages":[]}'),
    }


# --- answers to completion requests

def receipt_seeds():
    """Behind the number of bytes that arrive at once."""
    timings = {"timings": {"cache_n": 3, "prompt_n": 4, "prompt_ms": 1.5}}
    usage = {"usage": {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}}
    message = {"usage": {"cache_read_input_tokens": 3, "input_tokens": 4}}
    response = {"usage": {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 3}}}

    def events(*each):
        return "".join(f"event: x\ndata: {json.dumps(one)}\n\n" for one in each)

    bodies = {
        "chat": json.dumps({"choices": [{"message": {"content": "a\"\\"}}], **usage, **timings}),
        "message": json.dumps(message), "response": json.dumps(response),
        "two": json.dumps([timings, timings], indent=1),
        "flat": json.dumps({"timings/cache_n": 3, "timings/prompt_n": 4}),
        "text": json.dumps({"content": json.dumps(timings)}),
        "chat-stream": events({"choices": []}, {**usage, **timings}) + "data: [DONE]\n\n",
        "message-stream": ": ping\r\n\r\n" + events({"message": message}, {"usage": {"output_tokens": 1}}),
        "response-stream": events({"response": {}}, {"response": response, **timings}),
    }
    return {label: bytes([7]) + body.encode() for label, body in bodies.items()}


write("gguf", gguf_seeds())
write("state_file", state_seeds())
write("manifest", manifest_seeds())
write("head", head_seeds())
write("chunks", chunk_seeds())
write("request_lineage", request_lineage_seeds())
write("receipt", receipt_seeds())
