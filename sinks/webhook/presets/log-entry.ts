import { endOfLog, type Message, TemplateFault, type TemplateTree, timeOf } from '../../../src/sink/index.ts'
import { clean, partsOf, shortened } from './parts.ts'
import type { LogEntry } from './preset.ts'

/**
 * Returns the writer of entries for a log store: what `body` makes of an event, or a flat map with the same few keys for every event, so
 * that an index needs few fields. Objects are left out: their labels as keys would give fields types that conflict.
 */
export function entriesOf(body: TemplateTree | undefined, maxBytes: number): (message: Message) => LogEntry {
  return (message) => {
    const time = timeOf(message)
    if (!body) return { message, time, value: flatEntry(message) }
    const value = body.render(message)
    const bytes = Buffer.byteLength(JSON.stringify(value))
    if (bytes > maxBytes)
      throw new TemplateFault(`body: makes ${bytes} bytes; the service takes ${maxBytes} of one event`)
    return { message, time, value }
  }
}

/** Every text is cut, so that an entry has less than 200 KB whatever an object contains. */
function flatEntry(message: Message): Record<string, unknown> {
  const { event, rule, labels, notice, suppressed, replayed } = message
  const { about } = message.summary
  const parts = partsOf(message)
  return present({
    message: cut(parts.headline, 1_000),
    severity: parts.severity,
    cluster: cut(event.cluster, 253),
    namespace: cut(about.namespace ?? '', 253),
    kind: cut(about.kind, 253),
    name: cut(about.name, 253),
    rule,
    change: event.type,
    reason: cut(event.event?.reason ?? '', 253),
    count: event.event?.count ?? (notice?.kind === 'digest' ? notice.count : undefined),
    details: cut([parts.text, parts.quote].filter(Boolean).join('\n'), 8_000),
    logs: endOfLog(parts.logs, 16_000),
    changes: cut(parts.changes, 4_000),
    fields: lines(parts.fields),
    labels: lines(Object.entries(labels).map(([title, value]) => ({ title, value }))),
    suppressed: suppressed?.count,
    replayed,
    time: timeOf(message),
    id: cut(message.id, 1_000),
  })
}

function cut(text: string, most: number): string {
  return shortened(clean(text), most)
}

/** Returns the fields as lines `title: value` of one text: as fields of their own they would make new columns in the log store. */
function lines(fields: readonly { title: string; value: string }[]): string {
  return fields
    .slice(0, 20)
    .map(({ title, value }) => `${cut(title, 100)}: ${cut(value, 400)}`)
    .join('\n')
}

function present(entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([, it]) => it !== undefined && it !== ''))
}

/** Returns a map as it is, and anything else as its `message`: log stores take maps only. */
export function mapOf(value: unknown): Record<string, unknown> {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isMap) return value as Record<string, unknown>
  return { message: typeof value === 'string' ? value : JSON.stringify(value) }
}

/**
 * Returns the Unix time of an entry in milliseconds, no more than `oldestMs` ago: some stores refuse what is older. The entry itself
 * keeps its time.
 */
export function acceptedMs({ time }: Pick<LogEntry, 'time'>, nowMs: number, oldestMs: number): number {
  const ms = Date.parse(time)
  return Math.min(nowMs, Math.max(ms, nowMs - oldestMs))
}
