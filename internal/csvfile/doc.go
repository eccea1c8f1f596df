// SPDX-License-Identifier: Apache-2.0

// Package csvfile reads CSV files (RFC 4180, UTF-8, any delimiter, perhaps compressed
// with gzip or zstd) of people: a [Reader] keeps every byte of a record, [Columns] and
// [Frame] are columns of numbers. Files may be larger than memory. Errors say where
// something is wrong in a row and never what stands there.
package csvfile
