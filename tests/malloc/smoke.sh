#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A real program on libslab's malloc(): a few seconds of its daily work. What it prints must be what
# it prints without the library, and no libslab report may stand on stderr.
# usage: smoke.sh PROGRAM LIBSLAB_MALLOC; exits 77 if the program is not installed
#
# shellcheck disable=SC2016 # scripts of other programs stand in single quotes
set -euo pipefail
export LC_ALL=C

program=$1 library=$2
server= # a process that must not outlive the test
tmp=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp"

skip()
{
	echo "skipped: $*"
	exit 77
}

need()
{
	for command in "$@"; do
		command -v "$command" >/dev/null || skip "$command is not installed"
	done
}

fail()
{
	echo "smoke: $*"
	exit 1
}

on_slab()
{
	env LD_PRELOAD="$library" "$@"
}

# same COMMAND...: with the library the command prints, on both streams, what it prints without.
same()
{
	"$@" >plain 2>&1 || true
	on_slab "$@" >slab 2>&1 || true
	diff -u plain slab || fail "$*: - without, + with libslab"
}

smoke_bash()
{
	same bash -c 'for i in 1 2 3 4; do echo $i | cat; done
		exec 3>f; echo through a descriptor >&3; exec 3>&-; cat f
		declare -A map; for i in {1..3000}; do map[$i]=$((i * i)); done
		echo "${#map[@]} ${map[77]}"
		text=$(for i in {1..2000}; do echo "line $i"; done); echo "${#text}"
		while read -r a b; do :; done <<<"$text"; echo "$a $b"
		coproc cat; echo asked >&"${COPROC[1]}"; read -r answer <&"${COPROC[0]}"; echo "$answer"
		(exit 3); echo $?; trap "echo end" EXIT
		sort -n <(seq 5000 -1 1) | tail -n 2 | tr "\n" " "; ls /proc/self/fd | wc -l'
	same sh -c 'for i in 1 2 3 4; do echo $i | cat; done; ulimit -n; echo "$(echo nested "$(echo x)")"'
}

smoke_git()
{
	need git
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='1700000000 +0000' \
		GIT_COMMITTER_DATE='1700000000 +0000' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
		GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	same sh -c 'set -e; rm -rf repository; git init -q -b main repository; cd repository
		for i in 1 2 3 4 5 6 7 8; do
			seq "$i" 4000 >file$i; git add .; git commit -q -m "commit $i"
		done
		git log --oneline --stat | tail -n 20
		git gc -q --aggressive; git fsck --full 2>/dev/null
		git clone -q . ../clone$$; git -C ../clone$$ log -p | cksum; rm -rf ../clone$$
		git grep -c 399 | head -n 3; git diff HEAD~3 --shortstat'
}

smoke_gcc()
{
	need gcc
	cat >unit.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <math.h>
		#include <pthread.h>
		static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
		int main(int n, char **v) { int x[3] = {n, 2, 1}; qsort(x, 3, sizeof(int), compare);
			printf("%d %s %g\n", x[0], v[0], sin(n)); return 0; }
	END
	same sh -c 'gcc -O2 -g -c -o unit.o unit.c && cksum <unit.o'
	on_slab gcc -O2 unit.c -o unit -lm
	same ./unit
}

# The modules of Python's own tests, in two batches, or scripts if they are not installed.
smoke_python()
{
	need python3
	cat >script.py <<-'END'
		import json, multiprocessing, os, re, subprocess, sys, threading

		def square(x):
		    return x * x

		if __name__ == "__main__":
		    data = {str(i): [i, str(i) * (i % 50), {"n": i}] for i in range(20000)}
		    print(len(json.dumps(json.loads(json.dumps(data)))))
		    print(subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout)
		    print(subprocess.check_output("seq 3 | tac", shell=True))
		    results = []
		    threads = [threading.Thread(target=lambda i=i: results.append(sum(range(i * 1000))))
		               for i in range(20)]
		    [t.start() for t in threads]
		    [t.join() for t in threads]
		    print(sorted(results)[-1])
		    pid = os.fork()
		    if not pid:
		        os._exit(len([bytearray(i) for i in range(1000)]) % 7)
		    print(os.waitpid(pid, 0)[1])
		    for method in ("fork", "spawn"):
		        with multiprocessing.get_context(method).Pool(3) as pool:
		            print(sum(pool.map(square, range(2000))))
		    try:
		        bytearray(2**45)
		    except MemoryError:
		        print("no memory")
		    print(len(re.findall(r"\d+", " ".join(map(str, range(20000))))))
	END
	same python3 script.py
	python3 -c 'import test.support, test.test_json' 2>/dev/null || {
		echo "python's own tests are not installed; a script ran"
		return
	}
	modules="test_json test_dict test_bytes test_struct test_list test_queue test_fork1 test_popen
		test_thread test_zlib test_sqlite3 test_threading_local"
	# shellcheck disable=SC2086
	if ! on_slab python3 -m test -q -j 3 $modules >log 2>&1; then
		python3 -m test -q -j 3 $modules >plain 2>&1 ||
			skip "python's tests fail without libslab, too"
		tail -n 40 log
		fail "python3 -m test"
	fi
}

smoke_perl()
{
	need perl
	same perl -e 'my %h; $h{$_} = "v$_" x ($_ % 30) for 1..50000; my $n = 0; $n += length for values %h;
		print "$n\n"; my @s = sort { $a <=> $b } map { $_ * 7919 % 50021 } 1..50000; print "$s[100]\n";
		my $t = join ",", 1..20000; my @m = $t =~ /(\d+)/g; print scalar(@m), "\n";
		print `echo from a child`; my $p = fork; exit 3 unless $p; waitpid $p, 0; print $? >> 8, "\n";'
	status=0
	(ulimit -v 40000 && on_slab perl -e 'print "at a limit\n"') >limited 2>&1 || status=$?
	[ $status -lt 128 ] || { cat limited; fail "perl at 40000 KiB ends with $status"; }
}

# PHP loads its extensions with RTLD_DEEPBIND.
smoke_php()
{
	need php
	same php -v
	same php -m
	cat >script.php <<-'END'
		<?php
		$text = str_repeat("a line of text, ", 20000);
		echo strlen(gzcompress($text)), " ", md5($text), " ", count(preg_split("/[, ]+/", $text)), "\n";
		$rows = array_map(fn($i) => ["id" => $i, "name" => "n" . $i * 7919], range(1, 5000));
		echo strlen(json_encode(json_decode(json_encode($rows), true))), "\n";
		if (!in_array("sqlite", class_exists("PDO") ? PDO::getAvailableDrivers() : []))
			exit("no PDO for SQLite\n");
		$db = new PDO("sqlite::memory:");
		$db->exec("create table t (id integer primary key, name text)");
		$insert = $db->prepare("insert into t values (:id, :name)");
		foreach ($rows as $row)
			$insert->execute($row);
		foreach ($db->query("select count(*), sum(length(name)), max(name) from t") as $row)
			echo implode(" ", array_unique($row)), "\n";
	END
	same php script.php
	! grep -q "no PDO" plain || skip "php has no PDO for SQLite"
}

smoke_sqlite()
{
	need sqlite3
	same sqlite3 :memory: 'create table t (a integer primary key, b text, c real);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
		insert into t select i, hex(i * 7919) || i, i / 3.0 from n;
		create index t_b on t (b); select count(*), sum(length(b)), max(c) from t;
		select b from t where b like "3%" order by b desc limit 3; update t set b = b || "x";
		delete from t where a % 3 = 0; vacuum; pragma integrity_check;'
}

smoke_node()
{
	need node
	same node -e 'const o = {}; for (let i = 0; i < 50000; i++) o["k" + i] = {i, t: "x".repeat(i % 50)};
		console.log(JSON.stringify(JSON.parse(JSON.stringify(o))).length);
		const {Worker} = require("worker_threads"), {execSync} = require("child_process");
		console.log(execSync("echo child").toString().trim());
		const buffers = []; for (let i = 0; i < 2000; i++) buffers.push(Buffer.alloc(i * 10));
		const w = new Worker("require(\"worker_threads\").parentPort.postMessage(6 * 7)", {eval: true});
		w.on("message", m => {
			console.log(m);
			require("zlib").deflate(Buffer.alloc(1 << 20), (e, b) => console.log(b.length));
		});'
}

# Deflaters and direct buffers allocate by malloc().
smoke_java()
{
	need java
	cat >Smoke.java <<'END'
import java.nio.ByteBuffer;
import java.util.zip.*;
public class Smoke {
	public static void main(String[] args) throws Exception {
		Thread[] threads = new Thread[8];
		long[] sums = new long[threads.length];
		for (int t = 0; t < threads.length; t++) {
			final int self = t;
			threads[t] = new Thread(() -> {
				byte[] in = new byte[200000], out = new byte[300000];
				for (int i = 0; i < 50; i++) {
					ByteBuffer direct = ByteBuffer.allocateDirect(1000 * (i + 1));
					direct.putLong(0, i);
					Deflater deflater = new Deflater();
					deflater.setInput(in);
					deflater.finish();
					sums[self] += direct.getLong(0) + deflater.deflate(out);
					deflater.end();
				}
			});
			threads[t].start();
		}
		for (Thread thread : threads)
			thread.join();
		for (long sum : sums)
			System.out.println(sum);
		Process child = new ProcessBuilder("echo", "child").inheritIO().start();
		System.out.println(child.waitFor());
	}
}
END
	java Smoke.java >/dev/null 2>&1 || skip "java cannot compile"
	same java Smoke.java
}

# What Go's C functions allocate; the Go heap is Go's own.
smoke_go()
{
	need go gcc
	export GOCACHE="${SLAB_TEST_GOCACHE:-$tmp/cache}" GOPATH="$tmp/path" GO111MODULE=off CGO_ENABLED=1
	cat >main.go <<'END'
package main

// #include <stdlib.h>
import "C"
import (
	"fmt"
	"os/exec"
	"sync"
	"unsafe"
)

func main() {
	var group sync.WaitGroup
	for t := 0; t < 8; t++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 20000; i++ {
				p := C.malloc(C.size_t(i%3000 + 1))
				*(*byte)(p) = 1
				C.free(unsafe.Pointer(p))
				C.free(unsafe.Pointer(C.CString("text")))
			}
		}()
	}
	group.Wait()
	out, err := exec.Command("echo", "child").Output()
	fmt.Println(string(out), err)
}
END
	go build -o program main.go || skip "go cannot build a program with C"
	same ./program
}

# answers COMMAND...: wait until the server answers COMMAND. A socket's file is there before the
# server listens.
answers()
{
	for _ in $(seq 600); do
		"$@" >/dev/null 2>&1 && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat log >&2
	fail "no answer to $*"
}

smoke_redis()
{
	need redis-server redis-cli redis-benchmark
	env LD_PRELOAD="$library" redis-server --port 0 --unixsocket "$tmp/redis.sock" --dir "$tmp" --save '' >log 2>&1 &
	server=$!
	answers redis-cli -s redis.sock ping
	redis-benchmark -s redis.sock -n 20000 -r 10000 -d 200 -q -t set,get,lpush,hset,sadd >/dev/null
	redis-cli -s redis.sock bgsave >/dev/null
	for _ in $(seq 100); do
		[ "$(redis-cli -s redis.sock info persistence | grep -c rdb_bgsave_in_progress:0)" = 1 ] && break
		sleep 0.1
	done
	redis-cli -s redis.sock info persistence | grep -q rdb_last_bgsave_status:ok || fail "BGSAVE"
	[ -s dump.rdb ] || fail "no dump"
	redis-cli -s redis.sock shutdown nosave || true
	wait "$server" || fail "redis-server ended with $?"
	server=
	! grep -E 'BUG|libslab' log || fail "reports"
}

smoke_slapd()
{
	PATH=$PATH:/usr/sbin
	need slapd ldapadd ldapsearch
	[ -e /usr/lib/ldap/back_mdb.so ] || skip "slapd has no back_mdb"
	mkdir db
	cat >slapd.conf <<-END
		include /etc/ldap/schema/core.schema
		modulepath /usr/lib/ldap
		moduleload back_mdb
		database mdb
		suffix "dc=a"
		rootdn "cn=m,dc=a"
		rootpw secret
		directory $tmp/db
		maxsize 100000000
	END
	env LD_PRELOAD="$library" slapd -f slapd.conf -h "ldapi://$(echo "$tmp/s" | sed 's@/@%2F@g')" -d 0 >log 2>&1 &
	server=$!
	url="ldapi://$(echo "$tmp/s" | sed 's@/@%2F@g')"
	answers ldapsearch -x -H "$url" -s base
	{
		printf 'dn: dc=a\nobjectClass: dcObject\nobjectClass: organization\no: a\ndc: a\n\n'
		for i in $(seq 500); do
			printf 'dn: cn=p%s,dc=a\nobjectClass: person\ncn: p%s\nsn: s%s\n\n' "$i" "$i" "$i"
		done
	} >entries.ldif
	ldapadd -x -H "$url" -D cn=m,dc=a -w secret -f entries.ldif >/dev/null
	[ "$(ldapsearch -x -H "$url" -b dc=a '(sn=s*)' cn | grep -c '^cn:')" = 500 ] || fail "entries are missing"
	kill "$server"
	wait "$server" || fail "slapd ended with $?"
	server=
	! grep -E 'BUG|libslab' log || fail "reports"
}

"smoke_$program"
