import { type Message, type Outcome, orderOf, TemplateFault } from '../../src/sink/index.ts'
import type { Bucket } from './bucket.ts'
import { targetOf } from './channel.ts'
import type { SlackConfig, SlackRoute } from './config.ts'
import { formatDigest } from './format-digest.ts'
import type { Poster } from './post.ts'
import type { Telling } from './tell.ts'
import { groupOf, isOver, StoreFault, threadKey } from './thread.ts'
import { createTurn, type Turn } from './turn.ts'
import { type Item, isDigestDue, type Unit, unitsOf } from './units.ts'

export interface DeliveryParts {
  config: SlackConfig
  poster: Poster
  telling: Telling
  /** The limit of messages to a channel. */
  bucketOf(channel: string): Bucket
  now(): number
  onDigest(members: number): void
  onThrottled(): void
}

type Batch = readonly Message<SlackRoute>[]

/** The webhook's own, which it does not tell. */
const WEBHOOK = 'webhook'

/** Delivers batches: each channel by itself, its messages in order. */
export function createDelivery(
  parts: DeliveryParts,
): (batch: Batch, signal: AbortSignal) => Promise<Outcome[]> {
  const { config, poster, telling } = parts

  async function deliverChannel(
    channel: string,
    units: Unit[],
    outcomes: Outcome[],
    signal: AbortSignal,
  ): Promise<void> {
    const turn = createTurn(signal)
    const bucket = parts.bucketOf(channel)
    const settle = (unit: Unit, outcome: Outcome) => {
      for (const [i, { place }] of unit.entries())
        outcomes[place] = i < unit.length - 1 && outcome.kind === 'delivered' ? DIGESTED : outcome
    }
    const digest = isDigestDue(units, config.digest, bucket.free(), parts.now())
    if (digest) {
      const members = units.flat().toSorted((a, b) => a.place - b.place)
      const outcome = await orFault(() => sendDigest(channel, members, turn))
      for (const { place } of members) outcomes[place] = outcome
      return
    }
    let stopped: Outcome | undefined
    const blocked = new Map<string, Outcome>()
    for (const unit of units) {
      const uids = unit.map(({ message }) => orderOf(message))
      const held = uids.map((uid) => blocked.get(uid)).find((it) => it !== undefined)
      const outcome = stopped ?? held ?? (await orFault(() => telling.tell(channel, unit, turn)))
      settle(unit, outcome)
      if (outcome.kind !== 'retry' && outcome.kind !== 'later') continue
      for (const uid of uids) blocked.set(uid, unsent(outcome))
      if (stopped || held) continue
      stopped = whatFollows(outcome, channel, turn)
    }
  }

  /** What the rest of the channel's messages get, when one fails so; undefined when they may go on. */
  function whatFollows(outcome: Outcome, channel: string, turn: Turn): Outcome | undefined {
    if (outcome.kind === 'later')
      return turn.leftMs() > 0 && parts.bucketOf(channel).free() > 0 ? undefined : outcome
    if (outcome.kind !== 'retry') return undefined
    if (outcome.reason === 'rate-limited') {
      parts.onThrottled()
      if (outcome.scope === 'target') parts.bucketOf(channel).pause(outcome.afterMs ?? 1_000)
    }
    if (outcome.scope !== 'event') return unsent(outcome)
    // Another one would take as long.
    return outcome.reason === 'timeout' ? { kind: 'later', afterMs: 1_000 } : undefined
  }

  async function sendDigest(channel: string, members: readonly Item[], turn: Turn): Promise<Outcome> {
    const waitMs = await turn.slot(parts.bucketOf(channel))
    if (waitMs > 0) return { kind: 'later', afterMs: waitMs }
    const messages = members.map(({ message }) => message)
    const urgent = messages.filter(({ words }) => words.severity !== 'resolved')
    const mention = [...new Set(urgent.flatMap(({ route }) => route?.mention ?? []))].slice(0, 10)
    const sent = await poster.post(channel, formatDigest(messages, mention), turn.signal)
    if (sent.kind === 'failed') {
      whatFollows(sent.outcome, channel, turn)
      return sent.outcome
    }
    parts.onDigest(members.length)
    await telling.noteDigest(channel, members)
    return DIGESTED
  }

  /** By channel; what has none is answered at once. */
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
        const key = mode === 'message' ? undefined : threadKey(channel, groupOf(message, config.groupBy))
        const item: Item = { place, message, mode, key, over: mode !== 'message' && isOver(message) }
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

/** The channel of a message, or why it has none. Throws a TemplateFault. */
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
  if (error instanceof TemplateFault) return { kind: 'rejected', reason: 'render', detail: error.message }
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
