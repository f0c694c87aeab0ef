#!/bin/sh
# cli.sh INGOT: `ingot render`, its options and exit codes.
set -u
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# expect WHAT CODE OUTPUT ARGUMENTS...: standard output (with \n as it comes, a dot at its end) and the exit code
expect() {
	what=$1 code=$2 output=$3
	shift 3
	got=$("$program" render "$@" 2>errors; echo "=$?")
	if [ "$got" != "$output=$code" ]; then
		echo "$what: got <$got>, expected <$output=$code>"
		cat errors
		failed=1
	fi
	if [ "$code" -ne 0 ] && ! grep -q '^ingot render: .' errors; then
		echo "$what: no message"
		failed=1
	fi
}

mkdir -p sub other
echo '{"x": 1, "items": [1, 2], "name": "W\u00f6rld", "f": 1.0, "big": 12345678901}' >data.json
printf 'Hello {{ name }} {{ f }} {{ big }}\n' >hello
printf '{%% include "part" %%}' >sub/main
printf 'part of sub' >sub/part
printf 'part of other' >other/part
printf '{%% if x %%}\n  a\n  {%% endif %%}\nb\n' >blocks
printf '//%% for i in items\n{{ i }} //# note\n//%% endfor\n' >lines
printf '<%% if x %%>[[ x ]]<# c #><%% endif %%>' >marks
printf '{{ nope }}' >undefined
printf 'a\n{{ x +/ }}' >broken
printf '{%% macro m() %%}{{ m() }}{%% endmacro %%}{{ m() }}' >endless
printf '{' >broken.json
printf '[1]' >list.json

expect "plain" 0 "Hello Wörld 1.0 12345678901" hello data.json
expect "standard input" 0 "Hello Wörld 1.0 12345678901" hello - <data.json
expect "kept newline" 0 "Hello Wörld 1.0 12345678901
" hello data.json --keep-trailing-newline
expect "beside the template" 0 "part of sub" sub/main data.json
expect "--path first" 0 "part of other" sub/main data.json --path other
expect "below --path" 0 "part of other" part data.json --path other --path sub
expect "blocks" 0 "
  a
  
b" blocks data.json
expect "trimmed" 0 "  a
b" blocks data.json --trim-blocks --lstrip-blocks
expect "lines" 0 "1
2
" lines data.json --line-statement-prefix '//%' --line-comment-prefix ' //#'
expect "marks" 0 "1" marks data.json --block-start '<%' --block-end '%>' --variable-start '[[' --variable-end ']]' --comment-start '<#' --comment-end '#>'
expect "lenient" 0 "" undefined data.json --undefined lenient
expect "newline" 0 "$(printf '\r\n  a\r\n  \r\nb')" blocks data.json --newline '\r\n'
expect "to a file" 0 "" hello data.json -o sub/out
[ "$(cat sub/out)" = "Hello Wörld 1.0 12345678901" ] || { echo "to a file: wrong bytes"; failed=1; }

expect "strict" 3 "" undefined data.json --undefined strict
grep -q "^ingot render: undefined:1:4: 'nope' is undefined" errors || { echo "strict: wrong message"; cat errors; failed=1; }
grep -q '    1 | {{ nope }}' errors || { echo "strict: no line"; failed=1; }
expect "broken" 3 "" broken data.json
grep -q "^ingot render: broken:2:7: " errors || { echo "broken: wrong place"; cat errors; failed=1; }
expect "endless" 3 "" endless data.json
expect "broken data" 3 "" hello broken.json
expect "a list" 3 "" hello list.json
expect "no template" 2 "" missing data.json
expect "no data" 2 "" hello missing.json
expect "one argument" 2 "" hello
expect "three arguments" 2 "" hello data.json more
expect "unknown option" 2 "" hello data.json --nope
expect "no value" 2 "" hello data.json --path
expect "wrong value" 2 "" hello data.json --undefined maybe
expect "empty delimiter" 2 "" hello data.json --block-start ''
expect "wrong newline" 2 "" hello data.json --newline x
expect "two that begin alike" 2 "" hello data.json --block-start '{{'
expect "two that begin alike, by hand" 2 "" hello data.json --variable-start '<<' --comment-start '<<'
expect "no name" 2 "" hello data.json -o ''
expect "-o -" 0 "Hello Wörld 1.0 12345678901" hello data.json -o -
expect "to a directory" 2 "" hello data.json -o sub
mkfifo pipe && { cat data.json >pipe & expect "data from a pipe" 0 "Hello Wörld 1.0 12345678901" hello pipe; }
cat pipe >piped & expect "to a pipe" 0 "" hello data.json -o pipe
[ -p pipe ] || { echo "to a pipe: it is a file now"; failed=1; kill $!; }
wait
[ "$(cat piped)" = "Hello Wörld 1.0 12345678901" ] || { echo "to a pipe: wrong bytes"; failed=1; }
expect "data of a directory" 2 "" hello sub
printf '{"x": 123456789012345678901234567890}' >large.json
expect "data of more than 64 bits" 3 "" hello large.json
expect "below a file" 2 "" hello data.json -o hello/out
[ -z "$(find . -name '.new-*')" ] || { echo "something is left behind"; failed=1; }
printf '{{ "x" * 2000000000 }}' >long
expect "a limit" 3 "" long data.json
printf 'stra\303\237e {{ "stra\303\237e" | upper }} {{ nmae }}' >typo
expect "a misspelt name" 3 "" typo data.json
grep -q "did you mean 'name'" errors || { echo "a misspelt name: no help"; cat errors; failed=1; }
"$program" render --help | grep -q 'usage: ingot render' || { echo "no help"; failed=1; }
printf '{%% include "../hello" %%}' >sub/climb
expect "climbing out" 3 "" sub/climb data.json
exit $failed
