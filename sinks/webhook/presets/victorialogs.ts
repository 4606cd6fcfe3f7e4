import { LINES, NDJSON, writtenAs } from '../batch-format.ts'
import { mapOf } from './log-entry.ts'
import { type LogPreset, withPath } from './preset.ts'

/** The JSON stream API of VictoriaLogs. It answers 200 and drops a line that is too long, so none is. */
export const victorialogs: LogPreset = {
  markup: {},
  concurrency: 8,
  // A line must have at most 256 KiB (`-insert.maxLineSizeBytes`).
  maxBytes: 250_000,
  batch: { max: 1_000, maxBytes: 4_000_000 },
  target(base) {
    const url = withPath(base, '/insert/jsonline')
    const parameters = {
      _stream_fields: 'cluster,namespace,rule',
      _time_field: 'time',
      _msg_field: 'message',
    }
    for (const [name, value] of Object.entries(parameters))
      if (!url.searchParams.has(name)) url.searchParams.set(name, value)
    return url
  },
  format: () => ({
    part: ({ value, time }) => ({ bytes: Buffer.from(JSON.stringify({ time, ...mapOf(value) })) }),
    body: (items) => writtenAs(NDJSON, items, LINES),
  }),
}
