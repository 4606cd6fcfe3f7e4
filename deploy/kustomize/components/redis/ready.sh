REDISCLI_AUTH="$(cat /run/secrets/redis/password)" redis-cli ping 2>&1 | grep -Eq '^(PONG|NOAUTH|MISCONF)'
