REDISCLI_AUTH="$(cat /run/secrets/redis/password)" redis-cli -e ping
