import type { Config } from '../../config/schema.ts'
import { suggest } from '../../config/suggest.ts'
import type { Fate, Later, Sent } from '../../dry-run/dry-run.ts'
import { sentLine, unsentLine } from '../../dry-run/lines.ts'
import type { Paint } from '../../dry-run/paint.ts'
import { type EventHeader, headerOf } from '../../event.ts'
import { printable, printableJson } from '../../printable.ts'
import { compileKinds } from '../../rules/kind.ts'
import { compilePatterns } from '../../rules/pattern.ts'
import { UsageError } from '../usage-error.ts'

export interface TailFilter {
  /** Also what goes nowhere. */
  all?: boolean
  rule?: string
  sink?: string
  kind?: string
  namespace?: string
}

export interface TailLinesOptions extends TailFilter {
  json?: boolean
  paint: Paint
  print(line: string): void
}

/** Prints what would be sent, a line for each event and destination; counts what passes its filters. */
export interface TailLines {
  fate(fate: Fate): void
  later(later: Later): void
  unreadable(error: unknown): void
  counts(): { events: number; sent: number }
}

export function createTailLines(options: TailLinesOptions): TailLines {
  const { paint, print, all = false, json = false } = options
  const isWanted = wantedBy(options)
  let events = 0
  let sent = 0

  function tell(it: Sent): void {
    const { rule, sink, event } = it.delivery
    if (!isWanted.event(event) || !isWanted.rule(rule) || !isWanted.sink(sink)) return
    sent++
    print(`${json ? printableJson(sentJson(it)) : sentLine(it, paint)}\n`)
  }

  return {
    fate(fate) {
      if (isWanted.event(fate.event)) events++
      for (const it of fate.sent) tell(it)
      if (!all || !isWanted.fate(fate)) return
      const line = json ? unsentJson(fate) : unsentLine(fate, paint)
      if (line !== undefined && line !== '')
        print(`${typeof line === 'string' ? line : printableJson(line)}\n`)
    },
    later: (later) => later.sent.forEach(tell),
    unreadable(error) {
      const { message = String(error) } = (error ?? {}) as Error
      process.stderr.write(`warning: an object cannot be read: ${printable(message)}\n`)
    },
    counts: () => ({ events, sent }),
  }
}

/** Names in arguments that the configuration does not have are mistakes. */
export function requireKnownNames({ rules, sinks }: Config, { rule, sink }: TailFilter): void {
  const check = (word: string, name: string | undefined, known: readonly { name: string }[]) => {
    const names = known.map((it) => it.name)
    if (name === undefined || names.includes(name)) return
    const hint = suggest(name, names, 'there are')
    throw new UsageError(`there is no ${word} "${name}"${hint ? `; ${hint}` : ''}`)
  }
  check('rule', rule, rules)
  check('sink', sink, sinks)
}

function wantedBy({ rule, sink, kind, namespace }: TailFilter) {
  const kinds = kind === undefined ? undefined : compileKinds(kind)
  if (kinds && !kinds.ok) throw new UsageError(`--kind ${kind}: ${kinds.faults[0]?.message ?? 'is no kind'}`)
  const namespaces = namespace === undefined ? undefined : compilePatterns([namespace])
  if (namespaces && !namespaces.ok) {
    const [fault] = namespaces.faults
    throw new UsageError(`--namespace ${namespace}: ${fault?.message}${fault?.hint ? `; ${fault.hint}` : ''}`)
  }
  return {
    rule: (name: string) => rule === undefined || name === rule,
    sink: (name: string) => sink === undefined || name === sink,
    event(event: Pick<EventHeader, 'kind' | 'apiVersion' | 'path'> & { namespace?: string | undefined }) {
      return (kinds?.value(namesOf(event)) ?? true) && (namespaces?.value(event.namespace ?? '') ?? true)
    },
    fate(fate: Fate) {
      const ofRule = rule === undefined || fate.rules.some((it) => it.rule === rule)
      const ofSink = sink === undefined || fate.rules.some((it) => it.sinks.includes(sink))
      return this.event(fate.event) && ofRule && ofSink
    },
  }
}

/** A header has no plural, but a path with it. */
function namesOf({ kind, apiVersion, path }: Pick<EventHeader, 'kind' | 'apiVersion' | 'path'>) {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return { kind, group, version: version ?? '', plural: path.split('/').at(-2) ?? '' }
}

function sentJson({ atMs, delivery, message }: Sent): object {
  const { sink, rule, event, notice, heldBack } = delivery
  return {
    time: new Date(atMs).toISOString(),
    sink,
    rule,
    ...(notice && { notice: notice.kind }),
    ...(heldBack && { heldBack }),
    ...contentJson(message),
    event,
  }
}

function contentJson(message: Sent['message']): object {
  try {
    const { severity, title, text } = message.content
    return { severity, title, text }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

function unsentJson({ atMs, event, rules, sent, counted }: Fate): object | undefined {
  const held = rules.filter(({ fate }) => fate !== 'sent' && fate !== 'taken')
  if (sent.length > 0 && held.length === 0) return undefined
  return { time: new Date(atMs).toISOString(), sink: null, counted, rules: held, event: headerOf(event) }
}
