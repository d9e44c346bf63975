//! Where a document may be cut; pure.
