#!/bin/sh
# Writes what kustomization.yaml makes Secrets of:
#
#   deploy/kubernetes/credentials.sh [FOLDER] [HOST...]
#
# FOLDER is deploy/kubernetes/credentials unless given; git ignores it. HOSTs are the agents that get a user, by default the
# three pods of compute-agent.yaml. Passwords are drawn once, a file for each. Needs a built checkout (npm ci).
set -eu
umask 077
folder=${1:-$(dirname "$0")/credentials}
[ $# -gt 0 ] && shift
mkdir -p "$folder"
[ $# -gt 0 ] || set -- compute-agent-0 compute-agent-1 compute-agent-2

draw() {
  od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

for name in BERTH_SCHEDULER_PASSWORD BERTH_CONDUCTOR_PASSWORD BERTH_PLACEMENT_PASSWORD BERTH_CONSOLE_PASSWORD \
  BERTH_OPERATOR_PASSWORD BERTH_REDIS_DEFAULT_PASSWORD BERTH_DEMO_PASSWORD BERTH_PLACEMENT_TOKEN BERTH_CLAIM_KEY; do
  [ -f "$folder/$name" ] || draw > "$folder/$name"
  export "$name=$(cat "$folder/$name")"
done
BERTH_USER_PASSWORDS=project.demo=$BERTH_DEMO_PASSWORD
for host in "$@"; do
  file=$folder/$host.env
  [ -f "$file" ] || echo "BERTH_BUS_URL=amqp://agent.$host:$(draw)@rabbitmq.berth:5672/berth" > "$file"
  BERTH_USER_PASSWORDS=$BERTH_USER_PASSWORDS,agent.$host=$(sed 's/.*:\(.*\)@.*/\1/' "$file")
done
export BERTH_USER_PASSWORDS BERTH_BROKER_CLUSTER=on
exec node "$(dirname "$0")/../credentials.mjs" "$folder"
