import { idsIn, type Setup } from '../../../src/sink/testkit/index.ts'
import { startSlack } from '../../servers/slack.ts'

const ALWAYS = 1_000_000

/** A Slack that is in no hurry to say no. */
export const slackSetup: Setup = {
  patienceMs: 60_000,
  excused: {
    'health says that the peer is away': 'Slack may refuse messages and answer everything else',
    'two thousand deliveries leave nothing in memory':
      'at 50 a second that takes minutes; a row of the bench does it with digests',
  },
  async start() {
    const slack = await startSlack({ perSecond: 10_000, burst: 10_000 })
    slack.channel('events')
    return {
      options: {
        token: slack.token,
        apiUrl: slack.apiUrl,
        channel: '#events',
        mode: 'message',
        digest: false,
        rate: { perSecond: 50, burst: 50 },
        timeout: '2s',
      },
      received: () =>
        slack.calls
          .filter(({ method }) => method === 'chat.postMessage')
          .flatMap(({ args }) => idsIn(JSON.stringify(args)).slice(0, 1)),
      faults: {
        refuse: () => slack.fault({ method: 'chat.postMessage', error: 'internal_error', times: ALWAYS }),
        hang: () => slack.fault({ method: 'chat.postMessage', hang: 'before-headers', times: ALWAYS }),
        restore: () => slack.mend(),
      },
      forget() {
        slack.calls.length = 0
        slack.messages.length = 0
      },
      async stop() {
        await slack[Symbol.asyncDispose]()
      },
    }
  },
}
