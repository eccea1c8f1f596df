// SPDX-License-Identifier: Apache-2.0

// Package studio is `noisewright studio`: a server for one person on one machine, and its page.
//
// What the page asks for is a command line of the program, run in this process, so the page
// shows what the commands print, and every result can be had again without it. Only what no
// command prints, the points of its charts, is computed here and in internal/portrait.
// Numbers shown as guarantees are those of certificates and of package account: the page
// draws and formats them, and computes none.
package studio
