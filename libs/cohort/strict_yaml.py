"""YAML as a person means it: plain values only, and no key twice in one mapping."""

from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """PyYAML takes the last of two equal keys in silence; the second is a mistake."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """As the parent, after a look at the keys."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                problem = f"{key.value} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(text: str) -> Any:
    """The value of a document. Raises `yaml.YAMLError`."""
    return yaml.load(text, _Loader)
