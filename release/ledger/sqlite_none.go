//go:build !(darwin || freebsd || linux || netbsd || openbsd || windows)

package ledger

// hasSQLite says that the driver is not there for this system, such as a browser.
const hasSQLite = false

func isDamage(error) bool { return false }
