import type { Logger, Mask } from '../../src/sink/index.ts'
import type { ClusterClient } from './client.ts'
import type { CreateTopics } from './config.ts'
import { outcomeOfFault, type Retry, Throttled, verdictOfCode } from './errors.ts'
import type { MetadataAnswer } from './kafkajs.ts'

/** The metadata of a topic. */
export interface TopicView {
  partitions: number
  /** The leader of each partition; -1 if there is none. */
  leaders: readonly number[]
  /** How many brokers the cluster has. */
  brokers: number
  learnedMs: number
}

/** The topic cannot be written to now. */
export class TopicFault extends Error {
  override name = 'TopicFault'
  readonly outcome: Retry
  /** It is not there. */
  readonly missing: boolean
  constructor(outcome: Retry, missing = false) {
    super(outcome.detail)
    this.outcome = outcome
    this.missing = missing
  }
}

interface TopicsOptions {
  wire: ClusterClient
  maxAgeMs: number
  createTopics: CreateTopics | undefined
  log: Logger
  clock: { now(): number }
  mask: Mask
}

/** Cached metadata of topics. */
export interface Topics {
  /** Throws a TopicFault, or an error of the client. A missing topic is created, compacted if `compacted` is set. */
  get(topic: string, compacted: boolean): Promise<TopicView>
  /** Drops cached metadata that has proved wrong. */
  forget(topic: string): void
  /** Drops the metadata of all topics with partitions of a broker that does not respond. */
  forgetLeader(leader: number): void
}

const MAX_TOPICS = 1_000
const CREATE_LIMIT_MS = 15_000
const LEADER_POLLS = 20
const LEADER_POLL_MS = 100

export function createTopics(options: TopicsOptions): Topics {
  const { wire, maxAgeMs, log, clock, mask } = options
  const views = new Map<string, TopicView>()
  const counts = new Map<string, number>()
  const asked = new Map<string, Promise<TopicView>>()

  async function get(topic: string, compacted: boolean): Promise<TopicView> {
    const known = views.get(topic)
    if (known && clock.now() - known.learnedMs < maxAgeMs) return known
    const already = asked.get(topic)
    if (already) return already
    const asking = learn(topic, compacted).finally(() => asked.delete(topic))
    asked.set(topic, asking)
    return asking
  }

  async function learn(topic: string, compacted: boolean): Promise<TopicView> {
    const found = await read(topic)
    if (!(found instanceof TopicFault)) return found
    if (!options.createTopics || !found.missing) throw found
    await create(topic, compacted, options.createTopics)
    for (let i = 0; i < LEADER_POLLS; i++) {
      const made = await read(topic)
      if (!(made instanceof TopicFault) && made.leaders.every((it) => it >= 0)) return made
      await new Promise((resolve) => setTimeout(resolve, LEADER_POLL_MS))
    }
    throw found
  }

  async function read(topic: string): Promise<TopicView | TopicFault> {
    const about = viewOf(await wire.metadata([topic]), topic, clock.now())
    if (about instanceof TopicFault) {
      views.delete(topic)
      return about
    }
    const before = counts.get(topic)
    if (before !== undefined && before !== about.partitions)
      log.warn(
        { topic, before, now: about.partitions },
        'the count of partitions changed: from now on keys are in other partitions, and order holds from here on',
      )
    remember(counts, topic, about.partitions)
    remember(views, topic, about)
    return about
  }

  async function create(topic: string, compacted: boolean, spec: CreateTopics): Promise<void> {
    const configs = { ...(compacted && { 'cleanup.policy': 'compact' }), ...spec.configs }
    const request = {
      topics: [
        {
          topic,
          numPartitions: spec.partitions,
          replicationFactor: spec.replicationFactor ?? -1,
          configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
        },
      ],
      timeout: CREATE_LIMIT_MS - 5_000,
    }
    const { topicErrors } = await wire.createTopics(request, CREATE_LIMIT_MS).catch(controllerFailed)
    const { errorCode = -1, errorMessage } = topicErrors.find((it) => it.topic === topic) ?? {}
    if (errorCode === 0) log.info({ topic, ...configs, partitions: spec.partitions }, 'created a topic')
    if (errorCode === 0 || errorCode === TOPIC_ALREADY_EXISTS) return
    throw new TopicFault(creationOutcome(topic, errorCode, errorMessage ?? undefined))
  }

  /** Metadata came, so the cluster is there: a controller that fails must not stop what goes to topics that exist. */
  function controllerFailed(error: unknown): never {
    if (error instanceof Throttled) throw error
    const { ambiguous: _, ...outcome } = outcomeOfFault(error, mask)
    throw new TopicFault({ ...outcome, scope: 'target' })
  }

  return {
    get,
    forget: (topic) => void views.delete(topic),
    forgetLeader(leader) {
      for (const [topic, { leaders }] of views) if (leaders.includes(leader)) views.delete(topic)
    },
  }
}

const UNKNOWN_TOPIC = 3
const TOPIC_ALREADY_EXISTS = 36

/** Keeps the youngest. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_TOPICS) map.delete(map.keys().next().value as string)
}

/** Partitions without leader are part of the view: others of the topic can be written to. */
export function viewOf(answer: MetadataAnswer, topic: string, nowMs: number): TopicView | TopicFault {
  const about = answer.topicMetadata.find((it) => it.topic === topic)
  const code = about?.topicErrorCode ?? UNKNOWN_TOPIC
  const found = about?.partitionMetadata ?? []
  if (code !== 0 || found.length === 0) {
    const why = code || UNKNOWN_TOPIC
    return new TopicFault(topicOutcome(topic, why), why === UNKNOWN_TOPIC)
  }
  const leaders = new Array<number>(found.length).fill(-1)
  for (const { partitionId, leader } of found) if (partitionId < leaders.length) leaders[partitionId] = leader
  return { partitions: leaders.length, leaders, brokers: answer.brokers.length, learnedMs: nowMs }
}

function topicOutcome(topic: string, code: number): Retry {
  const verdict = verdictOfCode(code, `topic "${topic}"`)
  if (verdict.kind === 'moved') return verdict.outcome
  if (verdict.kind === 'failed' && verdict.outcome.kind === 'retry')
    return { ...verdict.outcome, scope: scopeOf(verdict.outcome) }
  return {
    kind: 'retry',
    reason: 'server-error',
    detail: `topic "${topic}": error code ${code}`,
    scope: 'target',
  }
}

/** An error of one topic is no information about others, so an unknown error has scope target. */
function scopeOf({ reason, scope }: Retry): Retry['scope'] {
  return reason === 'unknown' ? 'target' : scope
}

function creationOutcome(topic: string, code: number, said: string | undefined): Retry {
  const verdict = verdictOfCode(code, `creating topic "${topic}"`, said)
  const detail =
    verdict.kind === 'refused'
      ? verdict.detail
      : verdict.kind === 'delivered'
        ? ''
        : detailOf(verdict.outcome)
  const reason =
    verdict.kind === 'failed' && verdict.outcome.kind === 'retry' ? verdict.outcome.reason : 'config'
  return {
    kind: 'retry',
    reason: verdict.kind === 'moved' ? 'server-error' : reason,
    detail,
    scope: 'target',
  }
}

function detailOf(outcome: { kind: string; detail?: string }): string {
  return outcome.detail ?? outcome.kind
}
