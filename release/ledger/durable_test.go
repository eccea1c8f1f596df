// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"path/filepath"
	"testing"
)

// TestDurable: a charge is on the disk when the commit returns, power cuts included, for which the
// journal, the file and the directory are synced, in every connection that there ever is.
func TestDurable(t *testing.T) {
	l := makeLedger(t, filepath.Join(t.TempDir(), "l"), 10)
	for range 2 {
		for pragma, want := range map[string]string{
			"synchronous": "3", // EXTRA
			// A log would need a sync of its own at checkpoints.
			"journal_mode": "delete",
			"foreign_keys": "1",
			// What was read must be what was written.
			"cell_size_check": "1",
			"mmap_size":       "0",
			"trusted_schema":  "0",
			"busy_timeout":    "300000",
		} {
			var got string
			if err := l.db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("PRAGMA %s = %q, %v, want %q", pragma, got, err, want)
			}
		}
		l.db.SetMaxIdleConns(0) // another connection
		l.db.SetMaxIdleConns(1)
	}
	if open := l.db.Stats().MaxOpenConnections; open != 1 {
		t.Errorf("%d connections, want one", open)
	}
}
