"""A canary must be seen by every real test runner that is installed here, and by none that was blinded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph.domain.proof.canary import Sighting, plan_canaries, shows, sight, unseen

RUNNERS = Path(sys.prefix) / "runners"
"""Where ``make test-runners`` installs those that are npm packages."""
REPOSITORY = Path.home() / ".m2" / "repository"
PYTHON = f"{sys.executable} -B"
PYTEST = f"{PYTHON} -m pytest -p no:cacheprovider -p no:xdist -p no:randomly"


@dataclass(frozen=True)
class Project:
    """``places``: how many tests are planted; ``blinded``: files that keep the command from seeing them."""

    runner: str
    needs: str
    files: Mapping[str, str]
    command: str
    places: int
    blinded: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    names_all: bool = True


PACKAGE = '{{"name": "shop", "version": "1.0.0", "type": "{kind}", "scripts": {{"test": "{test}"}}}}'
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>shop</groupId><artifactId>shop</artifactId><version>1</version>
<properties><maven.compiler.release>17</maven.compiler.release>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>{properties}</properties>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>5.10.2</version><scope>test</scope></dependency></dependencies><build><plugins>
<plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>
<plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin></plugins></build>
</project>
"""
JAVA = """package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import org.junit.jupiter.api.Test;

/** Not the end: } */
class PriceTest {
    @Test
    void isTwo() {
        assertEquals(2, 1 + 1, "}");
    }
}

class Helper {
}
"""


PROJECTS = {
    "pytest": Project(
        "pytest",
        "python",
        {
            "tests/test_price.py": "def test_two():\n    assert 1 + 1 == 2\n",
            "tests/deep/price_test.py": "class TestPrice:\n    def test_two(self):\n        assert 1 + 1 == 2\n",
        },
        f"{PYTEST} -q",
        places=4,
        blinded={"conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n"},
    ),
    "pytest, one file": Project(
        "pytest",
        "python",
        {"tests/test_price.py": "def test_two():\n    assert 1 + 1 == 2\n"},
        f"{PYTEST} -q --tb=no tests/test_price.py",
        places=2,
        blinded={
            "conftest.py": (
                "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport():\n"
                "    report = yield\n    report.outcome = 'passed'\n    return report\n"
            )
        },
        names_all=False,
    ),
    "unittest": Project(
        "unittest",
        "python",
        {
            "test_price.py": (
                "import unittest\n\n\nclass PriceTest(unittest.TestCase):\n    def test_two(self):\n"
                "        self.assertEqual(1 + 1, 2)\n\n\nif __name__ == '__main__':\n    unittest.main()\n"
            )
        },
        f"{PYTHON} -m unittest",
        places=2,
        blinded={"sitecustomize.py": "import unittest\nunittest.TestCase.assertEqual = lambda *rest: None\n"},
        environment={"PYTHONPATH": "."},
    ),
    "unittest, as a program": Project(
        "unittest",
        "python",
        {
            "test_price.py": (
                "from unittest import TestCase, main\n\n\nclass PriceTest(TestCase):\n    def test_two(self):\n"
                "        self.assertEqual(1 + 1, 2)\n\n\nif __name__ == '__main__':\n    main()\n"
            )
        },
        f"{PYTHON} test_price.py",
        places=2,
        names_all=False,
    ),
    "node, modules": Project(
        "node",
        "node",
        {
            "test/price.test.mjs": "import test from 'node:test';\nimport assert from 'node:assert';\n"
            "test('two', () => assert.equal(1 + 1, 2));\n"
        },
        "node --test",
        places=2,
        blinded={"preload.cjs": "process.exit(0);\n"},
    ),
    "node, commonjs": Project(
        "node",
        "node",
        {
            "package.json": PACKAGE.format(kind="commonjs", test="node --test"),
            "test/price.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
            "test('two', () => assert.equal(1 + 1, 2));\n",
        },
        "npm test",
        places=2,
        blinded={"package.json": PACKAGE.format(kind="commonjs", test="node --test --test-name-pattern=two")},
    ),
    "jest": Project(
        "jest",
        "jest",
        {
            "package.json": PACKAGE.format(kind="commonjs", test="jest"),
            "src/price.test.js": "it('is two', () => { expect(1 + 1).toBe(2); });\n",
            "src/__tests__/more.js": "test('is two', () => { expect(1 + 1).toBe(2); });\n",
        },
        "npm test",
        places=4,
        blinded={"package.json": PACKAGE.format(kind="commonjs", test="jest -t two")},
    ),
    "vitest": Project(
        "vitest",
        "vitest",
        {
            "package.json": PACKAGE.format(kind="module", test="vitest run"),
            "src/price.test.ts": "import { it, expect } from 'vitest';\nit('is two', () => { expect(1 + 1).toBe(2); });\n",
        },
        "npm test",
        places=2,
        blinded={"vitest.config.js": "export default { test: { testNamePattern: 'two' } };\n"},
    ),
    "mocha": Project(
        "mocha",
        "mocha",
        {
            "package.json": PACKAGE.format(kind="commonjs", test="mocha"),
            "test/price.js": "const assert = require('assert');\ndescribe('price', () => {\n"
            "  it('is two', () => assert.equal(1 + 1, 2));\n});\n",
        },
        "npm test",
        places=2,
        blinded={".mocharc.json": '{"grep": "two"}'},
    ),
    "go": Project(
        "go test",
        "go",
        {
            "go.mod": "module shop\n\ngo 1.19\n",
            "price.go": "package shop\n\nfunc Two() int { return 2 }\n",
            "price_test.go": 'package shop\n\nimport "testing"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n'
            '\t\tt.Fatal("not two")\n\t}\n}\n',
        },
        "go test ./...",
        places=2,
        blinded={
            "main_test.go": 'package shop\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n'
        },
    ),
    "cargo": Project(
        "cargo test",
        "cargo",
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "1.0.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn two() -> u8 { 2 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn is_two() {\n"
            "        assert_eq!(super::two(), 2);\n    }\n}\n",
            "tests/price.rs": "#[test]\nfn is_two() {\n    assert_eq!(shop::two(), 2);\n}\n",
        },
        "cargo test --offline --no-fail-fast",
        places=3,
        blinded={
            "Cargo.toml": '[package]\nname = "shop"\nversion = "1.0.0"\nedition = "2021"\nautotests = false\n\n[lib]\ntest = false\n'
        },
    ),
    "JUnit by Maven": Project(
        "JUnit",
        "mvn",
        {
            "pom.xml": POM.format(properties=""),
            "src/test/java/shop/PriceTest.java": JAVA,
        },
        f"mvn -o -q -Dmaven.repo.local={REPOSITORY} -DforkCount=0 test",
        places=2,
        # It is over before the compiler's second stage could pay.
        environment={"MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
        blinded={
            "pom.xml": POM.format(properties="<maven.test.failure.ignore>true</maven.test.failure.ignore>")
        },
    ),
}


def _found(needs: str) -> bool:
    if needs == "mvn":
        return (
            shutil.which("mvn") is not None
            and (REPOSITORY / "org/junit/jupiter/junit-jupiter/5.10.2").exists()
        )
    if needs in ("jest", "vitest", "mocha"):
        return (RUNNERS / "node_modules" / ".bin" / needs).exists()
    return needs == "python" or shutil.which(needs) is not None


def _run(project: Project, folder: Path) -> tuple[bool, str]:
    environment = {
        **os.environ, **project.environment, "PATH": f"{RUNNERS / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "CI": "1", "NO_COLOR": "1", "RUSTUP_HOME": RUSTUP, "CARGO_HOME": CARGO, "GOFLAGS": "-mod=mod", "GOTELEMETRY": "off",
    }  # fmt: skip
    done = subprocess.run(
        project.command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=150, check=False
    )  # fmt: skip
    return done.returncode != 0, done.stdout + done.stderr


RUSTUP = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
CARGO = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def _sight(project: Project, folder: Path, files: Mapping[str, str], nonce: str) -> tuple[Sighting, str]:
    folder.mkdir()
    if (RUNNERS / "node_modules").exists():
        (folder / "node_modules").symlink_to(RUNNERS / "node_modules")
    _write(folder, files)
    canaries = plan_canaries(files, files.get, nonce)
    assert [canary.runner for canary in canaries] == [project.runner]
    assert len(canaries[0].tokens) == project.places
    _write(folder, canaries[0].files)
    failed, output = _run(project, folder)
    return sight(canaries, failed=failed, output=output), output


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_a_canary_is_seen_unless_the_command_was_blinded(name: str, tmp_path: Path) -> None:
    project = PROJECTS[name]
    if not _found(project.needs):
        pytest.skip(f"{project.needs} is not installed here; `make test-runners` installs what npm has")
    honest = tmp_path / "honest"
    _write(honest, project.files)
    if (RUNNERS / "node_modules").exists():
        (honest / "node_modules").symlink_to(RUNNERS / "node_modules")
    failed, output = _run(project, honest)
    if "in offline mode" in output:
        pytest.skip("Maven has not downloaded what this project needs")
    assert not failed, output

    start, output = _sight(project, tmp_path / "start", project.files, "one")
    assert shows(start, passed_without=True), output
    assert shows(start, passed_without=False), f"no report names it:\n{output}"
    assert (start.seen == start.planted) == project.names_all, (start, output)

    if project.blinded:
        files = {**project.files, **project.blinded}
        command = project.command
        if "preload.cjs" in files:
            command = "NODE_OPTIONS=--require=./preload.cjs node --test"
        blinded = Project(project.runner, project.needs, files, command, project.places, environment=project.environment)  # fmt: skip
        now, output = _sight(blinded, tmp_path / "blinded", files, "two")
        assert unseen(start, now) != "", output
