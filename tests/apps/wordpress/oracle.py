"""What the site holds: posts that are published, each with its categories."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

_POSTS = """
SELECT json_object('id', ID, 'title', post_title, 'content', post_content, 'excerpt', post_excerpt, 'categories',
  (SELECT group_concat(t.name ORDER BY t.name) FROM wp_term_relationships AS r
   JOIN wp_term_taxonomy AS x USING (term_taxonomy_id) JOIN wp_terms AS t USING (term_id)
   WHERE r.object_id = ID AND x.taxonomy = 'category'))
FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' ORDER BY ID
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every published post, oldest first."""
    name = (state / "socket").read_text(encoding="utf-8").strip()
    command = [
        "mariadb",
        "--no-defaults",
        "-S",
        name,
        "-u",
        "root",
        "--default-character-set=utf8mb4",
        "-N",
        "-r",
        "--raw",
    ]
    done = subprocess.run([*command, "wp", "-e", _POSTS], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines() if line.strip()]
