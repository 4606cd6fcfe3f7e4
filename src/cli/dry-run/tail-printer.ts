import type { EventResult, Sent, TimerResult } from '../../app/dry-run/dry-run.ts'
import type { EventHeader } from '../../model/event.ts'
import { headerOf } from '../../model/event.ts'
import { compileKinds } from '../../rules/kind.ts'
import { compilePatterns } from '../../rules/pattern.ts'
import { printable } from '../../text/printable.ts'
import { outputPaint } from '../output/colour.ts'
import { type OutputOptions, recordText } from '../output/format.ts'
import { UsageError } from '../usage-error.ts'
import { sentLine, unsentLine } from './terminal-text.ts'

/** Which events and deliveries `tail` shows. */
export interface TailFilter {
  /** Also events that are not sent. */
  all?: boolean
  rule?: string
  sink?: string
  kind?: string
  namespace?: string
}

/** Prints a line for each delivery that passes the filters, and counts them. */
export interface Printer {
  event(result: EventResult): void
  timer(result: TimerResult): void
  unreadable(error: unknown): void
  counts(): { events: number; sent: number }
}

export function createPrinter(
  options: TailFilter & OutputOptions,
  { passes, print }: { passes: EventFilter; print(text: string): void },
): Printer {
  const { rule, sink, output, all = false } = options
  const paint = outputPaint()
  let events = 0
  let sent = 0

  function printSent(it: Sent): void {
    const { delivery } = it
    const isWanted = (rule ?? delivery.rule) === delivery.rule && (sink ?? delivery.sink) === delivery.sink
    if (!isWanted || !passes(delivery.event)) return
    sent++
    print(output === 'table' ? `${sentLine(it, paint)}\n` : recordText(sentData(it), output))
  }

  return {
    event(result) {
      const isWanted = passes(result.event)
      if (isWanted) events++
      for (const it of result.sent) printSent(it)
      const ofRule = rule === undefined || result.rules.some((it) => it.rule === rule)
      const ofSink = sink === undefined || result.rules.some((it) => it.sinks.includes(sink))
      if (!all || !isWanted || !ofRule || !ofSink) return
      if (output === 'table') {
        const line = unsentLine(result, paint)
        if (line) print(`${line}\n`)
        return
      }
      const unsent = unsentData(result)
      if (unsent) print(recordText(unsent, output))
    },
    timer: (result) => result.sent.forEach(printSent),
    unreadable(error) {
      const { message = String(error) } = (error ?? {}) as Error
      process.stderr.write(`warning: an object cannot be read: ${printable(message)}\n`)
    },
    counts: () => ({ events, sent }),
  }
}

type EventNames = Pick<EventHeader, 'kind' | 'apiVersion' | 'path'> & { namespace?: string | undefined }

export type EventFilter = (event: EventNames) => boolean

/** Compiles `--kind` and `--namespace`. Throws `UsageError` for invalid ones. */
export function eventFilter({ kind, namespace }: TailFilter): EventFilter {
  const kinds = kind === undefined ? undefined : compileKinds(kind)
  if (kinds && !kinds.ok)
    throw new UsageError(`--kind ${kind}: ${kinds.faults[0]?.message ?? 'is not a kind'}`)
  const namespaces = namespace === undefined ? undefined : compilePatterns([namespace])
  if (namespaces && !namespaces.ok) {
    const [fault] = namespaces.faults
    throw new UsageError(`--namespace ${namespace}: ${fault?.message}${fault?.hint ? `; ${fault.hint}` : ''}`)
  }
  return (event) => {
    const [group = '', version = ''] = event.apiVersion.includes('/')
      ? event.apiVersion.split('/')
      : ['', event.apiVersion]
    // A header has the plural only in its path.
    const names = { kind: event.kind, group, version, plural: event.path.split('/').at(-2) ?? '' }
    return (kinds?.value(names) ?? true) && (namespaces?.value(event.namespace ?? '') ?? true)
  }
}

function sentData({ atMs, delivery, message }: Sent): object {
  const { sink, rule, event, notice, suppressed } = delivery
  return {
    time: new Date(atMs).toISOString(),
    sink,
    rule,
    ...(notice && { notice: notice.kind }),
    ...(suppressed && { suppressed }),
    ...contentData(message),
    event,
  }
}

function contentData(message: Sent['message']): object {
  try {
    const { severity, title, text } = message.content
    return { severity, title, text }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

function unsentData({ atMs, event, rules, sent, counted }: EventResult): object | undefined {
  const unsent = rules.filter(({ outcome }) => outcome !== 'sent' && outcome !== 'taken')
  if (sent.length > 0 && unsent.length === 0) return undefined
  return { time: new Date(atMs).toISOString(), sink: null, counted, rules: unsent, event: headerOf(event) }
}
