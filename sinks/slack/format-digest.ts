import type { Message, Severity } from '../../src/sink/index.ts'
import { type Block, mrkdwn, type Rendered } from './blocks.ts'
import { LOOKS } from './format.ts'
import { bold, cutMarkup, cutText, dateOf, grouped, inMrkdwn, oneLine } from './markup.ts'

const ROWS = 10
const SAMPLES = 3
const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info', 'resolved']

/** Many messages as one: how many of what, and a few of them in words. Reads no templates: none can fail. */
export function formatDigest(batch: readonly Message[], mention: readonly string[] = []): Rendered {
  const groups = groupsOf(batch)
  const counts = SEVERITIES.map(
    (it) => [it, eventsIn(batch.filter(({ words }) => words.severity === it))] as const,
  )
  const worst = counts.find(([, n]) => n > 0)?.[0] ?? 'info'
  const times = batch.map(({ event }) => Date.parse(event.time)).filter(Number.isFinite)
  const firstMs = Math.min(...times)
  const lastMs = Math.max(...times)
  const span = times.length > 0 ? ` in ${spanText(lastMs - firstMs)}` : ''
  const cluster = inMrkdwn(oneLine((batch[0] as Message).event.cluster))
  const title = `${grouped(eventsIn(batch))} events${span}`
  const text = [LOOKS[worst].emoji, `[${cluster}]`, bold(title), ...mention].join(' ')
  const tally = counts.filter(([, n]) => n > 0).map(([it, n]) => `${LOOKS[it].emoji} ${grouped(n)}`)
  const samples = samplesOf(groups)
  const rules = [...new Set(batch.map(({ rule }) => rule))]
  const facts = [
    tally.join('  '),
    ...(times.length > 0 ? [`${dateOf(firstMs)} – ${dateOf(lastMs)}`] : []),
    `${rules.length === 1 ? 'rule' : 'rules'} ${cutMarkup(inMrkdwn(oneLine(rules.slice(0, 5).join(', '))), 300)}`,
    'came faster than this channel takes messages: told together',
  ]
  const blocks: Block[] = [
    {
      type: 'rich_text',
      elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: tableOf(groups) }] }],
    },
    { type: 'section', text: mrkdwn(samples.join('\n')) },
    { type: 'context', elements: [mrkdwn(facts.join(' · '))] },
  ]
  return {
    text,
    attachments: [{ color: LOOKS[worst].color, fallback: `[${cluster}] ${title}`, blocks }],
    plain: cutMarkup([text, inMrkdwn(tableOf(groups)), ...samples].join('\n'), 3_500),
    truncated: false,
  }
}

/** A digest of a rule stands for several. */
function eventsIn(batch: readonly Message[]): number {
  return batch.reduce((sum, { notice }) => sum + (notice?.kind === 'digest' ? notice.count : 1), 0)
}

interface Group {
  kind: string
  reason: string
  namespace: string
  members: Message[]
}

/** The largest first. */
function groupsOf(batch: readonly Message[]): Group[] {
  const groups = new Map<string, Group>()
  for (const message of batch) {
    const { about } = message.words
    const [kind, reason, namespace] = [about.kind, reasonOf(message), about.namespace ?? '']
    const key = JSON.stringify([kind, reason, namespace])
    const group = groups.get(key)
    if (group) group.members.push(message)
    else groups.set(key, { kind, reason, namespace, members: [message] })
  }
  return [...groups.values()].toSorted((a, b) => eventsIn(b.members) - eventsIn(a.members))
}

const CHANGES = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const

function reasonOf({ event, notice }: Message): string {
  if (notice?.kind === 'resolved') return 'resolved'
  return event.event?.reason || CHANGES[event.type]
}

function tableOf(groups: readonly Group[]): string {
  const cell = (text: string) => cutText(oneLine(text), 40) || '-'
  const rows = groups
    .slice(0, ROWS)
    .map((it) => [grouped(eventsIn(it.members)), cell(it.kind), cell(it.reason), cell(it.namespace)])
  const table = [['count', 'kind', 'reason', 'namespace'], ...rows]
  const widths = [0, 1, 2, 3].map((i) => Math.max(...table.map((row) => (row[i] as string).length)))
  const lines = table.map(([count = '', ...rest]) =>
    [count.padStart(widths[0] as number), ...rest.map((it, i) => it.padEnd(widths[i + 1] as number))]
      .join('  ')
      .trimEnd(),
  )
  const others = groups.slice(ROWS)
  if (others.length > 0) {
    const events = others.reduce((n, it) => n + eventsIn(it.members), 0)
    lines.push(`and ${grouped(others.length)} more (${grouped(events)} events)`)
  }
  return lines.join('\n')
}

/** The newest of the worst groups, each group once. */
function samplesOf(groups: readonly Group[]): string[] {
  const newest = groups.map(({ members }) => members.at(-1) as Message)
  return newest
    .toSorted((a, b) => SEVERITIES.indexOf(a.words.severity) - SEVERITIES.indexOf(b.words.severity))
    .slice(0, SAMPLES)
    .map(({ words }) => {
      const said = words.text ? `${words.title}: ${words.text}` : words.title
      return `${LOOKS[words.severity].emoji} ${cutMarkup(inMrkdwn(oneLine(said.slice(0, 1_000))), 300)}`
    })
}

function spanText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
