"""Pictures for models that see: PNG files, made here, as the parts of a chat's message."""

import base64
import random
import struct
import zlib

EDGE = 48


def png(pixels, edge=EDGE):
    """An image of edge * edge pixels, from the bytes of its colours."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    line = 3 * edge
    rows = b"".join(b"\0" + pixels[at:at + line] for at in range(0, edge * line, line))
    head = struct.pack(">IIBBBBB", edge, edge, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def part(image):
    url = "data:image/png;base64," + base64.b64encode(image).decode()
    return {"type": "image_url", "image_url": {"url": url}}


def plain(red, green, blue):
    return part(png(bytes((red, green, blue)) * EDGE * EDGE))


def noise(seed, edge=300):
    """One whose request is longer than what llama-hibernate looks at of it."""
    return part(png(random.Random(seed).randbytes(3 * edge * edge), edge))


def about(*parts):
    """A user's message of texts and pictures."""
    return {"role": "user", "content": [
        {"type": "text", "text": each} if isinstance(each, str) else each for each in parts]}


RED, GREEN, BLUE = plain(255, 0, 0), plain(0, 255, 0), plain(0, 0, 255)
