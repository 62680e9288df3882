"""Databases: dropping, emptying, resetting by a migration tool.

A name that says test is enough to be left alone, one that says production to be watched. In a database that is a file, one
that says development is enough too, and so are the rows of a cache or log. The pack also covers single indexes and steps
back in migrations.
"""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import base_name, is_only_asking, words_in
from ralph.guard.places import is_throwaway

_CLIENTS = words_in(
    "psql mysql mariadb sqlite3 sqlcmd duckdb cockroach clickhouse-client cqlsh mongosh mongo redis-cli usql pgcli mycli bq snowsql"
    " influx valkey-cli neo4j cypher-shell"
)
_LOSS = LazyPattern(
    r"(?is)\bdrop\s+(?:table|database|schema|keyspace|collection|owned)\b|\btruncate\s+(?:table\s+)?\w|\bflush(?:all|db)\b"
    r"|\bdelete\s+from\s+[\w.\"`\[\]]+\s*(?:;|$|\"|--|\breturning\b|\bwhere\s+(?:true\b|1\s*(?:;|$|=\s*1\b)))"
    r"|\bupdate\s+[\w.\"`]+\s+set\s+(?:(?!\bwhere\b)[^;]){0,300}(?:;|$)"
    r"|dropDatabase\s*\(|\.drop\s*\(|\.(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*)?\)"
)
_TEST_DROP = LazyPattern(
    r"(?i)\bdrop\s+(?:database|schema|table)\s+(?:if\s+exists\s+)?[\"`]?(?:test_\w+|\w+_test)\b",
    hints="test TEST",
)
_TEXT = LazyPattern(r"'(?:[^']|'')*'", hints="'")
_MADE_AGAIN = LazyPattern(
    r"(?i)\bdelete\s+from\s+[\"`]?(?:\w+_)?(?:cache\w*|sessions?|logs?|queue|tmp|temp)(?:_\w+)?\b[\"`]?"
)
_DEVELOPMENT = LazyPattern(r"(?i):memory:|(?:.*[^a-z])?(?:dev|development|demo|sample)(?:[^a-z].*)?")
_STRICT_LOSS = LazyPattern(
    r"(?is)\bdrop\s+(?:index|view|user|role)\b|\balter\s+table\s+\S+\s+drop\b|\.(?:deleteMany|remove|dropIndexes)\s*\("
    r"|\bconfig\s+resetstat|\bdebug\s+segfault"
)
_RESETS = r"""
rails rake :: \bdb:(?:drop|reset|purge|truncate\w*|migrate:reset) :: db:(?:schema:load|rollback)
artisan :: migrate:(?:fresh|reset)|db:wipe :: migrate:rollback
console :: doctrine:(?:database|schema):drop
prisma :: migrate reset|db push .*--force-reset
manage.py django-admin :: (?:^| )(?:flush|reset_db)\b|\bmigrate \w+ zero\b
alembic flask :: \bdowngrade (?:.* )?base\b
knex :: migrate:rollback .*--all
sequelize sequelize-cli :: db:drop|undo:all
typeorm typeorm-ts-node-commonjs mikro-orm :: schema:(?:drop|fresh)
mix :: ecto\.(?:drop|reset)
dotnet :: ef database drop
flyway :: \bclean\b
liquibase :: drop-?all
dbmate migrate :: (?:^| )drop\b|(?:^| )down\b.* -all
goose :: \breset\b|down-to 0
sqlx diesel :: database (?:drop|reset)
sea-orm-cli :: migrate (?:fresh|reset|refresh)
atlas :: schema clean
supabase :: db reset
mongorestore :: --drop\b
mysqladmin :: \bdrop\b :: shutdown
dropdb :: .*
dropuser :: $^ :: .*
"""
"""Tools, what of their words empties or drops a database, and what does so for the pack only."""


def _read_resets() -> dict[str, list[LazyPattern]]:
    rows = [line.split(" :: ") for line in _RESETS.strip().splitlines()]
    return {
        tool: [LazyPattern(f"(?i){text}") for text in texts]
        for tools, *texts in rows
        for tool in tools.split()
    }


_TOOLS = _read_resets()
_WITH_HOST = _CLIENTS | {"dropdb", "dropuser", "mysqladmin"}
"""Their -h names a host."""
_LOCAL = words_in("sqlite3 duckdb")
_PRODUCTION = LazyPattern(r"(?i)\bprod(?:uction)?\b")
_BACKUP_FIRST = "take a backup and ask the user; a SELECT shows what would be lost"


def check_databases(call: Call) -> Danger | None:
    tool, words = _tool_of(call)
    if tool not in _CLIENTS and tool not in _TOOLS:
        return None
    if is_only_asking([word for word in words if word != "-h" or tool not in _WITH_HOST]):
        return None
    settings = [
        value for name, value in call.environment.items() if name.endswith(("ENV", "URL", "DATABASE"))
    ]
    named = [*words, *settings]
    is_production = any(map(_PRODUCTION.search, named))
    is_strict = call.rules.has_pack("databases") or is_production
    if not is_production and any(is_throwaway(word) for word in named if " " not in word):
        return None
    if tool in _CLIENTS:
        is_own = tool in _LOCAL and not is_strict
        if is_own and any(_DEVELOPMENT.fullmatch(word) for word in words if " " not in word):
            return None
        for said in (" ".join(words), *words, call.input_text):
            text = _TEXT.sub("''", _TEST_DROP.sub("", said))
            text = _MADE_AGAIN.sub("", text) if is_own else text
            if _LOSS.search(text) or (is_strict and _STRICT_LOSS.search(text)):
                return Danger("databases", "this deletes data", _BACKUP_FIRST)
        return None
    line = " ".join(words)
    if any(pattern.search(line) for pattern in _TOOLS[tool][: 2 if is_strict else 1]):
        return Danger("databases", f"{tool} empties or drops a database", _BACKUP_FIRST)
    return None


def _tool_of(call: Call) -> tuple[str, list[str]]:
    """``python manage.py`` and ``php artisan`` are manage.py and artisan."""
    words = call.arguments
    if call.program not in _TOOLS and (call.program == "php" or call.program.startswith("py")):
        return (base_name(words[0]), words[1:]) if words else ("", [])
    return call.program, words
