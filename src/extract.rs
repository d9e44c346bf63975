//! Bytes of any format to a [`crate::data::Document`].
