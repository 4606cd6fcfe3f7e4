import type { Message, Outcome, Sink } from '../../src/sink/index.ts'
import type { KafkaConfig, KafkaRoute } from './config.ts'
import type { Retry } from './errors.ts'
import { destinationOf, type KafkaRecord, recordOf } from './format.ts'
import { partitionOf } from './kafkajs.ts'
import type { PartitionQueues, Submission } from './partition-queues.ts'

import type { Topics, TopicView } from './topics.ts'

type Deliver = Sink<KafkaRoute>['deliver']

interface DeliverParts {
  config: KafkaConfig
  topics: Topics
  pipes: PartitionQueues
  /** Maps a failure to fetch a topic's metadata to an outcome. */
  faultOf(error: unknown): Outcome
}

/** How long after a stop acknowledgements are still accepted; the core waits 1 s. */
const LAST_ANSWERS_MS = 700

interface Ready extends Place {
  /** Names of the message's object and of its key. */
  readonly names: readonly string[]
  readonly record: KafkaRecord
  readonly compacted: boolean
}

/** message ─▶ topic and key ─▶ partition ─▶ the partition's pipe ─▶ outcome */
export function createDeliver({ config, topics, pipes, faultOf }: DeliverParts): Deliver {
  async function deliver(batch: readonly Message<KafkaRoute>[], signal: AbortSignal): Promise<Outcome[]> {
    const outcomes = new Array<Outcome>(batch.length)
    /** Objects and keys with something that has to be tried again: nothing of theirs may overtake it. */
    const blocked = new Map<string, Outcome>()
    const views = new Map<string, TopicView | Outcome>()
    const answer = (index: number, outcome: Outcome, names: readonly string[]) => {
      outcomes[index] = outcome
      if (outcome.kind === 'retry' || outcome.kind === 'later')
        for (const name of names) blocked.set(name, outcome)
    }

    async function viewOf(topic: string, compacted: boolean): Promise<TopicView | Outcome> {
      const known = views.get(topic)
      if (known) return known
      const view = await unlessStopped(topics.get(topic, compacted).catch(faultOf), signal)
      views.set(topic, view)
      return view
    }

    const ready: Ready[] = []
    for (const [index, message] of batch.entries()) {
      const { uid } = message.event
      const place = destinationOf(message, config)
      if ('kind' in place) {
        answer(index, place, [uid])
        continue
      }
      const { topic, key, state: compacted } = place
      const names = [uid, `${topic}/${key}`]
      const view = blockedBy(blocked, names) ?? (await viewOf(topic, compacted))
      if ('kind' in view) answer(index, view, names)
      else {
        const record = recordOf(message, place)
        ready.push({
          index,
          uid,
          names,
          topic,
          key,
          compacted,
          record,
          partition: partitionOf(record.key, view.partitions),
        })
      }
    }

    for (const round of sequentialBatches(ready)) {
      const groups = new Map<string, Ready[]>()
      for (const it of round) {
        const earlier = blockedBy(blocked, it.names)
        if (earlier) answer(it.index, earlier, it.names)
        else group(groups, `${it.topic}/${it.partition}`, it)
      }
      const sent = [...groups.values()].map((group) => {
        const [{ topic, partition, compacted }] = group as [Ready]
        return {
          group,
          submission: pipes.submit({ topic, partition, compacted }, group),
        }
      })
      const ends = await untilStopped(
        sent.map(({ submission }) => submission),
        signal,
      )
      for (const [i, { group }] of sent.entries())
        for (const [j, it] of group.entries()) answer(it.index, ends[i]?.[j] as Outcome, it.names)
    }
    return outcomes
  }
  return deliver
}

function blockedBy(
  blocked: ReadonlyMap<string, Outcome>,
  names: readonly string[],
): Retry | Outcome | undefined {
  const name = names.find((it) => blocked.has(it))
  const outcome = name === undefined ? undefined : blocked.get(name)
  if (outcome?.kind !== 'retry') return outcome
  const { ambiguous: _, ...unsent } = outcome
  return unsent
}

function group(groups: Map<string, Ready[]>, name: string, it: Ready): void {
  const known = groups.get(name)
  if (known) known.push(it)
  else groups.set(name, [it])
}

const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}

async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T | Outcome> {
  if (signal.aborted) return STOPPED
  const stopped = Promise.withResolvers<Outcome>()
  const stop = () => stopped.resolve(STOPPED)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Returns all outcomes; after a stop, those that are known LAST_ANSWERS_MS later. */
async function untilStopped(submissions: readonly Submission[], signal: AbortSignal): Promise<Outcome[][]> {
  const all = Promise.all(submissions.map(({ done }) => done))
  const late = Promise.withResolvers<void>()
  let timer: NodeJS.Timeout | undefined
  const stop = () => {
    for (const it of submissions) it.stop()
    timer = setTimeout(late.resolve, LAST_ANSWERS_MS)
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([all, late.promise])
    return submissions.map((it) => it.stop())
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** The destination of a message of a batch. */
interface Place {
  /** Its place in the batch. */
  readonly index: number
  readonly uid: string
  readonly topic: string
  readonly key: string
  readonly partition: number
}

/**
 * Parts a batch into rounds, to be sent one after the other. Nearly always it is one: partitions keep their own order. An
 * object whose key changed is in two partitions, and the later record has to wait for the earlier one.
 */
function sequentialBatches<P extends Place>(places: readonly P[]): P[][] {
  const rounds: P[][] = []
  const ofObject = new Map<string, { round: number; where: string }>()
  const ofKey = new Map<string, number>()
  for (const place of places) {
    const where = `${place.topic}/${place.partition}`
    const key = `${place.topic}/${place.key}`
    const before = ofObject.get(place.uid)
    const after = before ? (before.where === where ? before.round : before.round + 1) : 0
    const round = Math.max(after, ofKey.get(key) ?? 0)
    ofObject.set(place.uid, { round, where })
    ofKey.set(key, round)
    rounds[round] ??= []
    rounds[round].push(place)
  }
  return rounds
}
