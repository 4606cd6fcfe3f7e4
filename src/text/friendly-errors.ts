import { cutText } from './redact.ts'

const at = (address?: string) => (address ? `at ${address}` : 'there')
const to = (address?: string) => (address ? ` to ${address}` : '')
const ADDRESS = '(?: ([^\\s(),]+))?'

/** Faults as libraries describe them, and their meaning for an operator. */
const REWRITES: readonly (readonly [
  said: RegExp,
  means: string | ((match: string, address?: string) => string),
])[] = [
  [/Stream isn't writeable and enableOfflineQueue options is false\.?/, 'no connection'],
  [/Reached the max retries per request limit.{0,200}?details\./, 'no connection'],
  [/Connection is closed\.?/, 'no connection'],
  [/Command aborted due to connection close\.?/, 'the connection broke'],
  [/Command timed out\.?|Socket timeout\. .{0,200}?ms\./, 'no answer in time'],
  [/OOM command not allowed.*/, 'Redis is full (OOM)'],
  [/MISCONF .*/, 'Redis cannot write its data to disk and refuses writes (MISCONF); its log has the cause'],
  [/READONLY .*/, 'this Redis is a replica and refuses writes (READONLY)'],
  [/LOADING .*/, 'Redis is reading its data (LOADING)'],
  [/NOREPLICAS .*/, 'Redis has too few replicas and refuses writes (NOREPLICAS)'],
  [/MASTERDOWN .*/, 'this Redis is a replica without its master (MASTERDOWN)'],
  [/CLUSTERDOWN .*/, 'the Redis Cluster is down (CLUSTERDOWN)'],
  [
    /MOVED \d+ (\S+)/,
    (_, address) => `the keys are on another node of the Redis Cluster now (MOVED to ${address})`,
  ],
  [/(?:ASK|TRYAGAIN) .*/, 'the keys are being moved to another node of the Redis Cluster (ASK)'],
  [/NOAUTH .*/, 'Redis requires a password and was given none'],
  [/WRONGPASS .*/, 'Redis does not accept the user and password of the configuration'],
  [
    /NOPERM [^']{0,200}'([\w|]+)' command.*/,
    (_, command) => `the user of Redis may not run ${command?.toUpperCase()} (NOPERM)`,
  ],
  [/NOPERM .*/, 'the user of Redis lacks a permission (NOPERM)'],
  [new RegExp(`(?:connect )?ECONNREFUSED${ADDRESS}`), (_, address) => `nobody listens ${at(address)}`],
  [
    new RegExp(`(?:getaddrinfo )?(?:ENOTFOUND|EAI_AGAIN)${ADDRESS}`),
    (_, name) => `the name ${name ? `${name} ` : ''}cannot be resolved`,
  ],
  [
    new RegExp(`(?:connect )?(?:EHOSTUNREACH|ENETUNREACH)${ADDRESS}`),
    (_, address) => `no route${to(address)}`,
  ],
  [new RegExp(`(?:connect )?ETIMEDOUT${ADDRESS}`), (_, address) => `no connection${to(address)} in time`],
  [
    /Connect Timeout Error(?: \(attempted address(?:es)?: ([^,)]+)[^)]*\))?|UND_ERR_CONNECT_TIMEOUT/,
    (_, address) => `no connection${to(address)} in time`,
  ],
  [/(?:Headers|Body) Timeout Error|UND_ERR_(?:HEADERS|BODY)_TIMEOUT/, 'no answer in time'],
  [/The operation was aborted due to timeout/, 'no answer in time'],
  [/(?:(?:read|write) )?(?:ECONNRESET|EPIPE)|UND_ERR_SOCKET/, 'the connection broke'],
  [/other side closed|socket hang up|^terminated$/, 'the connection broke'],
  [/Client network socket disconnected before secure TLS.*/, 'the connection broke while TLS began'],
  [
    /DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|self-signed certificate(?: in certificate chain)?/,
    'the TLS certificate is self-signed',
  ],
  [
    /UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT\w*)|unable to (?:verify the first|get (?:local )?issuer) certificate/,
    'the TLS certificate is of an authority that is not known here',
  ],
  [/CERT_HAS_EXPIRED|certificate has expired/, 'the TLS certificate has expired'],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID|Hostname\/IP does not match certificate's altnames.*/,
    'the TLS certificate is for another host name',
  ],
  [
    /^.*?(?:alert certificate required|ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED|bad certificate, no certificate).*$/s,
    'the other side asks for a client certificate',
  ],
  [/^.*?alert unknown ca.*$/s, 'the other side does not know the authority of the client certificate'],
  [
    /^.*?alert (?:bad certificate|certificate expired|certificate unknown).*$/s,
    'the other side refuses the client certificate',
  ],
  [/no answer to the TLS handshake/, 'it does not answer the TLS handshake'],
  [/Protocol error, got .{0,50}? as reply type byte.*/s, 'it does not speak the protocol of Redis'],
  [/(?:write )?EPROTO.*|ERR_SSL_\w+/, 'the other side does not speak TLS'],
]

/** Replaces the phrases of libraries in a fault; unknown text stays as it is. */
export function friendlyError(text: string): string {
  let plain = cutText(text.trim())
  for (const [said, means] of REWRITES) plain = plain.replace(said, means as string)
  return plain || 'the connection failed'
}
