"""The shape of the tree: knowing one service is knowing all, and nothing drifts apart unseen."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cohort.config import RunConfig

ROOT = Path(__file__).parents[1]
HTTP_SERVICES = ("generator", "reward", "sandbox", "trainer")
NOUNS = {
    "generator": "sampler.py",
    "reward": "grader.py",
    "rollout": "worker.py",
    "sandbox": "runner.py",
    "trainer": "worker.py",
}
LIGHT = (
    "cohort",
    "cohort.cli",
    "cohort.launcher",
    "cohort.tasks",
    "services.reward.__main__",
    "services.rollout.__main__",
    "services.sandbox.__main__",
    "services.trainer.__main__",
)
NO_CLIENT = {
    ("POST", "/v1/completions"): "for OpenAI clients",
    ("GET", "/v1/models"): "for OpenAI clients",
    ("GET", "/"): "the dashboard, for browsers",
    ("POST", "/login"): "the dashboard, for browsers",
    ("POST", "/logout"): "the dashboard, for browsers",
    ("GET", "/dashboard/{}"): "the dashboard, for browsers",
}
MAX_LINES = 300


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("who", sorted(NOUNS))
def test_every_service_has_the_same_files(who: str) -> None:
    folder = ROOT / "services" / who
    expected = {"__init__.py", "__main__.py", "config.py", NOUNS[who]}
    if who in HTTP_SERVICES:
        expected.add("app.py")
    assert expected <= {path.name for path in folder.iterdir()}
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), "no promise"


def test_there_is_no_other_service() -> None:
    found = {path.parent.name for path in (ROOT / "services").glob("*/__main__.py")}
    assert found == set(NOUNS)


def imports_torch(module: str) -> bool:
    code = (
        f"import sys, {module}\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'safetensors')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode in (0, 1), answer.stderr
    assert "Traceback" not in answer.stderr, answer.stderr
    return answer.returncode == 1


@pytest.mark.parametrize("module", LIGHT)
def test_what_is_light_imports_no_torch(module: str) -> None:
    assert not imports_torch(module)


def test_the_torch_check_sees_torch() -> None:
    assert imports_torch("services.generator.__main__")


def routes() -> Iterator[tuple[str, str]]:
    """Method and path of every route, as written in the decorators."""
    for path in python_files(*(f"services/{who}" for who in HTTP_SERVICES)):
        for node in ast.walk(ast.parse(path.read_text())):
            for call in getattr(node, "decorator_list", []):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                    continue
                if call.func.attr in {"get", "post", "put", "delete"}:
                    assert isinstance(call.args[0], ast.Constant)
                    yield call.func.attr.upper(), re.sub(r"{\w+}", "{}", str(call.args[0].value))


def client_paths() -> set[str]:
    """Every path that cohort.clients knows, `{}` where a value goes in."""
    found, fragments = set(), set()
    for node in ast.walk(ast.parse((ROOT / "libs/cohort/clients.py").read_text())):
        if isinstance(node, ast.JoinedStr):
            fragments.update(node.values)
            parts = [str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values]
            found.add("".join(parts))
        if isinstance(node, ast.Constant) and node not in fragments:
            found.add(str(node.value))
    return {path for path in found if re.fullmatch(r"/[\w/{}]+", path)}


def fits(route: str, path: str) -> bool:
    pattern = "".join(
        r"[^/]+" if part == "{}" else re.escape(part) for part in re.split(r"({})", route)
    )
    return re.fullmatch(pattern, path) is not None


def test_every_route_has_a_client_method() -> None:
    paths, seen = client_paths(), list(routes())
    assert len(seen) > 15
    for method, route in seen:
        has_client = any(fits(route, path) for path in paths)
        assert has_client != ((method, route) in NO_CLIENT), (method, route)
    assert set(NO_CLIENT) <= set(seen)


def test_every_client_path_has_a_route() -> None:
    known = [route for _, route in routes()]
    for path in client_paths():
        assert any(fits(route, path) for route in known), path


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda p: p.name)
def test_every_config_loads(path: Path) -> None:
    config = RunConfig.from_yaml(path.read_text())
    assert RunConfig.from_yaml(config.to_yaml()) == config
    assert path.read_text().startswith("#"), "a config opens with what it is for"


def test_files_are_short_and_named_for_what_they_know() -> None:
    for path in python_files("libs", "services"):
        assert len(path.read_text().splitlines()) <= MAX_LINES, path
        assert path.stem not in {"utils", "util", "common", "helpers", "misc"}, path


def test_nothing_untrusted_is_unpickled_or_evaluated() -> None:
    for path in python_files("libs", "services"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {getattr(node, "module", None), *(alias.name for alias in node.names)}
                assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, f"{path}:{node.lineno}"


def tree_of(readme: str) -> list[Path]:
    """Paths that a tree in a fenced block names: one per line, folders end with a slash."""
    found: list[Path] = []
    for block in re.findall(r"^```\w*\n(.*?)^```", readme, flags=re.M | re.S):
        if not re.search(r"^services/\s", block, flags=re.M):
            continue
        above: list[tuple[int, Path]] = []
        for line in block.splitlines():
            match = re.match(r"( *)([\w.-]+(?:/[\w.-]+)*/?)(?:\s|$)", line)
            if match is None or not ("/" in match[2] or "." in match[2]):
                continue
            depth = len(match[1])
            above = [(d, parent) for d, parent in above if d < depth]
            path = (above[-1][1] if above else Path()) / match[2]
            found.append(path)
            above.append((depth, path))
    return found


def test_the_tree_in_the_readme_is_on_the_disk() -> None:
    missing = [
        path for path in tree_of((ROOT / "README.md").read_text()) if not (ROOT / path).exists()
    ]
    assert missing == []


def test_the_tree_reader_reads_trees() -> None:
    block = "```\nservices/   what runs\n  reward/   scores\n    app.py\nlibs/cohort/\n```\n"
    names = ["services", "services/reward", "services/reward/app.py", "libs/cohort"]
    assert tree_of(block) == [Path(name) for name in names]
