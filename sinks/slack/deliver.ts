import {
  endsThread,
  type Message,
  type Outcome,
  orderOf,
  renderFault,
  StoreFault,
  threadGroupOf,
  timeOf,
} from '../../src/sink/index.ts'
import { type Mode, type SlackConfig, type SlackRoute, targetOf } from './config.ts'
import { formatDigest } from './format.ts'
import type { Poster } from './post.ts'
import { type Bucket, createRateSlots, type RateSlots } from './rate-limit.ts'
import { threadKey } from './thread-store.ts'
import type { ThreadDelivery } from './threads.ts'

interface DeliveryParts {
  config: SlackConfig
  poster: Poster
  threads: ThreadDelivery
  /** The limit of messages to a channel. */
  bucketOf(channel: string): Bucket
  now(): number
  onDigest(members: number): void
  onThrottled(): void
}

type Batch = readonly Message<SlackRoute>[]

/** The lane of a webhook, whose channel is unknown. */
const WEBHOOK = 'webhook'
/** Number of attempts from which an event may be why its digest fails: the lane then finds out which one is. */
const MOST_TOGETHER = 3

/** Delivers batches: each channel by itself, its messages in order. */
export function createDelivery(
  parts: DeliveryParts,
): (batch: Batch, signal: AbortSignal) => Promise<Outcome[]> {
  const { config, poster, threads } = parts

  async function deliverChannel(
    channel: string,
    units: Unit[],
    outcomes: Outcome[],
    signal: AbortSignal,
  ): Promise<void> {
    const slots = createRateSlots(signal)
    const bucket = parts.bucketOf(channel)
    const settle = (unit: Unit, outcome: Outcome) => {
      for (const [i, { place }] of unit.entries())
        outcomes[place] = i < unit.length - 1 && outcome.kind === 'delivered' ? DIGESTED : outcome
    }
    const digest = isDigestDue(units, config.digest, bucket.free(), parts.now())
    if (digest) {
      const members = units.flat().toSorted((a, b) => a.place - b.place)
      const outcome = await orFault(() => sendDigest(channel, members, slots))
      for (const { place } of members) outcomes[place] = outcome
      return
    }
    let stopped: Outcome | undefined
    const blocked = new Map<string, Outcome>()
    for (const unit of units) {
      const uids = unit.map(({ message }) => orderOf(message))
      const held = uids.map((uid) => blocked.get(uid)).find((it) => it !== undefined)
      const outcome = stopped ?? held ?? (await orFault(() => threads.deliver(channel, unit, slots)))
      settle(unit, outcome)
      if (outcome.kind !== 'retry' && outcome.kind !== 'later') continue
      for (const uid of uids) blocked.set(uid, unsent(outcome))
      if (stopped || held) continue
      stopped = afterFailure(outcome, channel, slots)
    }
  }

  /** Returns the outcome for the channel's remaining messages after a failure; undefined if they may be sent. */
  function afterFailure(outcome: Outcome, channel: string, slots: RateSlots): Outcome | undefined {
    if (outcome.kind === 'later')
      return slots.leftMs() > 0 && parts.bucketOf(channel).free() > 0 ? undefined : outcome
    if (outcome.kind !== 'retry') return undefined
    if (outcome.reason === 'rate-limited') {
      parts.onThrottled()
      if (outcome.scope === 'target') parts.bucketOf(channel).pause(outcome.afterMs ?? 1_000)
    }
    if (outcome.scope !== 'event') return unsent(outcome)
    // Another one would take as long.
    return outcome.reason === 'timeout' ? { kind: 'later', afterMs: 1_000 } : undefined
  }

  async function sendDigest(channel: string, members: readonly Item[], slots: RateSlots): Promise<Outcome> {
    const waitMs = await slots.slot(parts.bucketOf(channel))
    if (waitMs > 0) return { kind: 'later', afterMs: waitMs }
    const messages = members.map(({ message }) => message)
    const urgent = messages.filter(({ summary }) => summary.severity !== 'resolved')
    const mention = [...new Set(urgent.flatMap(({ route }) => route?.mention ?? []))].slice(0, 10)
    const sent = await poster.post(channel, formatDigest(messages, mention), slots.signal)
    if (sent.kind === 'failed') {
      afterFailure(sent.outcome, channel, slots)
      // At first it is the fault of none of its members: they come again together, not one by one.
      const isNew = messages.every(({ attempt }) => attempt < MOST_TOGETHER)
      return sent.outcome.kind === 'retry' && isNew ? { ...sent.outcome, scope: 'target' } : sent.outcome
    }
    parts.onDigest(members.length)
    await threads.noteDigest(channel, members)
    return DIGESTED
  }

  /** Groups items by channel; a message without one gets its outcome immediately. */
  function sorted(batch: Batch, outcomes: Outcome[]): Map<string, Item[]> {
    const channels = new Map<string, Item[]>()
    for (const [place, message] of batch.entries()) {
      try {
        const channel = channelOf(message, config)
        if (typeof channel !== 'string') {
          outcomes[place] = channel
          continue
        }
        const mode = config.url ? 'message' : (message.route?.mode ?? config.mode)
        const key =
          mode === 'message' ? undefined : threadKey(channel, threadGroupOf(message, config.groupBy))
        const item: Item = { place, message, mode, key, over: mode !== 'message' && endsThread(message) }
        const items = channels.get(channel)
        if (items) items.push(item)
        else channels.set(channel, [item])
      } catch (error) {
        outcomes[place] = faultOutcome(error)
      }
    }
    return channels
  }

  return async (batch, signal) => {
    const outcomes = new Array<Outcome>(batch.length)
    if (signal.aborted) return outcomes.fill(STOPPED)
    const channels = sorted(batch, outcomes)
    await Promise.all(
      [...channels].map(([channel, items]) => deliverChannel(channel, unitsOf(items), outcomes, signal)),
    )
    return outcomes
  }

  async function orFault(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work()
    } catch (error) {
      return faultOutcome(error)
    }
  }
}

/** Returns the channel of a message, or the outcome if it has none. Throws a TemplateFault. */
export function channelOf(message: Parameters<typeof targetOf>[0], config: SlackConfig): string | Outcome {
  if (config.url) {
    if (!message.route?.channel) return WEBHOOK
    const detail =
      'the rule names a channel, but the sink is a webhook and writes into its own: give it a token'
    return { kind: 'rejected', reason: 'config', detail }
  }
  const target = targetOf(message, config)
  return target.ok ? target.channel : { kind: 'rejected', reason: 'config', detail: target.detail }
}

/** The same for those that were not sent at all. */
function unsent(outcome: Outcome): Outcome {
  if (outcome.kind !== 'retry') return outcome
  const { ambiguous: _, ...rest } = outcome
  return rest
}

function faultOutcome(error: unknown): Outcome {
  const fault = renderFault(error)
  if (fault) return fault
  if (error instanceof StoreFault)
    return { kind: 'retry', reason: 'network', detail: error.message, scope: 'sink' }
  const { name, message } = (error ?? {}) as Error
  if (name === 'AbortError' || name === 'TimeoutError') return STOPPED
  return { kind: 'retry', reason: 'unknown', detail: String(message ?? error), scope: 'event' }
}

const DIGESTED: Outcome = { kind: 'delivered', note: 'digest' }

const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}

/** A message, its index in the batch, and its mode. */
export interface Item {
  place: number
  message: Message<SlackRoute>
  mode: Mode
  /** The key of its thread; undefined if the message is not threaded. */
  key: string | undefined
  over: boolean
}

/** Items sent with one call: one message, or several states of which only the newest is shown. */
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

interface DigestRule {
  /** In milliseconds. */
  after: number
  waiting: number
}

/**
 * Returns whether a digest is due: too many units wait, or one has waited too long, and they exceed the free rate.
 */
function isDigestDue(units: readonly Unit[], rule: DigestRule | false, free: number, nowMs: number): boolean {
  if (rule === false || units.length < 2 || units.length <= free) return false
  if (units.length > rule.waiting) return true
  const sinceMs = ({ message }: Item) => Date.parse(message.releasedAt ?? timeOf(message)) || nowMs
  return nowMs - Math.min(...units.flat().map(sinceMs)) > rule.after
}
