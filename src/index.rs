//! Vector index, keyword index, fusion; no clock.
