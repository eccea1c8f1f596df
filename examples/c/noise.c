// SPDX-License-Identifier: Apache-2.0
// Reads table files of noisewright and draws from them, in C: the draws of the program from the same words
// of randomness (docs/catalogue.md). It checks that what it reads is well-formed, not that the promise of the
// file holds: noisewright verify does, once, before the file is used. Files with optional fields are refused.
//
//   cc -std=gnu11 -O2 -o noise noise.c -lm
//   ./noise [--add X] [--words FILE] N TABLE…
//
// prints N draws of each table as numbers of steps, or X with noise N times. --words takes the words from a
// file, one to a line and from the first one for each table: for tests only, as who knows them knows the noise.
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MAX_CELLS (1 << 18)
#define LIMIT ((int64_t)1 << 53) // results beyond so many steps are no exact numbers

typedef struct {
	char query[8];
	double step;
	int64_t first, points, period; // points: of a cell; period: what a tail moves by, in points
	int64_t block, cells;          // cells of a tail at either end, and all
	uint64_t reject, ratio;
	uint64_t *last; // the last word of each entry: cells ascending, then the atom
	int64_t skip;   // cells before the first that has a word
} table;

static _Noreturn void fail(const char *format, ...) {
	va_list list;
	va_start(list, format);
	fputs("noise: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	exit(2);
}

// Reading: what of JSON a table file has. at is where the rest begins.
static const char *at;

static char peek(void) { // what is next but blanks
	while (isspace((unsigned char)*at)) at++;
	return *at;
}

static int next(char c) { // takes c, if it is next
	if (peek() != c) return 0;
	at++;
	return 1;
}

static void want(char c) {
	if (!next(c)) fail("'%.20s', want a file with %c here", at, c);
}

static void text(char *to, size_t size) { // a string without escapes; to NULL: nobody asks what
	want('"');
	size_t n = strcspn(at, "\"\\");
	if (at[n] != '"' || (to && n >= size)) fail("'%.20s', want a shorter string here", at);
	if (to) memcpy(to, at, n), to[n] = 0;
	at += n + 1;
}

static double number(const char *name, double least, double most, int whole) {
	char *end, c = peek();
	double v = strtod(at, &end);
	if (!(c == '-' || c == '.' || isdigit((unsigned char)c)) || !(v >= least && v <= most) || (whole && v != floor(v))) fail("%s, want a number from %g to %g", name, least, most);
	at = end;
	return v;
}

static uint64_t weight(const char *name) { // an integer in quotes
	char s[24];
	text(s, sizeof s);
	unsigned __int128 v = 0;
	for (const char *c = s; *c; c++) {
		if (!isdigit((unsigned char)*c) || (*s == '0' && s[1])) fail("%s = %s, want an integer below 2^64", name, s);
		v = 10 * v + (*c - '0');
	}
	if (!*s || v >> 64) fail("%s = %s, want an integer below 2^64", name, s);
	return (uint64_t)v;
}

static void skip(int depth) { // a value that draws do not depend on
	char c = peek(), close = c == '{' ? '}' : ']';
	if (depth > 16) fail("'%.20s', want less depth", at);
	if (c == '"') {
		text(NULL, 0);
	} else if (next('{') || next('[')) {
		if (next(close)) return;
		do {
			if (close == '}') text(NULL, 0), want(':');
			skip(depth + 1);
		} while (next(','));
		want(close);
	} else {
		size_t n = strspn(at, "+-.0123456789eEtrufals");
		if (n == 0) fail("'%.20s', want a value", at);
		at += n;
	}
}

static char *contents(const char *path) {
	FILE *f = fopen(path, "rb");
	if (!f) fail("%s cannot be read", path);
	size_t size = 0, room = 1 << 16;
	char *s = malloc(room);
	for (size_t n; s && (n = fread(s + size, 1, room - size - 1, f)) > 0;) {
		if ((size += n) == room - 1) s = realloc(s, room *= 2);
	}
	if (!s || ferror(f) || size > 64 << 20) fail("%s cannot be read", path);
	fclose(f);
	s[size] = 0;
	return s;
}

static table load(const char *path) {
	table t = {.query = "real", .ratio = 0};
	char *file = contents(path), name[32] = "", format[24] = "";
	double exponent = NAN, unit = 1, offset = 0, first = NAN, version = 0;
	uint64_t *w = NULL, atom = 0;
	int has_atom = 0;
	at = file;
	want('{');
	do {
		text(name, sizeof name);
		want(':');
		if (!strcmp(name, "format")) text(format, sizeof format);
		else if (!strcmp(name, "version")) version = number(name, 1, 1, 1);
		else if (!strcmp(name, "query")) text(t.query, sizeof t.query);
		else if (!strcmp(name, "atom")) atom = weight(name), has_atom = 1;
		else if (!strcmp(name, "tail_ratio")) t.ratio = weight(name);
		else if (!strcmp(name, "weights")) {
			if (w) fail("weights, want them once");
			if (!(w = malloc((MAX_CELLS + 1) * sizeof *w))) fail("there is no memory");
			want('[');
			do {
				if (t.cells == MAX_CELLS) fail("weights, want at most %d", MAX_CELLS);
				w[t.cells++] = weight(name);
			} while (next(','));
			want(']');
		} else if (!strcmp(name, "grid")) {
			want('{');
			do {
				text(name, sizeof name);
				want(':');
				if (!strcmp(name, "granularity_exponent")) exponent = number(name, -900, 900, 1);
				else if (!strcmp(name, "unit")) unit = number(name, 0, 1e250, 0);
				else if (!strcmp(name, "points_per_cell")) t.points = (int64_t)number(name, 1, 0x1p40, 1);
				else if (!strcmp(name, "cells_per_sensitivity")) t.block = (int64_t)number(name, 1, MAX_CELLS, 1);
				else if (!strcmp(name, "first_cell")) first = number(name, -MAX_CELLS, MAX_CELLS, 1);
				else if (!strcmp(name, "offset")) offset = number(name, -0x1p52, 0x1p52, 1);
				else fail("grid.%s, want no field of this name", name);
			} while (next(','));
			want('}');
		} else if (!strcmp(name, "privacy") || !strcmp(name, "loss") || !strcmp(name, "total") || !strcmp(name, "constraints") || !strcmp(name, "certificate")) skip(0);
		else fail("%s, want no field of this name", name);
	} while (next(','));
	want('}');
	if (peek()) fail("'%.20s', want the end of the file", at);
	if (strcmp(format, "noisewright-table") || version != 1) fail("format = %s, want noisewright-table of version 1", format);
	if (strcmp(t.query, "real") && strcmp(t.query, "integer") && strcmp(t.query, "lattice")) fail("query = %s, want real, integer or lattice", t.query);
	if (isnan(exponent) || isnan(first) || t.points % 2 == 0 || !t.block || !w || !has_atom) fail("grid, weights or atom, want all of them, and points_per_cell odd");
	if (t.ratio && t.cells <= 2 * t.block) fail("weights, want more than both blocks of the tail");
	t.step = ldexp(unit > 0 ? unit : 1, (int)exponent);
	t.first = (int64_t)offset + (int64_t)first * t.points - (t.points - 1) / 2;
	t.period = t.block * t.points;
	t.reject = -(uint64_t)t.points % (uint64_t)t.points; // 2^64 modulo points
	unsigned __int128 sum = 0;
	w[t.cells] = atom;
	for (int64_t i = 0; i <= t.cells; i++) {
		if ((sum += w[i]) == 0) t.skip = i + 1;
		w[i] = (uint64_t)(sum - 1);
	}
	if (sum != (unsigned __int128)1 << 64) fail("the sum of weights and atom, want 2^64");
	t.last = w;
	free(file);
	return t;
}

static uint64_t *given; // the words of --words, or NULL
static size_t words, used;

static uint64_t word(void) {
	uint64_t w;
	if (given) {
		if (used == words) fail("--words, want more of them");
		return given[used++];
	}
	if (getrandom(&w, sizeof w, 0) != sizeof w) fail("the system gives no randomness");
	return w;
}

// draw returns noise as a number of steps. The rules are those of noisewright export, and
// docs/proofs/sampling.md proves that they are exact. Its time depends on the draw.
static int64_t draw(const table *t) {
	uint64_t u = word();
	int64_t low = t->skip, high = t->cells; // the first entry that does not end below u
	while (low < high) {
		int64_t middle = (low + high) / 2;
		if (u <= t->last[middle]) high = middle;
		else low = middle + 1;
	}
	unsigned __int128 product;
	do product = (unsigned __int128)word() * (uint64_t)t->points;
	while ((uint64_t)product < t->reject);
	if (low == t->cells) return 0; // the atom
	int64_t n = t->first + low * t->points + (int64_t)(product >> 64);
	int64_t move = low < t->block ? -t->period : low >= t->cells - t->block ? t->period : 0;
	if (t->ratio && move) {
		while (word() < t->ratio) {
			if (n > LIMIT || n < -LIMIT) fail("a draw is beyond 2^53 steps");
			n += move;
		}
	}
	return n;
}

// add_noise rounds x to the grid as the proof wants it, and adds noise.
static double add_noise(const table *t, double x) {
	if (!strcmp(t->query, "lattice")) fail("query = lattice, which rounds at random, want real or integer");
	double v = x / t->step; // a power of two: exact
	if (!(fabs(v) <= LIMIT / 2) || (!strcmp(t->query, "integer") && x != floor(x))) fail("the value, want a number of at most 2^52 steps, an integer for query = integer");
	double n = floor(v);
	if (v - n >= .5) n++;
	int64_t sum = (int64_t)n + draw(t);
	if (sum > LIMIT || sum < -LIMIT) fail("the result, want one of at most 2^53 steps");
	return (double)sum * t->step;
}

int main(int argc, char **argv) {
	double x = NAN;
	int i = 1;
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--add")) {
			at = argv[i + 1];
			x = number("--add", -1e300, 1e300, 0);
			if (*at) fail("--add = %s, want a number", argv[i + 1]);
		} else if (!strcmp(argv[i], "--words")) {
			char *s = contents(argv[i + 1]), *end;
			if (!(given = malloc((strlen(s) / 2 + 1) * sizeof *given))) fail("there is no memory");
			for (uint64_t w; w = strtoull(s, &end, 10), end != s; s = end) given[words++] = w;
		} else break;
	}
	if (argc - i < 2) fail("arguments, want [--add X] [--words FILE] N TABLE...");
	at = argv[i];
	int count = (int)number("N", 0, 1e9, 1);
	if (*at) fail("N = %s, want a number", argv[i]);
	while (++i < argc) {
		table t = load(argv[i]);
		used = 0;
		for (int k = 0; k < count; k++) {
			if (k) putchar(' ');
			if (isnan(x)) printf("%" PRId64, draw(&t));
			else printf("%.17g", add_noise(&t, x));
		}
		putchar('\n');
		free(t.last);
	}
	return 0;
}
