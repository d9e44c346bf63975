use std::time::Duration;

/// What a request may cost, beyond which it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// From asking for the address of a host to a connection, with TLS.
    pub connect_max: Duration,
    /// Until the head of an answer is there, and then between two pieces of its body.
    pub silence_max: Duration,
    /// A whole request, one of a chain of redirects.
    pub request_max: Duration,
    /// Of a body as it is sent.
    pub sent_bytes_max: usize,
    /// Of a body when it is unpacked.
    pub body_bytes_max: usize,
    pub redirects_max: usize,
    /// How long a call waits for the turn of its host; what would wait longer comes back at once.
    pub wait_max: Duration,
    /// First rest of a host that is overloaded or breaks off; doubled each time that it does again.
    pub rest_first: Duration,
    /// How long a page is left alone after its first failure; four times as long after each other.
    pub retry_first: Duration,
}

impl Default for FetchLimits {
    /// Bodies as large as the largest files that are read at all. A slow server sends 64 MB in two
    /// minutes at 4 Mbit/s; what is slower holds a connection that others could use.
    fn default() -> Self {
        Self {
            connect_max: Duration::from_secs(10),
            silence_max: Duration::from_secs(20),
            request_max: Duration::from_mins(2),
            sent_bytes_max: 64 << 20,
            body_bytes_max: 64 << 20,
            redirects_max: 10,
            wait_max: Duration::from_secs(30),
            rest_first: Duration::from_secs(5),
            retry_first: Duration::from_secs(30),
        }
    }
}
