#!/bin/sh
# Writes the passwords, users and tokens that overlays make Secrets of, as a component of kustomize:
#
#   deploy/kubernetes/credentials.sh [FOLDER] [HOST...]
#
# FOLDER is deploy/kubernetes/credentials unless given; git ignores it. HOSTs are agents that get a user besides those that
# have a HOST.env in FOLDER; fake hosts are compute-agent-0, compute-agent-1 and so on. Passwords are drawn once, a file for
# each. Needs a built checkout (npm ci).
set -eu
umask 077
folder=${1:-$(dirname "$0")/credentials}
[ $# -gt 0 ] && shift
mkdir -p "$folder"

draw() {
  od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

for name in BERTH_SCHEDULER_PASSWORD BERTH_CONDUCTOR_PASSWORD BERTH_PLACEMENT_PASSWORD BERTH_CONSOLE_PASSWORD \
  BERTH_OPERATOR_PASSWORD BERTH_REDIS_DEFAULT_PASSWORD BERTH_DEMO_PASSWORD BERTH_PLACEMENT_TOKEN BERTH_CLAIM_KEY; do
  [ -f "$folder/$name" ] || draw > "$folder/$name"
  export "$name=$(cat "$folder/$name")"
done
for host in "$@"; do
  file=$folder/$host.env
  [ -f "$file" ] || echo "BERTH_BUS_URL=amqp://agent.$host:$(draw)@rabbitmq.berth:5672/berth" > "$file"
done
BERTH_USER_PASSWORDS=project.demo=$BERTH_DEMO_PASSWORD
agents=
for file in "$folder"/*.env; do
  [ -f "$file" ] || continue
  host=$(basename "$file" .env)
  BERTH_USER_PASSWORDS=$BERTH_USER_PASSWORDS,agent.$host=$(sed 's/.*:\(.*\)@.*/\1/' "$file")
  agents="$agents
      - $host.env"
done
export BERTH_USER_PASSWORDS BERTH_BROKER_CLUSTER=on
node "$(dirname "$0")/../credentials.mjs" "$folder"

cat > "$folder/kustomization.yaml" <<EOF
# Written by credentials.sh.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
secretGenerator:
  - name: passwords
    files:
      - BERTH_SCHEDULER_PASSWORD
      - BERTH_CONDUCTOR_PASSWORD
      - BERTH_PLACEMENT_PASSWORD
      - BERTH_CONSOLE_PASSWORD
      - BERTH_REDIS_DEFAULT_PASSWORD
      - BERTH_CLAIM_KEY
  - name: broker-definitions
    files: [rabbitmq-definitions.json]
  - name: redis-users
    files: [user.acl=redis-users.acl]
  - name: placement-tokens
    files: [placement-tokens.json]
EOF
# One file for each agent, named as its pod; each pod sees its own only.
[ -z "$agents" ] || printf '  - name: agents\n    files:%s\n' "$agents" >> "$folder/kustomization.yaml"
