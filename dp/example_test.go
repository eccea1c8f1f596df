// SPDX-License-Identifier: Apache-2.0

package dp_test

import (
	"fmt"

	"github.com/noisewright/noisewright/dp"
)

func ExamplePrivacy_Validate() {
	fmt.Println(dp.Privacy{Epsilon: -1, Delta: 1, Sensitivity: 1}.Validate())
	// Output:
	// dp: epsilon = -1, want a finite number >= 0
	// dp: delta = 1, want a probability, at least 0 and below 1
}
