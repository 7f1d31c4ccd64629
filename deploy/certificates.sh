#!/bin/sh
# Makes a certificate authority and certificates for the servers, in a folder that deploy/docker-compose.tls.yml mounts:
#
#   deploy/certificates.sh [FOLDER] [NAME...]
#
# FOLDER is deploy/certificates unless given. NAMEs are further names or addresses by which clients reach the servers; they
# have those of the composition and localhost anyway. An authority that is there is used again, so that certificates can be
# renewed without giving all clients a new one. Certificates last a year, the authority ten.
set -eu
umask 077
folder=${1:-$(dirname "$0")/certificates}
[ $# -gt 0 ] && shift
mkdir -p "$folder"
chmod 755 "$folder"
cd "$folder"

if [ ! -f ca.key ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=Berth's own authority" \
    -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.crt 2>/dev/null
fi

names="localhost rabbitmq redis placement-api console $*"
alternatives=IP:127.0.0.1
for name in $names; do
  case $name in
    *[!0-9.]*) alternatives="$alternatives,DNS:$name" ;;
    *) alternatives="$alternatives,IP:$name" ;;
  esac
done

for server in rabbitmq redis placement-api console; do
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$server" \
    -keyout "$server.key" -out "$server.csr" 2>/dev/null
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "$alternatives" > "$server.ext"
  openssl x509 -req -in "$server.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile "$server.ext" \
    -out "$server.crt" 2>/dev/null
  rm "$server.csr" "$server.ext"
  # Servers run as users of their own in their containers.
  chmod 644 "$server.key"
done
chmod 644 ./*.crt
echo "wrote $(pwd): ca.crt for clients (NODE_EXTRA_CA_CERTS), rabbitmq, redis, placement-api and console; keep ca.key to yourself"
