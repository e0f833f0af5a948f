# SPDX-License-Identifier: MIT
"""The servers: where their programs are, their configuration and data, and how they start.

A server has a directory of its own for everything that it writes. Its programs are those of the
system, or of packages that ./unpack has unpacked.
"""
import glob
import os
import pwd
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time

from runner import Failed

SUFFIX = "dc=example,dc=com"
ROOT, PASSWORD = f"cn=root,{SUFFIX}", "secret"
DESCRIPTORS = 4096  # slapd has a table of as many connections
PREPARE_LIMIT_S = 300
START_LIMIT_S = 60
GIVEN = ("Ada", "Barbara", "Edsger", "Grace", "Hedy", "Ken", "Margaret", "Niklaus")


def work_folder(name):
    """For a benchmark's files; in memory, if there is room: the disk is not measured."""
    shm = "/dev/shm"
    roomy = os.path.isdir(shm) and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 2 << 30
    return tempfile.TemporaryDirectory(prefix=f"bench-{name}-", dir=shm if roomy else None)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def limit_descriptors(most=DESCRIPTORS):
    """Of this process and all that it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def entries_ldif(path, entries):
    """The directory: `entries` people below ou=People."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"
                   f"dn: ou=People,{SUFFIX}\nobjectClass: organizationalUnit\nou: People\n\n")
        for i in range(entries):
            given = GIVEN[i % len(GIVEN)]
            file.write(f"dn: uid=user{i},ou=People,{SUFFIX}\nobjectClass: inetOrgPerson\n"
                       f"uid: user{i}\ncn: {given} Number{i}\nsn: Number{i}\ngivenName: {given}\n"
                       f"mail: user{i}@example.com\ntelephoneNumber: +49 30 {i:07}\n"
                       f"employeeNumber: {i}\ntitle: Engineer {i % 40}\n"
                       f"seeAlso: uid=user{i // 7},ou=People,{SUFFIX}\n"
                       f"description: {'a person of this directory, ' * (1 + i % 4)}{i}\n\n")


class Server:
    """What all servers share."""

    program = package = None
    entries = 10000

    def __init__(self, unpacked, work, entries=None):
        self.unpacked, self.work = unpacked, work
        self.path = self.find(self.program)
        self.entries = entries or self.entries

    def find(self, program):
        """Its path; that of the system first."""
        folders = ["/usr/sbin", "/usr/bin"]
        folders += [self.unpacked + folder for folder in folders]
        return shutil.which(program, path=os.pathsep.join(folders))

    def missing(self):
        if self.path:
            return None
        return f"{self.program} of package {self.package} is not there (dirsrv/benchmarks/servers/unpack)"

    def is_unpacked(self):
        return self.path.startswith(self.unpacked)

    def root(self):
        """What stands before /usr and /etc of its files."""
        return self.unpacked if self.is_unpacked() else ""

    def environment(self, environment):
        """That of the contestant, and where an unpacked server has its libraries."""
        if not self.is_unpacked():
            return environment
        folders = [f"{self.unpacked}/usr/lib/{os.uname().machine}-linux-gnu"]
        folders += [folders[0] + "/dirsrv", folders[0] + "/dirsrv/plugins"]
        return dict(environment, LD_LIBRARY_PATH=os.pathsep.join(folders))

    def prepare(self, environment):
        """Once: data that each run begins with. May raise Failed."""

    def write_entries(self, path):
        """The directory as LDIF."""
        entries_ldif(path, self.entries)

    def tool(self, command, environment):
        """A program of the server that ends."""
        try:
            ran = subprocess.run(command, env=self.environment(environment), text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                 timeout=PREPARE_LIMIT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from None
        if ran.returncode != 0:
            said = (ran.stderr + ran.stdout).strip().splitlines()
            raise Failed(f"{os.path.basename(command[0])}: {said[-1] if said else ran.returncode}")

    def command(self, folder, port):
        raise NotImplementedError

    def start(self, environment, folder, port):
        """The process, once it accepts connections."""
        log = os.path.join(folder, "log")
        with open(log, "wb") as file:
            process = subprocess.Popen(self.command(folder, port), env=self.environment(environment),
                                       cwd=folder, stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=file)
        deadline = time.monotonic() + START_LIMIT_S
        while not listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                stop(process)
                with open(log, encoding="utf-8", errors="replace") as file:
                    said = file.read().strip().splitlines()
                raise Failed(f"it did not start: {said[-1] if said else process.returncode}")
            time.sleep(0.05)
        return process


def copy_data(source, target):
    """A folder's files. mdb's are as large as they may become, and mostly holes, which stay holes."""
    os.makedirs(target, exist_ok=True)
    subprocess.run(["cp", "-r", "--sparse=always", f"{source}/.", target], check=True)


def listens(port):
    """Does somebody listen on 127.0.0.1 or on all addresses? No connection is made."""
    wanted = f":{port:04X}"
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path, encoding="ascii") as file:
                if any(line.split()[1].endswith(wanted) and line.split()[3] == "0A"
                       for line in file.readlines()[1:]):
                    return True
        except OSError:
            pass
    return False


def stop(process):
    """As an administrator would; by force after 20 seconds."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Slapd(Server):
    """OpenLDAP with an mdb database that is not synced."""

    name, program, package = "slapd", "slapd", "slapd"
    CONFIG = """include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
{modules}pidfile {folder}/pid
threads 16
loglevel 0
sockbuf_max_incoming_auth 4194303
database mdb
suffix "{suffix}"
rootdn "{root}"
rootpw {password}
directory {folder}/data
maxsize 2147483648
dbnosync
index objectClass,uid eq
"""

    def schema(self):
        return self.root() + "/etc/ldap/schema"

    def modules(self):
        """Lines of the configuration that load its database."""
        return f"modulepath {self.root()}/usr/lib/ldap\nmoduleload back_mdb\n"

    def place(self, folder):
        """Its configuration and an empty directory for its data."""
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        path = os.path.join(folder, "slapd.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.CONFIG.format(
                schema=self.schema(), modules=self.modules(), folder=folder, suffix=SUFFIX,
                root=ROOT, password=PASSWORD))
        return path

    def prepare(self, environment):
        template = os.path.join(self.work, "slapd")
        os.makedirs(template)
        ldif = os.path.join(template, "entries.ldif")
        self.write_entries(ldif)
        # slapadd is slapd by another name.
        self.tool([self.path, "-T", "add", "-q", "-f", self.place(template), "-l", ldif],
                  environment)

    def command(self, folder, port):
        config = self.place(folder)
        copy_data(os.path.join(self.work, "slapd", "data"), os.path.join(folder, "data"))
        return [self.path, "-f", config, "-h", f"ldap://127.0.0.1:{port}", "-d", "0"]


class NsSlapd(Server):
    """389-ds with an mdb backend. Its configuration is the package's template, filled in."""

    name, program, package = "ns-slapd", "ns-slapd", "389-ds-base"
    FOLDERS = ("schema", "lock", "tmp", "cert", "ldif", "bak", "run", "inst", "logs", "db")
    BACKEND = "userroot"
    # Plug-ins that the server adds itself, but from the place where they would be installed.
    ADDED = (("entryuuid_syntax", "libentryuuid-syntax-plugin", "syntax"),
             ("entryuuid", "libentryuuid-plugin", "betxnpreoperation"))
    # of the entry named first
    SETTINGS = {
        "cn=config": ("nsslapd-listenhost: 127.0.0.1", "nsslapd-accesslog-logging-enabled: off",
                      "nsslapd-threadnumber: 16", "nsslapd-maxbersize: 4194304",
                      "nsslapd-security: off"),
        "cn=config,cn=ldbm database,cn=plugins,cn=config": ("nsslapd-cache-autosize: 0",),
        f"cn={BACKEND},cn=ldbm database,cn=plugins,cn=config": ("nsslapd-cachememsize: 209715200",),
    }

    def values(self, folder, port):
        """What the placeholders of the templates stand for."""
        folders = {f"{name}_dir": os.path.join(folder, name) for name in self.FOLDERS}
        return folders | {
            "log_dir": folders["logs_dir"], "config_dir": folder, "fqdn": "localhost",
            "ds_port": str(port), "ds_user": pwd.getpwuid(os.geteuid()).pw_name, "rootdn": ROOT,
            "ds_passwd": "{CLEAR}" + PASSWORD, "ldapi_enabled": "off", "ldapi_autobind": "off",
            "ldapi": os.path.join(folder, "socket"), "ds_suffix": SUFFIX, "db_lib": "mdb",
            "db_home_dir": folders["db_dir"], "ds_bename": self.BACKEND}

    def data(self):
        """Where its templates are."""
        return f"{self.root()}/usr/share/dirsrv/data"

    def etc(self):
        return f"{self.root()}/etc/dirsrv"

    def adapted(self, text, folder):
        """The configuration, for where the server is."""
        return self.elsewhere(text, folder) if self.is_unpacked() else text

    def template(self, name, values):
        with open(os.path.join(self.data(), name), encoding="utf-8") as file:
            text = file.read()
        for key, value in values.items():
            text = text.replace(f"%{key}%", value)
        return text.rstrip("\n") + "\n\n"

    def place(self, folder, port):
        """Its configuration, and directories for what it writes."""
        for name in self.FOLDERS:
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        values = self.values(folder, port)
        text = self.template("template-dse.ldif", values)
        text += self.template("template-suffix-db.ldif", values)
        for entry, settings in self.SETTINGS.items():
            text = text.replace(f"dn: {entry}\n", "\n".join([f"dn: {entry}", *settings, ""]), 1)
        text = self.adapted(text, folder)
        for path in ("schema/99user.ldif", "config/slapd-collations.conf"):
            place = folder if path.startswith("config") else os.path.join(folder, "schema")
            shutil.copy(os.path.join(self.etc(), path), place)
        with open(os.path.join(folder, "dse.ldif"), "w", encoding="utf-8") as file:
            file.write(text)

    def elsewhere(self, text, folder):
        """Of an unpacked package: the configuration with the paths of its plug-ins, and its
        schema, which the server expects below /usr.
        """
        for name, library, kind in self.ADDED:
            text += (f"dn: cn={name},cn=plugins,cn=config\nobjectclass: top\n"
                     f"objectclass: nsSlapdPlugin\ncn: {name}\nnsslapd-pluginpath: {library}\n"
                     f"nsslapd-plugininitfunc: {name}_plugin_init\nnsslapd-plugintype: {kind}\n"
                     f"nsslapd-pluginenabled: on\nnsslapd-pluginId: {name}\n"
                     "nsslapd-pluginVersion: none\nnsslapd-pluginVendor: none\n"
                     f"nsslapd-pluginDescription: {name}\n\n")
        plugins = glob.glob(f"{self.unpacked}/usr/lib/*/dirsrv/plugins")[0]
        for path in glob.glob(f"{self.unpacked}/usr/share/dirsrv/schema/*.ldif"):
            shutil.copy(path, os.path.join(folder, "schema"))
        return re.sub(r"(?im)^(nsslapd-pluginpath: )(lib\S+)$", rf"\1{plugins}/\2", text)

    def prepare(self, environment):
        template = os.path.join(self.work, "ns-slapd")
        self.place(template, 389)
        ldif = os.path.join(template, "ldif", "entries.ldif")
        self.write_entries(ldif)
        self.tool([self.path, "ldif2db", "-D", template, "-n", self.BACKEND, "-i", ldif],
                  environment)

    def command(self, folder, port):
        self.place(folder, port)
        copy_data(os.path.join(self.work, "ns-slapd", "db"), os.path.join(folder, "db"))
        return [self.path, "-D", folder, "-i", os.path.join(folder, "run", "pid"), "-d", "0"]
