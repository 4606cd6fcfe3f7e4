import { median, pairs } from './pairs.ts'
import { measure, serve } from './processes.ts'
import type { Row } from './row.ts'

const MESSAGES = 5_000
const MOST = 1
/** What the fake takes. */
export const FAKE_TOKEN = 'xoxb-1111111111-fake-token-abcdef'

export const slackRow: Row = {
  name: 'slack-format',
  title: 'formatting a Slack message, from the delivery on / posting it to a Slack on loopback',
  async measure({ pairs: count }) {
    await using slack = await serve('./fake-slack.ts')
    const microseconds = async (side: 'format' | 'post') => {
      const args = [side, `${slack.url}/api/`, FAKE_TOKEN, String(MESSAGES)]
      return ((await measure('./format-loop.ts', ...args)).seconds / MESSAGES) * 1e6
    }
    const both = await pairs(
      count,
      () => microseconds('format'),
      () => microseconds('post'),
    )
    const ratio = median(both.map(({ a, b }) => a / b))
    return {
      ours: `${median(both.map(({ a }) => a)).toFixed(0)} µs`,
      yardstick: `${median(both.map(({ b }) => b)).toFixed(0)} µs`,
      ratio,
      target: `< ${MOST} ×`,
      met: ratio < MOST,
    }
  },
}
