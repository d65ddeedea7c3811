#!/bin/sh
# Makes the certificates of the tests anew: an authority, a server on 127.0.0.1 that it vouches for, the same expired.
# The keys are for tests and open nothing.
set -eu
cd "$(dirname "$0")"
openssl ecparam -name prime256v1 -genkey -noout -out authority.key
openssl req -x509 -new -key authority.key -subj "/CN=greeksd test authority" -days 36500 -out authority.pem \
    -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign"
openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out server.key
openssl req -new -key server.key -subj "/CN=127.0.0.1" -out server.csr
printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n' > server.ext
sign() { openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -extfile server.ext "$@"; }
sign -days 36500 -out server.pem
mkdir -p ca && : > ca/index.txt && echo 01 > ca/serial
cat > ca/ca.cnf <<'C'
[ca]
default_ca = own
[own]
dir = ca
database = ca/index.txt
new_certs_dir = ca
serial = ca/serial
default_md = sha256
policy = any
[any]
commonName = supplied
C
openssl ca -batch -config ca/ca.cnf -cert authority.pem -keyfile authority.key -in server.csr -extfile server.ext \
    -startdate 20200101000000Z -enddate 20200201000000Z -notext -out expired.pem
rm -rf ca server.csr server.ext authority.key authority.srl
