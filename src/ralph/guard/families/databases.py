"""Databases. Always on: dropping a table or database on a server, and anything that mentions production.

The rest is everyday work on a local database, so it is an optional pack.
"""

from __future__ import annotations

import re

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import is_only_asking, words_in

_CLIENTS = words_in(
    "psql mysql mariadb sqlite3 sqlcmd duckdb cockroach clickhouse-client cqlsh mongosh mongo redis-cli usql pgcli mycli bq snowsql"
    " influx valkey-cli neo4j cypher-shell"
)
_SQL = LazyPattern(
    r"(?is)\bdrop\s+(?:table|database|schema|index|view|user|role|keyspace|collection)\b|\btruncate\s+(?:table\s+)?\w"
    r"|\bdelete\s+from\s+[\w.\"`\[\]]+\s*(?:;|$|\")|\bupdate\s+[\w.\"`]+\s+set\s+(?:(?!\bwhere\b).){0,300}$|\balter\s+table\s+\S+\s+drop\b"
)
_DOCUMENT = LazyPattern(
    r"(?i)\.(?:drop|dropDatabase|deleteMany|remove|dropIndexes)\s*\(|\bflush(?:all|db)\b|\bconfig\s+resetstat|\bdebug\s+segfault"
)
_MIGRATION = LazyPattern(
    r"(?i)db:(?:drop|reset|purge|truncate\S*|migrate:reset|schema:load)|migrate:(?:fresh|reset|rollback)|db:wipe"
)
_WHOLE = LazyPattern(
    r"(?i)\bdrop\s+(?:table|database|schema|keyspace)\b|\btruncate\s+(?:table\s+)?\w|\bflushall\b|dropDatabase\s*\("
)
_WITH_HOST = _CLIENTS | {"dropdb", "dropuser", "mysqladmin"}
"""Their -h names a host."""
_LOCAL = words_in("sqlite3 duckdb")
"""Databases in a file: the project's own."""
_PRODUCTION = LazyPattern(r"(?i)\bprod(?:uction)?\b")
_BACKUP_FIRST = "take a backup and ask the user; a SELECT shows what would be lost"


def check_databases(call: Call) -> Danger | None:
    danger = _check_database(call)
    if danger is None or call.rules.has_pack("databases"):
        return danger
    is_whole = _WHOLE.search(_said(call)) or call.program == "dropdb"
    is_whole = is_whole or (call.program == "mysqladmin" and "drop" in call.arguments)
    if call.program not in _LOCAL and is_whole:
        return danger
    said = [*call.arguments, *(value for name, value in call.environment.items() if name.endswith("ENV"))]
    return danger if any(_PRODUCTION.search(word) for word in said) else None


def _said(call: Call) -> str:
    return "\n".join([" ".join(call.arguments), *call.arguments, call.input_text])


def _check_database(call: Call) -> Danger | None:
    words = call.arguments
    if is_only_asking([word for word in words if word != "-h" or call.program not in _WITH_HOST]):
        return None
    if call.program in ("dropdb", "dropuser"):
        return Danger("databases", f"{call.program} deletes a database or account", _BACKUP_FIRST)
    if call.program in _CLIENTS and (_SQL.search(_said(call)) or _DOCUMENT.search(_said(call))):
        return Danger("databases", "this deletes data", _BACKUP_FIRST)
    if call.program == "mysqladmin" and ({"drop", "shutdown"} & set(words)):
        return Danger("databases", "mysqladmin deletes or stops the database", _BACKUP_FIRST)
    if (
        call.program in ("rails", "rake", "artisan", "mix", "bin/rails")
        or "artisan" in words
        or "rails" in words
    ) and any(_MIGRATION.search(word) or word in ("ecto.drop", "ecto.reset") for word in words):
        return Danger("databases", "this empties the database", _BACKUP_FIRST)
    if call.program in ("prisma", "npx", "bunx", "pnpm") and re.search(
        r"migrate reset|db push .*--force-reset", " ".join(words)
    ):
        return Danger("databases", "this empties the database", _BACKUP_FIRST)
    if {"flush", "sqlflush", "reset_db"} & set(words[:2]) and any(
        word.endswith("manage.py") for word in (call.program, *words)
    ):
        return Danger("databases", "this empties the database", _BACKUP_FIRST)
    return None
