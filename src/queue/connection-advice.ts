import { inPlainWords } from '../plain-words.ts'
import { NO_TLS } from './tls.ts'

/** What is wrong, and what to write into the configuration where the reason tells; `where` is the part of it that counts. */
export function explain(reason: string, { secure = false, where = 'redis' } = {}): string {
  const advice = adviceFor(reason, secure)?.replaceAll('redis.', `${where}.`)
  return inPlainWords(reason) + (advice === undefined ? '' : `; ${advice}`)
}

function adviceFor(reason: string, secure: boolean): string | undefined {
  const advice = ADVICE.find(([said]) => said.test(reason))?.[1]
  if (advice || secure || !BROKE.test(reason)) return advice
  return 'if that port speaks TLS, write rediss://, or redis.tls: true'
}

/** What a server does that was not greeted in its language. */
const BROKE = /ECONNRESET|EPIPE|Connection is closed|connection close|^no answer$/

const ADVICE: readonly (readonly [said: RegExp, advice: string])[] = [
  [
    /self-signed certificate|SELF_SIGNED_CERT|unable to (verify the first|get (local )?issuer) certificate|UNABLE_TO_/,
    `redis.tls.ca must hold the certificate of its authority, such as "\${file:/etc/redis/ca.crt}"`,
  ],
  [/altnames|ALTNAME/, 'if it is the right server, write the name of its certificate: redis.tls.servername'],
  [/certificate has expired|CERT_HAS_EXPIRED/, 'give the server a new one'],
  [/certificate required/, 'give it one: redis.tls.cert and redis.tls.key'],
  [/alert unknown ca/, 'redis.tls.cert must be issued by an authority that the server knows'],
  [
    new RegExp(`${NO_TLS}|wrong version number|packet length too long|EPROTO`),
    'for a port without TLS write redis:// and no redis.tls',
  ],
  [/^NOPERM .*'select'/, 'a database other than 0 needs it: ACL SETUSER … +select'],
  [/DB index is out of range/, 'the number after the address in redis.url is of no database that it has'],
  [
    /SELECT is not allowed in cluster mode/,
    'a Redis Cluster has database 0 only: write no number into redis.url',
  ],
  [/^Protocol error, got/, 'for a port with TLS write rediss://, or redis.tls: true'],
]
