import { freePort } from '../../servers/ports.ts'
import { type SmtpAnswer, type SmtpStep, startSmtp } from '../../servers/smtp.ts'
import { startTcpProxy } from '../../servers/tcp-proxy.ts'
import { partsOf } from '../email/mail.ts'
import type { FaultName, Peer } from './peer.ts'

const FAULTS: Partial<Record<FaultName, [step: SmtpStep, answer: SmtpAnswer]>> = {
  refuses: ['MAIL', { answer: '451 4.3.2 system is not accepting messages' }],
  hangs: ['END', { hang: true }],
  'cuts mid-answer': ['END', { cut: true }],
  throttles: ['MAIL', { answer: '421 4.7.0 too many messages, try again later' }],
}

/** A mail server behind a proxy. */
export async function startEmailPeer(): Promise<Peer> {
  const password = 'the-right-password'
  const smtp = await startSmtp({ auth: { user: 'herald', password } })
  const proxy = await startTcpProxy(smtp.port)
  const optionsWith = (password: string) => ({
    host: '127.0.0.1',
    port: proxy.port,
    tls: 'none',
    auth: { user: 'herald', password },
    from: 'kubeherald@example.com',
    to: 'oncall@example.com',
    timeout: '1s',
  })
  return {
    type: 'email',
    options: () => optionsWith(password),
    wrongOptions: () => optionsWith('a-wrong-password'),
    async begin(fault) {
      if (fault === 'unreachable') {
        proxy.retarget(await freePort())
        proxy.cut()
      }
      const [step, answer] = FAULTS[fault] ?? []
      if (answer) smtp.onStep((it) => (it === step ? answer : undefined))
    },
    mend() {
      proxy.retarget(smtp.port)
      smtp.onStep(undefined)
    },
    took: async () =>
      smtp.mails.map(({ raw }) => {
        const [, name, version] =
          /uid-(?:of-)?(\w+)\/(\d+)\//.exec(partsOf(raw).headers['x-kubeherald-id'] ?? '') ?? []
        return `${name}@${version}`
      }),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}
