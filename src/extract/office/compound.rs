//! Compound files: what Office wrote before 2007, a file system in a file.

/// Sector numbers from here on are marks.
const MARKS: u32 = 0xffff_fffa;

/// Whether the list of sectors is whole and none of its chains runs in a circle. A parser that follows
/// such a one takes memory until there is none: `calamine` took 7 GB over a file of 4 kB, found by a
/// fuzzer.
pub(in crate::extract) fn has_sound_chains(bytes: &[u8]) -> bool {
    let Some(next) = allocation_table(bytes) else { return false };
    // In which walk a sector was come upon first.
    let mut walks: Vec<u32> = vec![0; next.len()];
    for (start, walk) in (0..next.len()).zip(1_u32..) {
        let mut sector = start;
        while let Some(seen) = walks.get_mut(sector) {
            if *seen == walk {
                return false;
            }
            if *seen != 0 {
                break;
            }
            *seen = walk;
            sector = next[sector] as usize;
        }
    }
    true
}

/// The sector that follows each sector; `None` when the header is damaged.
fn allocation_table(bytes: &[u8]) -> Option<Vec<u32>> {
    let shift = u16::from_le_bytes(bytes.get(30..32)?.try_into().ok()?);
    if !matches!(shift, 9 | 12) {
        return None;
    }
    let size = 1_usize << shift;
    let sector = |id: u32| {
        let start = (id as usize + 1) * size;
        bytes.get(start..bytes.len().min(start + size))
    };
    let mut parts: Vec<u32> = numbers(bytes.get(76..512)?).collect();
    let mut more = numbers(bytes.get(68..72)?).next()?;
    for _ in 0..bytes.len() / size {
        if more >= MARKS {
            break;
        }
        parts.extend(numbers(sector(more)?));
        more = parts.pop()?;
    }
    if more < MARKS {
        return None;
    }
    Some(parts.into_iter().filter(|id| *id < MARKS).filter_map(sector).flat_map(numbers).collect())
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header and one sector, which is the allocation table.
    fn file(next: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0xff; 512];
        bytes[30..32].copy_from_slice(&9_u16.to_le_bytes());
        bytes[76..80].copy_from_slice(&0_u32.to_le_bytes());
        bytes.extend(next.iter().flat_map(|next| next.to_le_bytes()));
        bytes.resize(1024, 0xff);
        bytes
    }

    #[test]
    fn circles_are_found() {
        assert!(has_sound_chains(&file(&[u32::MAX, 2, 3, u32::MAX - 1, 3])));
        assert!(!has_sound_chains(&file(&[u32::MAX, 2, 3, 1])));
        assert!(!has_sound_chains(&file(&[u32::MAX, 1])));
        assert!(!has_sound_chains(b"\xd0\xcf"));
        let real = include_bytes!("../../../tests/corpus/formats/accounts.xls");
        assert!(has_sound_chains(real));
    }
}
