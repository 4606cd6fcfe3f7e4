import { type Message, orderOf, timeOf } from '../../src/sink/index.ts'
import type { Mode, SlackRoute } from './config.ts'

/** A message, its place in the batch, and how it is told. */
export interface Item {
  place: number
  message: Message<SlackRoute>
  mode: Mode
  /** Where it belongs, unless each message stands alone. */
  key: string | undefined
  over: boolean
}

/** What is sent at once: one message, or several states of which only the newest is shown. */
export type Unit = Item[]

/**
 * In `update` mode, states of one group that follow each other are one update, up to one that ends it. Nothing passes an
 * earlier message of its own object.
 */
export function unitsOf(items: readonly Item[]): Unit[] {
  const units: Unit[] = []
  const openOf = new Map<string, number>()
  const lastOf = new Map<string, number>()
  for (const item of items) {
    const uid = orderOf(item.message)
    const open = item.mode === 'update' && item.key !== undefined ? openOf.get(item.key) : undefined
    const fits = open !== undefined && (lastOf.get(uid) ?? -1) <= open
    const at = fits ? open : units.length
    if (fits) units[at]?.push(item)
    else units.push([item])
    lastOf.set(uid, at)
    if (item.key === undefined) continue
    if (item.over) openOf.delete(item.key)
    else openOf.set(item.key, at)
  }
  return units
}

export interface DigestRule {
  /** In milliseconds. */
  after: number
  waiting: number
}

/** Is it time to tell them together: more wait than should, or have waited for too long, than can be sent now? */
export function isDigestDue(
  units: readonly Unit[],
  rule: DigestRule | false,
  free: number,
  nowMs: number,
): boolean {
  if (rule === false || units.length < 2 || units.length <= free) return false
  if (units.length > rule.waiting) return true
  const oldestMs = Math.min(...units.flat().map(({ message }) => Date.parse(timeOf(message)) || nowMs))
  return nowMs - oldestMs > rule.after
}
