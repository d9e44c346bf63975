//! Unpacking what was sent packed, no further than allowed.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::RefusedBecause;

/// What is asked for; the rest of this file unpacks it.
pub(super) const ACCEPT_ENCODING: &str = "gzip, br, zstd";

/// Encodings on top of each other; more than one is a mistake of a server already.
const LAYERS_MAX: usize = 2;

/// Largest window of zstd on the web (RFC 9659); what needs more memory is refused before it is
/// taken.
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;

const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// How the sign of brotli's large windows, which are not for the web and take up to 1 GB, begins.
const BROTLI_LARGE_WINDOW: u8 = 0b001_0001;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Brotli,
    Zstd,
}

/// How a body is packed, outermost last, from `Content-Encoding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packing(Vec<Encoding>);

impl Packing {
    /// # Errors
    /// When it is one that is not unpacked here.
    pub(super) fn of(header: &str) -> Result<Self, RefusedBecause> {
        let mut layers = Vec::new();
        for name in header.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            layers.push(match name.to_ascii_lowercase().as_str() {
                "identity" => continue,
                "gzip" | "x-gzip" => Encoding::Gzip,
                "br" => Encoding::Brotli,
                "zstd" => Encoding::Zstd,
                _ => return Err(RefusedBecause::Encoding { encoding: name.to_owned() }),
            });
        }
        if layers.len() > LAYERS_MAX {
            return Err(RefusedBecause::Encoding { encoding: header.to_owned() });
        }
        Ok(Self(layers))
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Unpacks `sent`; takes no more memory than `bytes_max` and the window of the decoder, and stops
    /// there.
    ///
    /// # Errors
    /// When there is more, or it is damaged.
    pub(super) fn unpack(
        &self,
        sent: Vec<u8>,
        bytes_max: usize,
    ) -> Result<Vec<u8>, RefusedBecause> {
        let mut bytes = sent;
        for encoding in self.0.iter().rev() {
            bytes = encoding.unpack(&bytes, bytes_max)?;
        }
        Ok(bytes)
    }
}

/// Unpacks gzip whatever the header says, as a sitemap comes with the name `sitemap.xml.gz`.
pub(super) fn unpack_if_gzip(bytes: Vec<u8>, bytes_max: usize) -> Result<Vec<u8>, RefusedBecause> {
    if bytes.starts_with(b"\x1f\x8b") {
        Encoding::Gzip.unpack(&bytes, bytes_max)
    } else {
        Ok(bytes)
    }
}

impl Encoding {
    fn unpack(self, packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, RefusedBecause> {
        let damaged = |_| RefusedBecause::Damaged { encoding: self.name().to_owned() };
        let mut bytes = Vec::new();
        // One more than allowed shows that there is more.
        let room = bytes_max as u64 + 1;
        match self {
            Self::Gzip => {
                MultiGzDecoder::new(packed).take(room).read_to_end(&mut bytes).map_err(damaged)?;
            }
            Self::Brotli => {
                if packed.first().is_some_and(|first| first & 0x7f == BROTLI_LARGE_WINDOW) {
                    return Err(damaged(io::ErrorKind::InvalidData.into()));
                }
                let decoder = Decompressor::new(packed, BROTLI_BUFFER_BYTES);
                decoder.take(room).read_to_end(&mut bytes).map_err(damaged)?;
            }
            Self::Zstd => unpack_zstd(packed, room, &mut bytes).map_err(damaged)?,
        }
        if bytes.len() > bytes_max {
            return Err(RefusedBecause::Expands { mb_max: bytes_max >> 20 });
        }
        Ok(bytes)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "brotli",
            Self::Zstd => "zstd",
        }
    }
}

fn unpack_zstd(mut packed: &[u8], room: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    while !packed.is_empty() && (bytes.len() as u64) < room {
        let decoder =
            StreamingDecoder::new_with_max_window_size(&mut packed, ZSTD_WINDOW_BYTES_MAX)
                .map_err(io::Error::other)?;
        decoder.take(room - bytes.len() as u64).read_to_end(bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn unpack(header: &str, sent: Vec<u8>, max: usize) -> Result<Vec<u8>, RefusedBecause> {
        Packing::of(header)?.unpack(sent, max)
    }

    #[test]
    fn packed_bodies_come_out_whole_up_to_the_last_byte_allowed() {
        let text = b"gardens ".repeat(10_000);
        for (header, sent) in [
            ("", text.clone()),
            ("identity", text.clone()),
            ("gzip", gzip(&text)),
            ("X-GZIP", [gzip(&text[..100]), gzip(&text[100..])].concat()),
            ("zstd", zstd(&text)),
            ("zstd", [zstd(&text[..100]), zstd(&text[100..])].concat()),
            ("zstd, gzip", gzip(&zstd(&text))),
        ] {
            assert!(unpack(header, sent.clone(), text.len()).unwrap() == text, "{header}");
            if header.contains(['z', 'Z']) {
                let expands = unpack(header, sent, text.len() - 1).unwrap_err();
                assert!(matches!(expands, RefusedBecause::Expands { .. }), "{header}: {expands}");
            }
        }
    }

    #[test]
    fn brotli_is_unpacked_within_its_bound() {
        let hello = [0x0b, 0x02, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x03];
        assert_eq!(unpack("br", hello.to_vec(), 5).unwrap(), b"hello");
        let expands = unpack("br", hello.to_vec(), 4).unwrap_err();
        assert!(matches!(expands, RefusedBecause::Expands { .. }), "{expands}");
        let large_window = [0x11, 0x1e, 0x02, 0x80, 0x68, 0x03].to_vec();
        let damaged = unpack("br", large_window, 1 << 20).unwrap_err();
        assert!(matches!(damaged, RefusedBecause::Damaged { .. }), "{damaged}");
    }

    #[test]
    fn bombs_are_stopped_where_they_pass_the_bound() {
        let zeros = vec![0; 64 << 20];
        for (header, bomb) in
            [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros)), ("gzip, gzip", gzip(&gzip(&zeros)))]
        {
            assert!(bomb.len() < 1 << 20, "{header}: {}", bomb.len());
            let expands = unpack(header, bomb, 1 << 20).unwrap_err();
            assert_eq!(expands, RefusedBecause::Expands { mb_max: 1 }, "{header}");
        }
    }

    #[test]
    fn a_window_beyond_that_of_the_web_is_refused() {
        // A frame header that asks for a window of 1 GB: descriptor without flags, exponent 20.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 1, 0, 0];
        assert!(unpack("zstd", frame.to_vec(), 1 << 20).is_err());
    }

    #[test]
    fn other_packings_are_refused() {
        for header in ["deflate", "compress", "gzip, gzip, gzip", "br;q=1"] {
            let encoding = Packing::of(header).unwrap_err();
            assert!(matches!(encoding, RefusedBecause::Encoding { .. }), "{header}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_fault(bytes: Vec<u8>) {
            for header in ["gzip", "br", "zstd"] {
                let unpacked = unpack(header, bytes.clone(), 1 << 16);
                prop_assert!(unpacked.is_err() || unpacked.unwrap().len() <= 1 << 16);
            }
        }
    }
}
