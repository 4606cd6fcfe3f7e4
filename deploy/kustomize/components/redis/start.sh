exec redis-server /etc/redis/redis.conf - <<EOF
requirepass "$(sed 's/[\\"]/\\&/g' /run/secrets/redis/password)"
EOF
