import { JSON_TYPE, writtenAs } from '../batch-format.ts'
import { targetFault } from './answers.ts'
import { clean } from './parts.ts'
import { type LogPreset, withPath } from './preset.ts'

/**
 * Codes of answers that the configuration causes, not the event: an index that is none of the token's (7), a token with indexer
 * acknowledgement, which needs a channel (10, 11).
 */
const TARGET_FAULT = /"code"\s*:\s*(7|10|11)\b/

/** The HTTP Event Collector of Splunk: events one after the other, as JSON. */
export const splunk: LogPreset = {
  markup: {},
  concurrency: 8,
  maxBytes: 800_000,
  batch: { max: 500, maxBytes: 800_000 },
  target: (base) => withPath(base, '/services/collector/event'),
  headers: ({ token = '' }) => ({ authorization: `Splunk ${token}` }),
  answer: (reply) => targetFault(reply, TARGET_FAULT),
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
