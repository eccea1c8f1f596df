// Package csvfile reads CSV files (RFC 4180, comma separated, UTF-8) of people: a
// [Reader] keeps every byte of a record, [Columns] and [Frame] are columns of numbers.
// Errors say where something is wrong in a row and never what stands there.
package csvfile
