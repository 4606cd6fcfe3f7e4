import { setImmediate as turn } from 'node:timers/promises'
import { idsIn, type Setup } from '../../../src/sink/testkit/index.ts'
import { startSmtp } from '../../servers/smtp.ts'
import { partsOf } from '../email/mail.ts'

const PASSWORD = 'hunter2hunter2'

/** A mail server that, when it refuses, repeats what it got. */
export const emailSetup: Setup = {
  excused: {
    'two thousand deliveries leave nothing in memory':
      'twelve thousand mails take half a minute of processor time; faults.test.ts counts sessions and listeners',
  },
  async start() {
    const smtp = await startSmtp({ auth: { user: 'herald', password: PASSWORD } })
    const idOf = (raw: string) => idsIn(partsOf(raw).text)[0] ?? ''
    const base64 = Buffer.from(`\0herald\0${PASSWORD}`).toString('base64')
    return {
      options: {
        host: '127.0.0.1',
        port: smtp.port,
        tls: 'none',
        auth: { user: 'herald', password: PASSWORD },
        from: 'kubeherald@example.com',
        to: 'oncall@example.com',
        timeout: '2s',
      },
      secrets: [base64],
      received: () => smtp.mails.map(({ raw }) => idOf(raw)),
      faults: {
        refuse() {
          smtp.onStep((step) =>
            step === 'MAIL' || step === 'RSET'
              ? { answer: `451 4.3.2 not now, ${PASSWORD} ${base64}` }
              : undefined,
          )
        },
        hang: () =>
          smtp.onStep((step) =>
            step === 'END' || step === 'RSET' || step === 'EHLO' ? { hang: true } : undefined,
          ),
        refuseOne: (id) =>
          smtp.onStep((step, raw) =>
            step === 'END' && idOf(raw) === id ? { answer: '451 4.0.0 not this one' } : undefined,
          ),
        async restore() {
          smtp.onStep(undefined)
          await turn()
        },
      },
      forget() {
        smtp.mails.length = 0
        smtp.commands.length = 0
      },
      async stop() {
        const { violations } = smtp
        await smtp[Symbol.asyncDispose]()
        if (violations.length > 0) throw new Error(`against RFC 5321: ${[...new Set(violations)].join('; ')}`)
      },
    }
  },
}
