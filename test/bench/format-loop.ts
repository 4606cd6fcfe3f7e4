import { request } from 'undici'
import { formatMessage } from '../../sinks/slack/format.ts'
import slack from '../../sinks/slack/index.ts'
import { createRender } from '../../src/render/message.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { benchDelivery } from './pod.ts'

// One side of the Slack row. Arguments: format or post, Slack's API, its token, how many. Prints the seconds.
const [side = '', apiUrl = '', token = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)
const render = createRender({
  routeOf: () => ({}),
  contentOf: ({ summary }) => contentOfSummary(summary, slack.escape),
})
const deliveries = Array.from({ length: 500 }, (_, i) => benchDelivery(i))
/** From the delivery on, as the lanes do it: words, content, blocks, and the form that is posted. */
const formOf = (i: number) => {
  const { text, attachments } = formatMessage(render(deliveries[i % deliveries.length]!, 0))
  return new URLSearchParams({
    channel: '#events',
    text,
    attachments: JSON.stringify(attachments),
  }).toString()
}
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' }

async function post(body: string): Promise<void> {
  const answer = await request(`${apiUrl}chat.postMessage`, { method: 'POST', headers, body })
  const { ok } = (await answer.body.json()) as { ok: boolean }
  if (!ok) throw new Error('Slack did not take it')
}

const forms = Array.from({ length: 500 }, (_, i) => formOf(i))
for (const form of forms.slice(0, 50)) await post(form)
const startedMs = performance.now()
for (let i = 0; i < count; i++) {
  if (side === 'format') formOf(i)
  else await post(forms[i % forms.length] as string)
}
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)
