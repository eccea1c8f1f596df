package tables

import "github.com/noisewright/noisewright/internal/claims"

// ReadFile is Decode for the file of the path. Errors name it, and may also be those
// of the file system.
func ReadFile(path string) (*Table, error) { return claims.ReadFile("tables", path, Decode) }

// WriteFile writes the table to a file, which appears whole or not at all. What is
// there is replaced. Errors name the file and are those of the file system.
func WriteFile(path string, t *Table) error { return claims.WriteFile("tables", path, t.Encode) }
