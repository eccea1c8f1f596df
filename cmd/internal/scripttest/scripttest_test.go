// SPDX-License-Identifier: Apache-2.0

package scripttest

import "testing"

func TestCheckJSON(t *testing.T) {
	for text, good := range map[string]bool{
		`{"schema":3,"gap":null,"list":[1e-7,0.1],"loss":"l1","valid":true}`: true,
		`{"n":9007199254740992}`:            true,
		`{"n":9007199254740993}`:            false,
		`{"delta":"0.1"}`:                   false,
		`{"below":{"list":["1e-6"]}}`:       false,
		`{"loss":0.1000000000000000000001}`: false,
		`{"loss":1e400}`:                    false,
		`{} {}`:                             false,
		`[]`:                                false,
	} {
		if err := CheckJSON([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
