//! Text to tokens with byte offsets, once a document.
