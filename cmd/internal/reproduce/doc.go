// Package reproduce computes published tables and figures again, one command each.
package reproduce
