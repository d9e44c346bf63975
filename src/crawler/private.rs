//! Which addresses are open to anyone, and which belong to this machine, its network or nobody.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Azure answers there for the machine that asks, outside of every private range.
const AZURE_WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// What Amazon's machines ask about themselves, in a range that home networks use too.
const AMAZON_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Alibaba's, in a range that providers and private networks use.
const ALIBABA_METADATA: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);

/// Whether an address is one of the open internet. Everything that IANA's registries of special
/// addresses take out of it is not, whatever form of IPv6 it is wrapped in.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match wrapped(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

/// Whether a server that a person runs or works with may have this address: that of this machine, a
/// home, an office or a private network. Services of the machine's host and addresses of nobody are
/// none of these.
pub(super) fn is_of_a_person(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_of_a_person_v4(address),
        IpAddr::V6(address) => match wrapped(address) {
            Some(inner) => is_of_a_person_v4(inner),
            None => {
                address == Ipv6Addr::LOCALHOST
                    || ((address.segments()[0] & 0xfe00) == 0xfc00 && address != AMAZON_METADATA)
            }
        },
    }
}

fn is_of_a_person_v4(address: Ipv4Addr) -> bool {
    let is_shared = in_v4(address, [100, 64, 0, 0], 10) && address != ALIBABA_METADATA;
    address.is_loopback() || address.is_private() || is_shared
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    const SPECIAL: [([u8; 4], u32); 14] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // Multicast, reserved and broadcast.
        ([224, 0, 0, 0], 3),
    ];
    address != AZURE_WIRE_SERVER
        && !SPECIAL.iter().any(|(network, bits)| in_v4(address, *network, *bits))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let is_global = (segments[0] & 0xe000) == 0x2000;
    // Protocol assignments (Teredo with them), documentation, 6to4.
    let is_special = (segments[0] == 0x2001 && (segments[1] < 0x200 || segments[1] == 0xdb8))
        || (segments[0] == 0x3fff && segments[1] < 0x1000)
        || segments[0] == 0x2002;
    is_global && !is_special
}

/// The IPv4 address that an IPv6 address stands for: mapped, or translated by the network (NAT64).
fn wrapped(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let is_translated = address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    let last = Ipv4Addr::from_bits(address.to_bits() as u32);
    address.to_ipv4_mapped().or_else(|| is_translated.then_some(last))
}

fn in_v4(address: Ipv4Addr, network: [u8; 4], bits: u32) -> bool {
    let shift = 32 - bits;
    address.to_bits() >> shift == Ipv4Addr::from(network).to_bits() >> shift
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.3",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.19.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_the_host_of_a_machine_says_of_it_is_nobodys_server() {
        for address in ["127.0.0.1", "10.1.2.3", "192.168.0.1", "100.100.1.1", "::1", "fd12::1"] {
            assert!(is_of_a_person(address.parse().unwrap()), "{address}");
        }
        for address in [
            "169.254.169.254",
            "100.100.100.200",
            "fd00:ec2::254",
            "0.0.0.0",
            "fe80::1",
            "168.63.129.16",
            "255.255.255.255",
            "224.0.0.1",
            "1.1.1.1",
            "::ffff:169.254.169.254",
        ] {
            assert!(!is_of_a_person(address.parse().unwrap()), "{address}");
        }
    }

    proptest! {
        #[test]
        fn wrapping_an_address_hides_nothing(bits: u32) {
            let address = Ipv4Addr::from(bits);
            let mapped = IpAddr::V6(address.to_ipv6_mapped());
            prop_assert_eq!(is_public(mapped), is_public(IpAddr::V4(address)));
            prop_assert!(!(is_public(mapped) && is_of_a_person(mapped)));
        }
    }
}
