#!/usr/bin/env python3
"""Make the icons of Windows and macOS from the PNGs in assets/icons.

    scripts/make-icons.py            writes lodestone.ico and lodestone.icns
    scripts/make-icons.py --check    ends with 1 where one of them is not what would be written

Both are containers. macOS takes PNGs as they are. In an .ico only the picture of 256 pixels may be
one everywhere: rc.exe and makensis want bitmaps for the smaller ones.
"""

import struct
import sys
import zlib
from pathlib import Path

ICONS = Path(__file__).parents[1] / "assets" / "icons"
# The types of PNGs by pixels; `ic11` and the like are for screens of twice the density.
ICNS_TYPES = {32: ["ic11"], 64: ["ic12"], 128: ["ic07"], 256: ["ic08", "ic13"], 512: ["ic09", "ic14"]}
ICO_BITMAPS = [16, 32, 64, 128]


def png(size: int) -> bytes:
    return (ICONS / f"lodestone-{size}.png").read_bytes()


def pixels(content: bytes) -> list[bytearray]:
    """The rows of a PNG with eight bits for each of red, green, blue and alpha."""
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", content[16:29])
    if (depth, color, interlaced) != (8, 6, 0):
        raise ValueError("only plain RGBA of 8 bits is read; convert the PNG to that")
    packed, position = b"", 8
    while position < len(content):
        length = int.from_bytes(content[position : position + 4], "big")
        if content[position + 4 : position + 8] == b"IDAT":
            packed += content[position + 8 : position + 8 + length]
        position += length + 12
    raw, stride, rows = zlib.decompress(packed), width * 4, []
    above = bytearray(stride)
    for start in range(0, height * (stride + 1), stride + 1):
        filter_type, row = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for i in range(stride):
            left, up = (row[i - 4] if i >= 4 else 0), above[i]
            corner = above[i - 4] if i >= 4 else 0
            row[i] = (row[i] + predicted(filter_type, left, up, corner)) & 255
        rows.append(row)
        above = row
    return rows


def predicted(filter_type: int, left: int, up: int, corner: int) -> int:
    if filter_type == 4:
        # Paeth: whichever of the three is nearest to the plane through them.
        estimate = left + up - corner
        return min((left, up, corner), key=lambda value: abs(estimate - value))
    return (0, left, up, (left + up) // 2)[filter_type]


def halved(rows: list[bytearray]) -> list[bytearray]:
    """Each pixel the mean of four, their colors weighted with how opaque they are."""
    small = []
    for upper, lower in zip(rows[::2], rows[1::2]):
        row = bytearray()
        for i in range(0, len(upper), 8):
            four = [upper[i : i + 4], upper[i + 4 : i + 8], lower[i : i + 4], lower[i + 4 : i + 8]]
            opacity = sum(pixel[3] for pixel in four)
            for channel in range(3):
                row.append(sum(pixel[channel] * pixel[3] for pixel in four) // max(opacity, 1))
            row.append(opacity // 4)
        small.append(row)
    return small


def bitmap(rows: list[bytearray]) -> bytes:
    """A picture of an .ico: blue first, bottom row first, and a mask that alpha makes needless."""
    size = len(rows)
    colors = b"".join(
        bytes(row[i + channel] for i in range(0, size * 4, 4) for channel in (2, 1, 0, 3))
        for row in reversed(rows)
    )
    mask = bytes((size + 31) // 32 * 4 * size)
    header = struct.pack("<IiiHHIIiiII", 40, size, size * 2, 1, 32, 0, len(colors), 0, 0, 0, 0)
    return header + colors + mask


def ico() -> bytes:
    pictures = []
    for size in ICO_BITMAPS:
        rows = pixels(png(size)) if size != 16 else halved(pixels(png(32)))
        pictures.append((size, bitmap(rows)))
    pictures.append((256, png(256)))
    head = struct.pack("<HHH", 0, 1, len(pictures))
    offset = len(head) + 16 * len(pictures)
    for size, picture in pictures:
        # 0 stands for 256.
        head += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(picture), offset)
        offset += len(picture)
    return head + b"".join(picture for _, picture in pictures)


def icns() -> bytes:
    parts = b"".join(
        kind.encode() + (len(png(size)) + 8).to_bytes(4, "big") + png(size)
        for size, kinds in ICNS_TYPES.items()
        for kind in kinds
    )
    return b"icns" + (len(parts) + 8).to_bytes(4, "big") + parts


def main(argv: list[str]) -> int:
    stale = 0
    for name, content in [("lodestone.ico", ico()), ("lodestone.icns", icns())]:
        path = ICONS / name
        if argv != ["--check"]:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            print(f"{path} is not what its PNGs give; run scripts/make-icons.py", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
