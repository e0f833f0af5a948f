# SPDX-License-Identifier: MIT
"""389-ds's ns-slapd with mdb: how it is built, and how it runs."""
import os
import re
import shutil

from steps import HERE, Failure, Steps, user

SUFFIX = "dc=example,dc=com"
ROOT_DN = "cn=Directory Manager"
BACKEND = "userroot"
FOLDERS = ("schema", "lock", "tmp", "cert", "ldif", "bak", "run", "inst", "logs", "db")
LIBRARIES = ("libldaputil", "libns-dshttpd")
# What the server's template switches on, and what the server loads without being told to. The database
# comes first: libtool links the replication plug-in anew when it installs it, with the installed database.
PLUGINS = ("libback-ldbm",) + tuple(f"lib{name}-plugin" for name in (
    "acctusability", "acl", "attr-unique", "automember", "bitwise", "chainingdb", "collation", "cos", "deref",
    "entryuuid", "entryuuid-syntax", "linkedattrs", "managedentries", "pbe", "pwdchan", "pwdstorage",
    "replication", "roles", "schemareload", "statechange", "syntax", "views", "whoami"))
# Added to entries of the template.
SETTINGS = {
    "cn=config": ("nsslapd-listenhost: 127.0.0.1", "nsslapd-accesslog-logging-enabled: off",
                  "nsslapd-threadnumber: 16", "nsslapd-security: off"),
    "cn=config,cn=ldbm database,cn=plugins,cn=config": ("nsslapd-cache-autosize: 0",),
    f"cn={BACKEND},cn=ldbm database,cn=plugins,cn=config": ("nsslapd-cachememsize: 209715200",),
}


# The functions that allocate, and the place of the size among the arguments. libslapd has them and their wrappers.
ALLOCATORS = """\
1	char *slapi_ch_malloc(unsigned long size)
1, 2	char *slapi_ch_calloc(unsigned long nelem, unsigned long size)
2	char *slapi_ch_realloc(char *block, unsigned long size)
"""
# A copied string gets a type, too: char.
CASTS = (("ldap/servers/slapd/ch_malloc.c", r"newmem = strdup\(s1\);",
          r"if ((newmem = (char *)malloc(strlen(s1) + 1)))\n        strcpy(newmem, s1);"),)
# gcc's atomic functions of a size, which clang has without the size.
CLANG = " ".join(f"-D__atomic_{name.removesuffix('_n')}_{size}=__atomic_{name}"
                 for name in ("add_fetch", "sub_fetch", "load_n", "store_n") for size in (4, 8))


def la(names):
    """As libtool calls libraries."""
    return [f"{name}.la" for name in names]


def without_absent(text):
    """A configuration without the plug-ins that were not built."""
    def is_there(entry):
        path = re.search(r"(?im)^nsslapd-pluginpath: (\S+)", entry)
        return not path or path.group(1) in PLUGINS
    return "\n\n".join(entry for entry in re.split(r"\n\n+", text) if is_there(entry))


class Ds389:
    """What ./run server 389 knows of this server."""

    name, program, package = "389", "ns-slapd", "389-ds-base"
    repository, tag = "https://github.com/389ds/389-ds-base.git", "389-ds-base-2.3.1"
    tested = ("2.3.1",)
    root = ROOT_DN
    allocators, casts, compiler_flags = ALLOCATORS, CASTS, CLANG
    least_typed = 60  # per cent of the live bytes; a cache of DNs is Rust, and grows

    def __init__(self, steps: Steps):
        self.steps = steps
        self.source = steps.path("source")
        self.prefix = steps.path("prefix")

    def version(self):
        """Of the source."""
        with open(os.path.join(self.source, "VERSION.sh"), encoding="utf-8") as file:
            text = file.read()
        numbers = [re.search(rf"^VERSION_{part}=(\S+)", text, re.M) for part in ("MAJOR", "MINOR", "MAINT")]
        return ".".join(number.group(1) for number in numbers if number)

    # ---- building ----

    def build(self, flags):
        jobs = f"-j{os.cpu_count()}"
        self.steps.once("crates", 1, self.crates)
        self.steps.once("configure", 12, self.configure)
        others = dict(flags, TYPED_WRAPPERS="")
        plain = {"TYPED_CC": flags["TYPED_CC"], "TYPED_CFLAGS": self.compiler_flags}  # the C++ compiler links it
        for name, seconds, targets, its in (
                ("compile Rust", 95, ["dberrstrs.h", "rust-slapi-private.h", "rust-nsslapd-private.h"], others),
                ("compile libslapd", 65, ["libslapd.la"], flags),
                ("compile libns-dshttpd", 10, ["libns-dshttpd.la"], plain),
                ("compile server", 60, ["ns-slapd", "libback-ldbm.la"], others),
                ("compile plug-ins", 140, la(PLUGINS), others)):
            self.steps.once(name, seconds, lambda targets=targets, its=its: self.make(its, jobs, *targets))
        self.steps.once("install", 10, lambda: self.install(flags, others))

    def make(self, flags, *words):
        """Debian's cargo and rustc know its crates; another toolchain of the user's may not."""
        path = os.pathsep.join(["/usr/bin", os.environ.get("PATH", "")])
        self.steps.run(["make", *words], "build.log", self.source, PATH=path, **flags)

    def crates(self):
        """Those that Debian has as packages, beside those in its part of the source."""
        vendor = os.path.join(self.source, "debian", "vendor")
        registry = "/usr/share/cargo/registry"
        if not os.path.isdir(vendor):
            raise Failure("the source has no debian/vendor, the Rust crates that only Debian's source package "
                          f"has: apt-get source {self.package} brings it")
        for name in os.listdir(registry):
            if not os.path.lexists(os.path.join(vendor, name)):
                os.symlink(os.path.join(registry, name), os.path.join(vendor, name))
        # It names versions that Debian does not have.
        lock = os.path.join(self.source, "src", "Cargo.lock")
        if os.path.exists(lock):
            os.remove(lock)

    def configure(self):
        if not os.path.exists(os.path.join(self.source, "configure")):
            self.steps.run(["autoreconf", "-fi"], "configure.log", self.source)
        self.steps.run(["./configure", f"--prefix={self.prefix}", "--with-openldap", "--enable-rust-offline",
                        f"CC={HERE}/cc", "CFLAGS=-O2 -g"], "configure.log", self.source)

    def install(self, flags, others):
        """Into the prefix, what runs and what the server reads: not all that `make install` builds. libtool links
        the libraries once more.
        """
        self.make(flags, "install-serverLTLIBRARIES", "server_LTLIBRARIES=libslapd.la")
        for target, variable, files in (
                ("install-libLTLIBRARIES", "", []),
                ("install-serverLTLIBRARIES", "server_LTLIBRARIES", la(LIBRARIES)),
                ("install-serverpluginLTLIBRARIES", "serverplugin_LTLIBRARIES", la(PLUGINS)),
                ("install-sbinPROGRAMS", "sbin_PROGRAMS", ["ns-slapd"]),
                ("install-configDATA", "config_DATA", ["ldap/schema/slapd-collations.conf"]),
                ("install-infDATA", "inf_DATA", ["ldap/admin/src/defaults.inf"]),
                ("install-sampledataDATA", "", []),
                ("install-systemschemaDATA", "", []),
                ("install-schemaDATA", "", [])):
            self.make(others, target, *([f"{variable}={' '.join(files)}"] if files else []))

    # ---- running ----

    def binary(self):
        path = os.path.join(self.prefix, "sbin", "ns-slapd")
        if not os.path.exists(path):
            raise Failure(f"make ended without {path}")
        return path

    def template(self, name, values):
        path = os.path.join(self.prefix, "share", "dirsrv", "data", name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for key, value in values.items():
            text = text.replace(f"%{key}%", value)
        return text.rstrip("\n") + "\n\n"

    def place(self, folder, password):
        """Folders, and a configuration from the server's templates."""
        for name in FOLDERS:
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        folders = {f"{name}_dir": os.path.join(folder, name) for name in FOLDERS}
        values = folders | {
            "log_dir": folders["logs_dir"], "config_dir": folder, "fqdn": "localhost", "ds_port": "0",
            "ds_user": user().pw_name, "rootdn": ROOT_DN, "ds_passwd": "{CLEAR}" + password,
            "ldapi_enabled": "off", "ldapi_autobind": "off", "ldapi": os.path.join(folder, "socket"),
            "ds_suffix": SUFFIX, "db_lib": "mdb", "db_home_dir": folders["db_dir"], "ds_bename": BACKEND}
        text = without_absent(self.template("template-dse.ldif", values))
        text += self.template("template-suffix-db.ldif", values)
        for entry, settings in SETTINGS.items():
            text = text.replace(f"dn: {entry}\n", "\n".join([f"dn: {entry}", *settings, ""]), 1)
        etc = os.path.join(self.prefix, "etc", "dirsrv")
        shutil.copy(os.path.join(etc, "schema", "99user.ldif"), os.path.join(folder, "schema"))
        shutil.copy(os.path.join(etc, "config", "slapd-collations.conf"), folder)
        with open(os.path.join(folder, "dse.ldif"), "w", encoding="utf-8") as file:
            file.write(text)

    def load_command(self, folder, ldif):
        return [self.binary(), "ldif2db", "-D", folder, "-n", BACKEND, "-i", ldif]

    def command(self, folder, port):
        path = os.path.join(folder, "dse.ldif")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("nsslapd-port: 0\n", f"nsslapd-port: {port}\n", 1))
        return [self.binary(), "-D", folder, "-i", os.path.join(folder, "run", "pid"), "-d", "0"]

    def administer(self, url, password):
        """(command, environment, text of its output): what an administrator would try."""
        library = os.path.join(self.source, "src", "lib389")
        return [(["/usr/bin/python3", os.path.join(library, "cli", "dsconf"), url, "-D", ROOT_DN, "-w", password,
                  *words], {"PYTHONPATH": library, "PREFIX": self.prefix}, expected)
                for words, expected in ((["backend", "suffix", "list"], f"{SUFFIX} ({BACKEND})"),
                                        (["config", "get", "nsslapd-threadnumber"], "nsslapd-threadnumber: 16"),
                                        (["monitor", "server"], "currentconnections: "))]
