// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "errors"

func designByCPU(problem) (r result, err error) {
	return r, errors.New("-cpu: want a system that tells CPU time")
}
