// SPDX-License-Identifier: Apache-2.0

// Command noisewright designs, proves and draws noise for differential privacy.
package main

import (
	"os"

	"github.com/noisewright/noisewright/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
