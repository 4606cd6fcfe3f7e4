import { createHash } from 'node:crypto'
import { LANES, laneByKey } from '../sink/order.ts'

export type Keys = ReturnType<typeof keysOf>

/** Returns the names of all Redis keys. Their hash tag is the cluster name, so that one transaction may use any of them on a Redis Cluster. */
export function keysOf(cluster: string) {
  const tag = `{kubeherald:${cluster}}`
  return {
    /** Prefix of BullMQ's own keys. */
    bullmq: tag,
    /** Version of the key layout. This key, `instances` and `instance` have the same names in all layouts. */
    schema: `${tag}:schema`,
    /** Random bytes that salt the hashes of Secret values. */
    salt: `${tag}:salt`,
    /** Set: spellings of kinds that watches wait for. */
    absentKinds: `${tag}:absent-kinds`,
    /** Hash: hashed address of an API server → identity of its cluster. */
    identities: `${tag}:identities`,
    /** Hash: key of a source and a number of shards → `shards` or `whole`. */
    splits: `${tag}:splits`,
    /** Hash: source key → its description. */
    sources: `${tag}:sources`,
    /** String, JSON. */
    checkpoint: (source: string) => `${tag}:checkpoint:${source}`,
    /** Hash: uid → resourceVersion, namespace, name, labels. */
    index: (source: string) => `${tag}:index:${source}`,
    /** Hash: uid → previous object, compressed; of sources that store them. */
    old: (source: string) => `${tag}:old:${source}`,
    /** Hash: namespace/name → uid, of objects that a running relist has not listed yet. */
    unseen: (source: string) => `${tag}:unseen:${source}`,
    /** String, maybe with a TTL: the state of a limit that any source may change. */
    limit: (key: string) => `${tag}:limit:${key}`,
    /** Sorted set: the shared states of a rule, by their time of expiry. */
    limitKeys: (rule: string) => `${tag}:limit-keys:${rule}`,
    /** Counts the changes of all shared states. */
    limitsMoved: `${tag}:limits-moved`,
    /** Sorted set: shared states by due time. */
    limitTimers: `${tag}:limit-timers`,
    /** Hash: uid and rule → the state of a limit of one of the source's own objects; and their due times. */
    ownLimits: (source: string) => `${tag}:limits:${source}`,
    ownLimitTimers: (source: string) => `${tag}:limit-timers:${source}`,
    /** String with a TTL: the last transaction of a process for states that were due in `limitTimers`. */
    limitsFired: (instance: string) => `${tag}:limits-fired:${instance}`,
    /** String with a TTL: the commit that asked the others to wait. */
    limitsTurn: `${tag}:limits-turn`,
    /** Hash: id → silence as JSON; a random text that changes with it; and how many events each has suppressed. */
    silences: `${tag}:silences`,
    silencesVersion: `${tag}:silences-version`,
    silenceCounts: `${tag}:silence-counts`,
    /** Hash: key of an object's limit state → who acknowledged its incident, as JSON. */
    acknowledged: `${tag}:acknowledged`,
    /** Sorted set: rules by their last match. */
    rules: `${tag}:rules`,
    /** Hash: matched, sent, digested, waiting, notices, and `suppressed:<why>`. */
    ruleLedger: (rule: string) => `${tag}:ledger:rule:${rule}`,
    /** Hash: observed, unmatched, dropped, matched, limited. */
    watchLedger: (source: string) => `${tag}:ledger:watch:${source}`,
    /**
     * Hash: enqueued, delivered, dead, and `discarded` (deleted dead letters), of which `archived` and `dropped` by their bounds. `retried`:
     * were dead once.
     */
    sinkLedger: (sink: string) => `${tag}:ledger:sink:${sink}`,
    /** Stream: entries of deliveries, oldest first. */
    lane: (lane: string) => `${tag}:lane:${lane}`,
    /** Hash: lane → waiting deliveries; its fields are the register of lanes. `<sink>/*` is 0, and stays when all lanes are empty. */
    pending: `${tag}:pending`,
    /** Hash: entry id → acknowledged places of it; of a quarantine lane, how often its first delivery failed, and since when. */
    progress: (lane: string) => `${tag}:progress:${lane}`,
    /** Hash: worker → its heartbeat as JSON. */
    workers: `${tag}:workers`,
    /** Hash: slot of a sink's lanes → token of its owner; `version` counts the changes. */
    slots: `${tag}:slots`,
    /** Hash: failing sink or lane → since when, and its last failure. */
    outages: `${tag}:outages`,
    /** Hash: removed watch, sink or kind → since when no process has it. Its state is freed after a week. */
    removed: `${tag}:removed`,
    /** Hash: sink → since when processes have delivered to it without a gap, and until when. */
    deliveringSince: `${tag}:delivering-since`,
    /** String with a TTL: the process that keeps the dead letters within their bounds. */
    deadLettersTurn: `${tag}:dead-letters-turn`,
    /** Hash: sink that no process has → since when, and the last check. */
    orphans: `${tag}:orphans`,
    /** String with a TTL: a sink's own state. */
    sinkState: (sink: string, key: string) => `${tag}:sink:${sink}:${key}`,
    /** Stream: transitions before rules, packed; where a journal is kept. */
    journal: `${tag}:journal`,
    /** String: bytes of the journal. */
    journalBytes: `${tag}:journal-bytes`,
    /** Streams with a TTL: what became of deliveries, and of suppressed events, packed. */
    history: `${tag}:history`,
    suppressed: `${tag}:history-suppressed`,
    /** String with a TTL, JSON: when and why the history began again. */
    historyLost: `${tag}:history-lost`,
    /** Hash with a TTL: event, container and run → the end of the container's log, compressed; the times, and the bytes of all. */
    logs: `${tag}:logs`,
    logTimes: `${tag}:log-times`,
    logBytes: `${tag}:log-bytes`,
    /** Hash with a TTL: the same → why the log is not read, as JSON. */
    logRefusals: `${tag}:log-refusals`,
    /** String with a TTL: what was last reported of a failure of kubeherald itself. Hash: sink → its dead letters that were reported. */
    reported: (cause: string) => `${tag}:reported:${cause}`,
    reportedDeadLetters: `${tag}:reported-dead-letters`,
    /** Hash: failure that was reported and is not over → since when it lasts. */
    openReports: `${tag}:open-reports`,
    /** String with a TTL: a process sees that this reported failure still lasts. */
    lasting: (cause: string) => `${tag}:lasting:${cause}`,
    /** Stream. */
    deadLetters: `${tag}:dead-letters`,
    /** String with a TTL, JSON: the report of a running process. */
    instance: (id: string) => `${tag}:instance:${id}`,
    /** The rules of its configuration. */
    instanceRules: (id: string) => `${tag}:instance:${id}:rules`,
    /** Set of instance ids. */
    instances: `${tag}:instances`,
    /** Filler that is deleted when Redis is full, so that workers can continue. */
    ballast: `${tag}:ballast`,
  }
}

/**
 * Names of lanes: `<sink>/n0` to `<sink>/n15` by the object's name, `<sink>/<name>` where the sink's type chooses, and
 * `<lane>!<hash>` for a quarantined chain of a lane.
 */

const QUARANTINE = '!'

export function sinkOf(lane: string): string {
  return lane.slice(0, lane.indexOf('/'))
}

/** Returns the lane that a chain was quarantined from; any other lane itself. */
export function baseOf(lane: string): string {
  const end = lane.indexOf(QUARANTINE, lane.indexOf('/'))
  return end === -1 ? lane : lane.slice(0, end)
}

export function isQuarantine(lane: string): boolean {
  return baseOf(lane) !== lane
}

/** The lane of a chain's own where it waits while its object fails. */
export function quarantineLane(lane: string, chain: string): string {
  return `${lane}${QUARANTINE}${createHash('sha256').update(chain).digest('hex').slice(0, 16)}`
}

/** The slot that a lane belongs to, as `<sink>/<number>`: the part of a sink's lanes that one process owns. */
export function slotOf(lane: string): string {
  const base = baseOf(lane)
  const numbered = /^[^/]*\/n?(\d|1[0-5])$/.exec(base)?.[1]
  return `${sinkOf(lane)}/${numbered ?? laneByKey(base)}`
}

/** All slots of a sink. */
export function slotsOf(sink: string): string[] {
  return Array.from({ length: LANES }, (_, i) => `${sink}/${i}`)
}
