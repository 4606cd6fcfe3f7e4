import type { Reply } from '../../../src/sink/index.ts'
import { JSON_TYPE, writtenAs } from '../batch-format.ts'
import { clean } from './parts.ts'
import { withPath } from './paths.ts'
import type { LogPreset } from './preset.ts'

/** Codes of answers that the configuration causes, not the event: the index that is named is none of the token's. */
const INCORRECT_INDEX = 7

/** The HTTP Event Collector of Splunk: events one after the other, as JSON. */
export const splunk: LogPreset = {
  markup: {},
  concurrency: 8,
  maxBytes: 800_000,
  batch: { max: 500, maxBytes: 800_000 },
  target: (base) => withPath(base, '/services/collector/event'),
  headers: ({ token = '' }) => ({ authorization: `Splunk ${token}` }),
  answer: incorrectIndex,
  format: ({ index }) => ({
    part({ message, time, value }) {
      const event = {
        time: Date.parse(time) / 1_000,
        host: clean(message.event.cluster),
        source: 'kubeherald',
        sourcetype: '_json',
        ...(index && { index: index.render(message) }),
        event: value,
      }
      return { bytes: Buffer.from(JSON.stringify(event)) }
    },
    body: (items) => writtenAs(JSON_TYPE, items, { before: '', separator: '\n', after: '' }),
  }),
}

function incorrectIndex({ status, body }: Reply) {
  if (status !== 400 || Number(/"code"\s*:\s*(\d+)/.exec(body)?.[1]) !== INCORRECT_INDEX) return undefined
  const detail = `HTTP 400: ${body.slice(0, 500)}`
  return { kind: 'retry', reason: 'config', detail, scope: 'sink' } as const
}
