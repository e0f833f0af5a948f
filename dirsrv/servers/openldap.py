# SPDX-License-Identifier: MIT
"""OpenLDAP's slapd with mdb: how it is built, and how it runs."""
import glob
import os
import re
import shutil

from steps import HERE, Failure, Steps

SUFFIX = "dc=example,dc=com"
CONFIG = """include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
pidfile {folder}/pid
threads 16
loglevel 0
database mdb
suffix "{suffix}"
rootdn "cn=root,{suffix}"
rootpw {password}
directory {folder}/db
maxsize 2147483648
dbnosync
index objectClass,uid eq
"""
WANTED = "uid=user000007"
# What the load's filters do not free. The last one is of the values to return.
FILTERS = ([f"(&({WANTED})(|(uid=user*07)(!(nosuch=x))))"], [f"(&({WANTED})(|(sn=*)(nosuch=*x*)(sn>=a)))"],
           [f"(&({WANTED})(uid:caseIgnoreMatch:=user000007))"], ["-E", "mv=(uid=user*)", WANTED])


# The functions that allocate, and the place of the size among the arguments: what gets tokens passes them on.
# slap_sl_malloc() is not here: it takes from a region of each thread.
ALLOCATORS = """\
1	void *ber_memalloc(unsigned long size)
1	void *ber_memalloc_x(unsigned long size, void *context)
1, 2	void *ber_memcalloc(unsigned long n, unsigned long size)
1, 2	void *ber_memcalloc_x(unsigned long n, unsigned long size, void *context)
2	void *ber_memrealloc(void *ptr, unsigned long size)
2	void *ber_memrealloc_x(void *ptr, unsigned long size, void *context)
1	void *ch_malloc(unsigned long size)
1, 2	void *ch_calloc(unsigned long n, unsigned long size)
2	void *ch_realloc(void *ptr, unsigned long size)
"""


# Copies of strings, whose type a cast names: a place in a file, and what takes it. With tokens alone.
CASTS = (("libraries/liblber/memory.c", r"\b(bv_val|p) = (ber_memalloc_x\()", r"\1 = (char *)\2"),)


class OpenLdap:
    """What ./run server openldap knows of this server."""

    name, program, package = "openldap", "slapd", "openldap"
    repository, tag = "https://git.openldap.org/openldap/openldap.git", "OPENLDAP_REL_ENG_2_5_13"
    tested = ("2.5.13", "2.7.0")
    packages = "libsasl2-dev libltdl-dev libgnutls28-dev groff-base make"
    root = f"cn=root,{SUFFIX}"
    allocators, casts, compiler_flags = ALLOCATORS, CASTS, ""
    least_typed = 80  # per cent of the live bytes

    def __init__(self, steps: Steps):
        self.steps = steps
        self.source = steps.path("source")
        self.build_folder = steps.path("build")

    def version(self):
        """Of the source."""
        with open(os.path.join(self.source, "build", "version.var"), encoding="utf-8") as file:
            text = file.read()
        numbers = [re.search(rf"^ol_{part}=(\S+)", text, re.M) for part in ("major", "minor", "patch")]
        return ".".join(number.group(1) for number in numbers if number)

    def build(self, flags):
        folder = self.build_folder
        schema = os.path.join(self.source, "servers", "slapd", "schema")
        for path in glob.glob(os.path.join(self.source, "debian", "schema", "*.schema")):
            shutil.copy(path, schema)
        self.steps.once("configure", 15, lambda: self.configure(folder))
        for part, seconds in (("include", 1), ("libraries", 15), ("servers/slapd", 50)):
            self.steps.once(f"compile {part.replace('/', ' ')}", seconds, lambda part=part: self.steps.run(
                ["make", "-C", os.path.join(folder, part), f"-j{os.cpu_count()}"], "build.log", **flags))

    def configure(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.steps.run([os.path.join(self.source, "configure"), f"--prefix={self.steps.path('prefix')}",
                        "--enable-slapd", "--enable-mdb", "--disable-syncprov", "--disable-relay",
                        "--disable-shared", "--with-cyrus-sasl", "--with-tls=gnutls", "--without-systemd",
                        f"CC={HERE}/cc", "CFLAGS=-O2 -g"], "configure.log", folder)

    def binary(self):
        path = os.path.join(self.build_folder, "servers", "slapd", "slapd")
        if not os.path.exists(path):
            raise Failure(f"make ended without {path}")
        return path

    def place(self, folder, password):
        os.makedirs(os.path.join(folder, "db"), exist_ok=True)
        with open(os.path.join(folder, "slapd.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(schema=os.path.join(self.source, "servers", "slapd", "schema"),
                                     folder=folder, suffix=SUFFIX, password=password))

    def load_command(self, folder, ldif):
        return [self.binary(), "-T", "add", "-q", "-f", os.path.join(folder, "slapd.conf"), "-l", ldif]

    def command(self, folder, port):
        return [self.binary(), "-f", os.path.join(folder, "slapd.conf"), "-h",
                f"ldap://127.0.0.1:{port}", "-d", "0"]

    def administer(self, url, password):
        """(command, environment, text of its output): an entry by each kind of filter. dsconf's like
        is not there: none works with slapd.conf.
        """
        return [(["ldapsearch", "-x", "-LLL", "-H", url, "-D", self.root, "-w", password, "-b", SUFFIX, *words],
                 {}, f"dn: {WANTED}") for words in FILTERS]
