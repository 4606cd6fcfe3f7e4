import { median, pairs, perSecond } from './pairs.ts'
import { measure, serve } from './processes.ts'
import type { Row } from './row.ts'

const POSTS = 20_000
const LEAST = 0.6

export const webhookSinkRow: Row = {
  name: 'webhook-sink',
  title: 'the webhook sink alone, rendering and signing / a bare loop that signs the same bodies',
  async measure(context) {
    await using hook = await serve('./hook.ts')
    const rate = async (mode: 'sink' | 'bare') =>
      POSTS / (await measure('./sign-loop.ts', mode, hook.url, String(POSTS))).seconds
    const rates = await pairs(
      context.pairs,
      () => rate('sink'),
      () => rate('bare'),
    )
    const ratio = median(rates.map(({ a, b }) => a / b))
    return {
      ours: perSecond(median(rates.map(({ a }) => a))),
      yardstick: perSecond(median(rates.map(({ b }) => b))),
      ratio,
      target: `≥ ${LEAST} ×`,
      met: ratio >= LEAST,
    }
  },
}
