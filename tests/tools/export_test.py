#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""metagroup export with the programs that are around it: Prometheus, the rules and scrapes that
docs/prometheus.md has, the dashboard, and the sockets and units of systemd.

The program is that of the variable METAGROUP_TOOL, the units are in METAGROUP_UNITS.
"""

import http
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
TOOL = os.path.abspath(os.environ.get("METAGROUP_TOOL", "build/tools/metagroup"))
UNITS = Path(os.environ.get("METAGROUP_UNITS", "build/tools"))
DASHBOARD = PROJECT / "tools/metagroup/grafana/metagroup.json"
# Software events under the names of those that the dashboard is about.
EVENTS = ("cpu-clock,page-faults,context-switches,cpu-migrations,software/config=3,name=cycles/,"
          "software/config=3,name=instructions/,software/config=3,name=branches/,"
          "software/config=3,name=branch-misses/")
PATIENCE = 30  # seconds


def programs(*names: str) -> Any:
    missing = [name for name in names if not shutil.which(name)]
    return unittest.skipIf(missing, f"{', '.join(missing)} is not installed")


def wait_for(condition: Any, what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not seen: {what}")
        time.sleep(0.1)
    return value


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Exporter:
    """The exporter on a free port, or on sockets that are passed to it."""

    def __init__(self, *options: str, sockets: tuple[socket.socket, ...] = ()) -> None:
        command = [TOOL, "export", "-e", EVENTS, *options]
        if sockets:
            # As systemd does: from descriptor 3 on, for the process of this number.
            command = ["bash", "-c",
                       "".join(f"exec {3 + i}<&{100 + i} {100 + i}<&-;" for i in
                               range(len(sockets))) +
                       f"LISTEN_PID=$$ LISTEN_FDS={len(sockets)} exec \"$@\"", "bash", *command]
            for i, one in enumerate(sockets):
                os.dup2(one.fileno(), 100 + i)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            pass_fds=[100 + i for i in range(len(sockets))])
        for i in range(len(sockets)):
            os.close(100 + i)
        self.line = self.process.stdout.readline()

    def address(self) -> str:
        return re.search(r"http://(.*)/metrics", self.line)[1]

    def close(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=PATIENCE)[0]

    def status(self) -> int:
        """Of a program that ends by itself."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


def get(url: str, **headers: str) -> str:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


class PromtoolTest(unittest.TestCase):
    @programs("promtool")
    def test_names_types_and_texts_are_as_prometheus_wants_them(self) -> None:
        exporter = Exporter("--listen", "127.0.0.1:0")
        self.addCleanup(exporter.close)
        text = get(f"http://{exporter.address()}/metrics")
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    @programs("promtool")
    def test_the_configurations_of_the_page_are_valid(self) -> None:
        page = (PROJECT / "docs/prometheus.md").read_text()
        found = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", page, re.M | re.S)
        self.assertGreater(len(found), 3)
        for name, text in found:
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                file = Path(directory, name)
                # A file that is not here is an error.
                file.write_text(text.replace("/etc/prometheus/", "/dev/null #"))
                command = {"rules.yml": ["check", "rules"],
                           "agent.yml": ["check", "config", "--agent"]}.get(
                               name, ["check", "config"])
                checked = subprocess.run(["promtool", *command, str(file)], text=True,
                                         capture_output=True, check=False)
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


@programs("prometheus")
class PrometheusTest(unittest.TestCase):
    """A server that scrapes an exporter each second."""

    @classmethod
    def setUpClass(cls) -> None:
        exporter = Exporter("--listen", "127.0.0.1:0")
        cls.addClassCleanup(exporter.close)
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        rules = re.search(r"^```yaml\n(# rules.yml\n.*?)^```",
                          (PROJECT / "docs/prometheus.md").read_text(), re.M | re.S)[1]
        Path(directory, "rules.yml").write_text(rules.replace("[5m]", "[5s]"))
        Path(directory, "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yml]
scrape_configs:
  - job_name: metagroup
    static_configs: [{{targets: ["{exporter.address()}"]}}]
""")
        cls.url = f"http://127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            ["prometheus", f"--config.file={directory}/prometheus.yml",
             f"--storage.tsdb.path={directory}/data", "--log.level=warn",
             f"--web.listen-address={cls.url.removeprefix('http://')}"])
        cls.addClassCleanup(server.wait, PATIENCE)
        cls.addClassCleanup(server.terminate)
        wait_for(lambda: cls.query("rate(metagroup_sweeps_total[5s]) > 0"), "two scrapes")

    @classmethod
    def api(cls, path: str, **parameters: str) -> Any:
        url = f"{cls.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            answer = json.loads(get(url))
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.SERVICE_UNAVAILABLE:
                return None  # it starts
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        except OSError:
            return None  # it has not started
        return answer["data"]

    @classmethod
    def query(cls, query: str) -> list[Any]:
        found = cls.api("query", query=query)
        return found["result"] if found else []

    def test_the_target_is_up_and_no_sample_is_refused(self) -> None:
        target = self.api("targets")["activeTargets"][0]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))
        self.assertEqual(self.query("up")[0]["value"][1], "1")

    def test_names_and_texts_are_known_by_their_types(self) -> None:
        known = self.api("targets/metadata")
        types = {entry["metric"]: entry["type"] for entry in known}
        # Those of OpenMetrics, which this server accepts.
        self.assertEqual(types["metagroup_events"], "counter")
        self.assertEqual(types["metagroup_event_seconds"], "counter")
        self.assertEqual(types["metagroup_sweep_duration_seconds"], "histogram")
        self.assertEqual(types["metagroup_cpus_online"], "gauge")

    def test_a_clock_has_the_rate_of_a_clock(self) -> None:
        def is_one() -> bool:  # a scrape may be late
            rates = self.query('irate(metagroup_event_seconds_total{event="cpu-clock"}[5s])')
            return (len(rates) == os.cpu_count() and
                    all(abs(float(rate["value"][1]) - 1) < 0.05 for rate in rates))
        wait_for(is_one, "a second per second")

    def test_rules_of_the_page_have_results(self) -> None:
        wait_for(lambda: self.query("instance:metagroup_instructions_per_cycle:rate5m"),
                 "the result of a rule")
        groups = self.api("rules")["groups"]
        self.assertEqual([rule.get("lastError", "") for rule in groups[0]["rules"]], [""] * 3)

    def test_queries_of_the_dashboard_have_results(self) -> None:
        elsewhere = {"Power", "Memory bandwidth"}  # need PMUs that most machines here lack
        variables = {"$__rate_interval": "5s", "$instance": ".*", "$event": "context-switches"}
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            for target in panel["targets"]:
                query = re.sub(r"\$\w+", lambda name: variables[name[0]], target["expr"])
                with self.subTest(panel=panel["title"], query=query):
                    found = self.query(query)
                    self.assertTrue(found or panel["title"] in elsewhere)
                    labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
                    for series in found:
                        self.assertLessEqual(labels, set(series["metric"]))

    def test_variables_of_the_dashboard_have_values(self) -> None:
        for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
            if variable["type"] != "query":
                continue
            query = variable["query"]["query"].replace("$instance", ".*")
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
            self.assertTrue(self.api(f"label/{label}/values", **{"match[]": series}), query)


class SocketTest(unittest.TestCase):
    """Sockets that are passed as by systemd."""

    def test_it_serves_the_socket_that_is_passed(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            exporter = Exporter(sockets=(server,))
            self.addCleanup(exporter.close)
            port = server.getsockname()[1]
            self.assertEqual(exporter.address(), f"127.0.0.1:{port}")
        self.assertIn("metagroup_events_total{", get(f"http://127.0.0.1:{port}/metrics"))

    def test_it_serves_each_socket_also_in_the_file_system(self) -> None:
        with tempfile.TemporaryDirectory() as directory, \
                socket.create_server(("127.0.0.1", 0)) as server, \
                socket.socket(socket.AF_UNIX) as local:
            local.bind(f"{directory}/socket")
            local.listen()
            exporter = Exporter(sockets=(local, server))
            self.assertIn(f"{directory}/socket", exporter.line)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(f"{directory}/socket")
                client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                answer = client.makefile().read()
            self.assertIn("metagroup_events_total{", answer)
            get(f"http://127.0.0.1:{server.getsockname()[1]}/metrics")
            self.assertIn("2 scrapes", exporter.close())

    def test_sockets_and_an_address_exclude_each_other(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            exporter = Exporter("--listen", "127.0.0.1:0", sockets=(server,))
            self.assertIn("remove --listen", exporter.line)
            self.assertEqual(exporter.status(), 125)

    def test_a_socket_that_does_not_listen_is_refused(self) -> None:
        with socket.socket() as other:
            exporter = Exporter(sockets=(other,))
            self.assertIn("not a listening socket", exporter.line)
            self.assertEqual(exporter.status(), 125)


@programs("systemd-analyze")
class UnitTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        for unit in UNITS.glob("metagroup-*@.*"):
            text = re.sub(r"=/\S*/metagroup ", f"={TOOL} ", unit.read_text())
            Path(self.directory, unit.name).write_text(text)

    def analyze(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["systemd-analyze", *words], text=True, capture_output=True,
                              check=False,
                              env=os.environ | {"SYSTEMD_UNIT_PATH": f"{self.directory}:"})

    def test_units_are_valid(self) -> None:
        for unit in ("metagroup-export@web.service", "metagroup-export@web.socket"):
            with self.subTest(unit):
                done = self.analyze("verify", "--man=no", f"{self.directory}/{unit}")
                said = [line for line in done.stderr.splitlines() if "metagroup" in line]
                self.assertEqual((done.returncode, said), (0, []))

    def test_the_service_has_no_more_rights_than_it_needs(self) -> None:
        done = self.analyze("security", "--offline=yes", "--threshold=20", "--no-pager",
                            f"{self.directory}/metagroup-export@.service")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
