"""Families that the user may switch off with one word, or make stricter."""

from __future__ import annotations

import pytest

from ralph.guard.guard import judge
from ralph.guard.judgement import GuardRules
from ralph.guard.packs import PACKS

DESTRUCTIVE = {
    "backup": [
        "restic forget latest --prune",
        "borg prune repo",
        "rclone purge remote:bucket",
        "velero backup delete x",
    ],
    "cloud": [
        "aws ec2 terminate-instances --instance-ids i-1",
        "aws --region eu-west-1 s3 rb s3://x --force",
        "gcloud compute instances delete vm",
        "az group delete -n x",
        "terraform destroy -auto-approve",
        "pulumi destroy",
        "gsutil -m rm -r gs://x",
        "aws s3 sync . s3://x --delete",
    ],
    "containers": [
        "docker system prune -af",
        "docker volume rm data",
        "docker compose down -v",
        "docker rm -f $(docker ps -aq)",
        "kubectl delete namespace prod",
        "kubectl drain node",
        "helm uninstall app",
    ],
    "databases": [
        "psql -c 'DELETE FROM t'",
        "mysql -e 'UPDATE t SET a = 1'",
        "mongosh --eval 'db.users.deleteMany({})'",
        "rails db:reset",
        "php artisan migrate:fresh",
        "python manage.py flush",
        "sqlite3 app.db 'delete from users'",
    ],
    "publish": [
        "npm unpublish x --force",
        "cargo yank --version 1.0",
        "apt-get remove git",
        "brew uninstall git",
        "pip freeze | xargs pip uninstall -y",
    ],
    "remote": ["ssh host 'rm -rf /srv'", "ssh -p 22 host git reset --hard"],
    "services": [
        "curl -X DELETE https://api.example.com/x",
        "gh repo delete a/b --yes",
        "vault kv destroy secret/x",
        "kafka-topics --delete --topic x",
        "stripe products delete p",
    ],
    "strict": [],
}
"""Blocked unless the user allows the family."""

STRICT = {
    "backup": ["rclone sync a remote:b", "restic unlock"],
    "cloud": ["aws ec2 stop-instances --instance-ids i-1", "terraform taint x"],
    "containers": [
        "docker rm -f web",
        "docker stop web",
        "docker image prune -f",
        "kubectl delete pod x",
        "kind delete cluster",
    ],
    "databases": ["dropuser app", "rails db:rollback", "echo 'drop index i;' | sqlite3 x.db"],
    "publish": [
        "npm publish",
        "cargo publish",
        "twine upload dist/*",
        "gem push x.gem",
        "mvn deploy",
        "./gradlew publish",
        "pip uninstall -y x",
    ],
    "remote": ["scp x host:/etc/passwd", "rsync -a --delete a/ host:b/", "ssh-add -D"],
    "services": [
        "curl -X DELETE http://localhost/x",
        "systemctl stop nginx",
        "curl -XPOST localhost:9200/x/_delete_by_query",
        "gh pr merge 3 --delete-branch",
    ],
    "strict": [
        "git push origin main",
        "git push origin HEAD:master",
        "git rebase main",
        "git commit --amend",
    ],
}
"""Blocked only when the pack is on."""

HARMLESS = {
    "backup": ["restic snapshots", "borg list repo", "rclone ls remote:"],
    "cloud": [
        "aws s3 ls",
        "gcloud compute instances list",
        "az group show -n x",
        "terraform plan",
        "terraform apply",
    ],
    "containers": [
        "docker ps",
        "docker compose up",
        "docker rm web",
        "docker rm -f test-db 2>/dev/null; docker run -d --name test-db postgres",
        "kubectl get pods",
        "kubectl delete pod x --dry-run=client",
        "helm list",
    ],
    "databases": [
        "psql -c 'SELECT 1'",
        "psql -c 'DELETE FROM t WHERE id = 3'",
        "redis-cli GET x",
        "rails db:migrate",
        "sqlite3 test.db 'DROP TABLE IF EXISTS foo; CREATE TABLE foo(id int)'",
    ],
    "publish": ["npm publish --dry-run", "npm run build", "cargo build", "pip install x", "mvn test"],
    "remote": ["ssh host uptime", "scp x host:/tmp/", "rsync -an --delete a/ b/", "rsync -a a/ b/"],
    "services": [
        "curl https://api.example.com/x",
        "gh repo view a/b",
        "vault kv get secret/x",
        "kafka-topics --list",
        "systemctl status nginx",
    ],
    "strict": ["git push origin topic", "git merge main", "git commit -m x"],
}


def rules(*packs: str) -> GuardRules:
    return GuardRules(packs=frozenset(packs))


@pytest.mark.parametrize("family", PACKS)
def test_what_destroys_is_blocked_until_the_user_allows_the_family_by_its_name(family: str) -> None:
    for command in DESTRUCTIVE[family]:
        assert judge(command).is_blocked, command
        assert not judge(command, GuardRules(allow=(family,))).is_blocked, command
        assert judge(command, rules("all")).is_blocked, command


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_blocks_more_when_it_is_chosen(pack: str) -> None:
    for command in STRICT[pack]:
        assert not judge(command).is_blocked, command
        assert judge(command, rules(pack)).is_blocked, command
        assert judge(command, rules("all")).is_blocked, command


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_leaves_everyday_commands_alone(pack: str) -> None:
    assert [command for command in HARMLESS[pack] if judge(command, rules(pack)).is_blocked] == []


def test_one_word_allows_one_family_and_no_other() -> None:
    cloud = GuardRules(allow=("cloud",))

    assert not judge("terraform destroy && make", cloud).is_blocked
    assert judge("terraform destroy && rm -rf /", cloud).is_blocked
    assert judge("kubectl delete ns prod", cloud).is_blocked
    assert judge("git reset --hard", GuardRules(allow=("git", "files"))).is_blocked, (
        "the core cannot be named"
    )
