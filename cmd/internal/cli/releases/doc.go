// SPDX-License-Identifier: Apache-2.0

// Package releases has the commands about data of many people: release, ledger and learn.
package releases
