import { createMask, type Health, type Sink, type SinkContext } from '../../src/sink/index.ts'
import { outcomeOfFault } from './answers.ts'
import type { EmailConfig, EmailRoute } from './config.ts'
import { SmtpFault } from './connection.ts'
import { createDelivery } from './deliver.ts'
import { createSessions } from './sessions.ts'

/** The core stops a call after 60 s: a mail that is under way then may have arrived, and would arrive again. */
const CALL_MS = 55_000

export function openEmail(config: EmailConfig, context: SinkContext): Sink<EmailRoute> {
  const { name, store, log, clock, userAgent, metrics } = context
  const { host, port, tls, auth, timeout: timeoutMs } = config
  const domain = config.from.address.slice(config.from.address.lastIndexOf('@') + 1)
  const sessions = createSessions({ host, port, tls, auth, domain, timeoutMs }, config.concurrency)
  const mask = createMask(secretsOf(config))
  const refused = metrics.counter(
    'refused_recipients_total',
    'Recipients that the server refused, one by one.',
  )
  return {
    deliver: createDelivery({
      name,
      config,
      sessions,
      store,
      log,
      userAgent,
      mask,
      now: () => clock.now(),
      // The last mail may need a session first.
      beginMs: CALL_MS - 2 * timeoutMs,
      callMs: CALL_MS,
      onRefused: refused,
    }),
    async health(signal): Promise<Health> {
      try {
        await sessions.run((session, stop) => session.probe(stop), signal)
        return { ok: true }
      } catch (error) {
        if (!(error instanceof SmtpFault)) throw error
        const { reason, detail } = outcomeOfFault(error, config)
        return { ok: false, reason, detail: mask(detail) }
      }
    },
    close: sessions.close,
  }
}

/** The password, also as AUTH PLAIN, LOGIN and servers' echoes write it. */
function secretsOf({ auth, tls }: EmailConfig): string[] {
  if (!auth) return tls.key === undefined ? [] : [tls.key]
  const { user, password } = auth
  const plain = [password, `\0${user}\0${password}`].map((it) => Buffer.from(it).toString('base64'))
  return [password, ...plain, ...(tls.key === undefined ? [] : [tls.key])]
}
