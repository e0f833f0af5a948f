#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runtimes that use SIGSEGV themselves go on to do so when libslab has a handler of it: Java's null
# checks, Go's panics, AddressSanitizer's reports. libslab installs its handler before the runtime
# (SLAB_DEBUG) or after it (slabinfo -da in the running process).
# usage: chaining.sh java|go|asan LIBSLAB_MALLOC SLABINFO SOURCE-FOLDER
set -eu

case=$1 library=$2 slabinfo=$3 source=$4
tmp=$(mktemp -d)
trap 'exec 3>&-; [ -z "${!:-}" ] || kill $! 2>/dev/null || true; rm -rf "$tmp"' EXIT
export SLAB_RUNTIME_DIR=$tmp/run
mkdir "$SLAB_RUNTIME_DIR"
cd "$tmp"

need()
{
	for program in "$@"; do
		command -v "$program" >/dev/null || { echo "$program is missing"; exit 77; }
	done
}

fail()
{
	echo "chaining: $*"
	exit 1
}

# caught SETTING... COMMAND: it catches 20000 faults, a line of input later as many again.
caught()
{
	rm -f in out log
	mkfifo in
	env LD_PRELOAD="$library" SLAB_CONTROL=on SLAB_LOG="$tmp/log" "$@" <in >out 2>err &
	exec 3>in
	until grep -q 'first 20000' out; do
		kill -0 $! 2>/dev/null || { cat out err; fail "$* ended"; }
		sleep 0.1
	done
	"$slabinfo" -p $! -da '^size-(64|128)$' >switched || { cat switched; fail "slabinfo -da"; }
	echo more >&3
	wait $! || { cat out err; fail "$*: status $?"; }
	exec 3>&-
	grep -q 'then 20000' out || { cat out err; fail "$*"; }
	[ ! -e log ] || { cat log; fail "$*: a report"; }
}

case $case in
java)
	need java javac
	cat >Faults.java <<-'JAVA'
	public class Faults {
		int value;
		static int read(Faults faults) { return faults.value; }
		static int caught(int n) {
			int count = 0;
			for (int i = 0; i < n; i++)
				try { read(i % 2 == 0 ? null : new Faults()); read(null); }
				catch (NullPointerException e) { count++; }
			return count;
		}
		public static void main(String[] args) throws Exception {
			System.out.println("first " + caught(20000));
			System.in.read();
			System.out.println("then " + caught(20000));
		}
	}
	JAVA
	javac Faults.java
	caught java Faults
	caught SLAB_DEBUG=FZPU java Faults
	caught SLAB_HARDEN=on SLAB_SAMPLE='*:1000' java Faults
	;;
go)
	need go gcc
	export GOCACHE="${SLAB_TEST_GOCACHE:-$tmp/cache}" GOPATH="$tmp/path" GO111MODULE=off CGO_ENABLED=1
	cat >main.go <<-'GO'
	package main

	// #include <stdlib.h>
	import "C"
	import (
		"bufio"
		"fmt"
		"os"
	)

	type node struct{ value int }

	func read(n *node) (caught int) {
		defer func() {
			if recover() != nil {
				caught = 1
			}
		}()
		C.free(C.malloc(C.size_t(64)))
		return n.value
	}

	func caught(n int) (count int) {
		for i := 0; i < n; i++ {
			count += read(nil)
		}
		return
	}

	func main() {
		fmt.Println("first", caught(20000))
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Println("then", caught(20000))
	}
	GO
	go build -o program main.go || { echo "go cannot build a program with C"; exit 77; }
	caught ./program
	caught SLAB_DEBUG=FZPU ./program
	;;
asan)
	need gcc
	cat >fault.c <<-'C'
	#include <slab/slab.h>
	int main(void)
	{
		struct slab_cache *cache = slab_cache_create("c", 64, NULL, SLAB_HARDEN_FREE);
		volatile int *none = (volatile int *)slab_alloc(cache);
		slab_free(cache, (void *)none);
		none = NULL;
		return *none;
	}
	C
	folder=$(dirname "$library")
	gcc -g -fsanitize=address -I"$source/include" fault.c -L"$folder" -lslab -Wl,-rpath,"$folder" -o fault
	./fault >out 2>&1 && fail "the program survived"
	grep -q 'AddressSanitizer: SEGV on unknown address' out || { cat out; fail "no report"; }
	grep -q 'in main.*fault.c:8' out || { cat out; fail "the report has no line"; }
	;;
esac
