import * as z from 'zod'
import { type ActionTarget, type Message, printable, type SinkActions } from '../../src/sink/index.ts'
import type { Actions } from './action-options.ts'
import { type ActionsBlock, type Button, charactersOf, cutMarkup } from './markup.ts'

/** Ids of ours begin with it: another part of the app may have buttons of its own. */
const PREFIX = 'kubeherald_'
/** The maximum of Slack for a value, and ours for all buttons of a message together. */
const MAX_VALUE = 2_000
const MAX_URL = 3_000
const MAX_BUTTONS = 4_000

/** A click on a button asks for this. It is the value of the button, of which nothing is trusted when it comes back. */
export interface Request {
  sink: string
  cluster: string
  target: ActionTarget
  /** Duration of the silence; undefined: the button acknowledges. */
  forMs: number | undefined
}

/** The form of the value, whose names are short because a value is. */
const Value = z.strictObject({
  v: z.literal(1),
  s: z.string().min(1).max(256),
  c: z.string().min(1).max(256),
  r: z.string().min(1).max(1_000),
  k: z.string().regex(/^[A-Za-z][A-Za-z0-9]{0,62}$/),
  n: z.string().min(1).max(253).optional(),
  o: z.string().min(1).max(253),
  e: z.literal(1).optional(),
  f: z.int().positive().optional(),
})

function valueFor({ sink, cluster, target, forMs }: Request): string {
  const { rule, kind, namespace, name, isRegarded } = target
  return JSON.stringify({
    v: 1,
    s: sink,
    c: cluster,
    r: rule,
    k: kind,
    ...(namespace && { n: namespace }),
    o: name,
    ...(isRegarded && { e: 1 }),
    ...(forMs !== undefined && { f: forMs }),
  })
}

/** Reads the value of a button; undefined if it has not the form of ours. */
export function readValue(text: unknown): Request | undefined {
  if (typeof text !== 'string' || text.length > MAX_VALUE) return undefined
  try {
    const { s, c, r, k, n, o, e, f } = Value.parse(JSON.parse(text))
    const target = { rule: r, kind: k, namespace: n, name: o, isRegarded: e === 1 }
    return { sink: s, cluster: c, target, forMs: f }
  } catch {
    return undefined
  }
}

/** Whether a click is on one of our buttons, and more than a link that the reader's browser has opened. */
export function isOurs(actionId: string): boolean {
  return actionId.startsWith(PREFIX) && actionId !== `${PREFIX}history`
}

export function isOurBlock(blockId: unknown): boolean {
  return typeof blockId === 'string' && blockId.startsWith(PREFIX)
}

interface ButtonParts {
  sink: string
  actions: Pick<Actions, 'silence' | 'historyUrl'>
  of: SinkActions['of']
}

/** Returns the buttons of a message; undefined for a digest of several objects, for reports of kubeherald's own, and where names are too long for a value. */
export function buttonsOf(message: Message, { sink, actions, of }: ButtonParts): ActionsBlock | undefined {
  const target = targetOf(message)
  const offers = of(message.rule)
  if (!target || offers.length === 0) return undefined
  const { cluster } = message.event
  const button = (id: string, label: string, forMs?: number): Button => ({
    type: 'button',
    action_id: PREFIX + id,
    text: { type: 'plain_text', text: label },
    value: valueFor({ sink, cluster, target, forMs }),
  })
  const elements = [
    ...(offers.includes('acknowledge') ? [button('acknowledge', 'Acknowledge')] : []),
    ...(offers.includes('silence')
      ? actions.silence.map((ms, i) => button(`silence_${i}`, `Silence ${durationLabel(ms)}`, ms))
      : []),
    ...historyButton(actions.historyUrl, target),
  ]
  // What reads it back is the judge of what fits.
  const isReadable = elements.every((it) => 'url' in it || readValue(it.value) !== undefined)
  const block: ActionsBlock = { type: 'actions', block_id: `${PREFIX}actions`, elements }
  return elements.length > 0 && isReadable && charactersOf(block) <= MAX_BUTTONS ? block : undefined
}

function historyButton(historyUrl: string | undefined, { kind, namespace, name }: ActionTarget): Button[] {
  if (historyUrl === undefined) return []
  const path = [kind, namespace ?? '_', name].map(encodeURIComponent).join('/')
  const url = `${historyUrl}/objects/${path}`
  if (url.length > MAX_URL) return []
  const text = { type: 'plain_text', text: 'History' } as const
  return [{ type: 'button', action_id: `${PREFIX}history`, text, url }]
}

/** Returns the object that an Event is about; for a digest, the object that all of its events are about, if there is one. */
function targetOf({ rule, event, notice }: Message): ActionTarget | undefined {
  const target = targetOfEvent(rule, event)
  if (notice?.kind !== 'digest') return target
  const items = notice.items.map((it) =>
    targetOfEvent(rule, { ...it, ...(it.regarding && { event: { regarding: it.regarding } }) }),
  )
  const isOne = notice.count === items.length && items.every((it) => isSame(it, target))
  return isOne ? target : undefined
}

interface EventOfTarget {
  kind: string
  namespace?: string | undefined
  name: string
  event?: { regarding?: { kind?: string; namespace?: string; name?: string } } | undefined
}

function targetOfEvent(
  rule: string,
  { kind, namespace, name, event }: EventOfTarget,
): ActionTarget | undefined {
  if (!event?.regarding) return { rule, kind, namespace, name, isRegarded: false }
  const { regarding } = event
  if (!regarding.kind || !regarding.name) return undefined
  return {
    rule,
    kind: regarding.kind,
    namespace: regarding.namespace,
    name: regarding.name,
    isRegarded: true,
  }
}

function isSame(a: ActionTarget | undefined, b: ActionTarget | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** `1 h`, `90 min` */
export function durationLabel(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes % 1_440 === 0) return `${minutes / 1_440} d`
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`
}

/** `Pod shop/web-1` */
export function objectText({ kind, namespace, name }: ActionTarget): string {
  return printable(`${kind} ${namespace ? `${namespace}/` : ''}${name}`)
}

const MAX_NOTES = 3

/**
 * Returns the attachments of a message of ours, as Slack returned them with a click, with a note above the buttons; undefined if they are
 * not what we sent. Slack adds ids, which it does not take back.
 */
export function withNote(attachments: unknown, note: string): object[] | undefined {
  const parsed = Attachments.safeParse(attachments)
  if (!parsed.success) return undefined
  const [{ color, fallback, blocks }] = parsed.data
  const at = blocks.findIndex((it) => it['type'] === 'actions' && isOurBlock(it['block_id']))
  if (at < 0) return undefined
  const block = {
    type: 'context',
    block_id: `${PREFIX}note_${Date.now()}`,
    elements: [{ type: 'mrkdwn', text: cutMarkup(note, 500), verbatim: true }],
  }
  const notes = blocks.filter((it) => it['type'] === 'context' && isOurBlock(it['block_id']))
  const outdated = new Set(notes.slice(0, Math.max(0, notes.length - MAX_NOTES + 1)))
  const next = blocks.toSpliced(at, 0, block).filter((it) => !outdated.has(it))
  return [{ color: color.startsWith('#') ? color : `#${color}`, fallback, blocks: next }]
}

const Attachments = z.tuple([
  z.object({
    color: z.string().regex(/^#?[0-9A-Fa-f]{6}$/),
    fallback: z.string().max(3_000).default(''),
    blocks: z.array(z.record(z.string(), z.unknown())).max(45),
  }),
])
