/**
 * Every Redis key of the program. All carry one hash tag per cluster name, so that one transaction
 * may touch any of them on a Redis Cluster.
 */
export interface Keys {
  /** Prefix of BullMQ's own keys. */
  bullmq: string
  /** Version of this key layout. This key, `instances` and `instance` stay where they are in all layouts. */
  schema: string
  /** String with a TTL: who converts the keys to another layout. */
  schemaLock: string
  /** Random bytes that salt the hashes of Secret values. */
  salt: string
  /** Set: spellings of kinds that are waited for. */
  absentKinds: string
  /** Hash: hashed address of an API server → how its cluster is told apart. */
  identities: string
  /** Hash: key of a source and a number of shards → `shards` or `whole`. */
  splits: string
  /** Hash: source key → its description. */
  sources: string
  /** String, JSON: where a source stands. */
  checkpoint(source: string): string
  /** Hash: uid → resourceVersion, namespace, name, labels. */
  index(source: string): string
  /** Hash: uid → the object as it was told last, compressed; of sources whose old objects are kept. */
  old(source: string): string
  /** Hash: namespace/name → uid, of what a running relist has not seen yet. */
  unseen(source: string): string
  /** String, maybe with a TTL: the state of a limit that any source may change. */
  limit(key: string): string
  /** Sorted set: those of a rule, by when they are of no use any more. */
  limitKeys(rule: string): string
  /** Counts the changes of all of them. */
  limitsMoved: string
  /** Sorted set: those that have to be decided at some time, by that time. */
  limitTimers: string
  /** Hash: uid and rule → the state of a limit of one of the source's own objects; and when they have to be decided. */
  ownLimits(source: string): string
  ownLimitTimers(source: string): string
  /** String with a TTL: the last decision of a process for what was due in `limitTimers`. */
  limitsFired(instance: string): string
  /** String with a TTL: who may commit alone where limits are shared. */
  limitsTurn: string
  /** Sorted set: rules that matched something, by when they did last. */
  rules: string
  /** Hash: matched, sent, digested, waiting, notices, and `suppressed:<why>`. */
  ruleLedger(rule: string): string
  /** Hash: observed, unmatched, dropped, matched, limited. */
  watchLedger(source: string): string
  /** Hash: enqueued, delivered, dead, and `discarded` (dead letters that were deleted), of which `archived` and `dropped` by their bounds. */
  sinkLedger(sink: string): string
  /** Stream: entries of deliveries, oldest first. */
  lane(lane: string): string
  /** Hash: lane → deliveries waiting in it; its fields are the register of lanes. `<sink>/*` is 0: it stays when all lanes are empty. */
  pending: string
  /** Hash: entry id → which of its deliveries are acknowledged; of a parked lane, how often its first delivery failed, and since when. */
  progress(lane: string): string
  /** String, before layout 2: token of the worker that held the lane's turn. */
  owner(lane: string): string
  /** Hash: worker → its heartbeat as JSON. */
  workers: string
  /** Hash: slot of a sink's lanes → token of the worker that owns it; `version` counts the changes. */
  slots: string
  /** Set: lanes of layout 1 that still hold deliveries. Lanes by name of their sinks wait for them. */
  formerLanes: string
  /** Hash: sink or lane that fails → since when, and when it failed last. */
  outages: string
  /** Hash: watch, sink or kind that was removed → since when no process has it. What it left is freed after a week. */
  removed: string
  /** Hash: sink → since when processes have delivered to it without a gap, and when one did last. */
  deliveringSince: string
  /** String with a TTL: who keeps the dead letters within their bounds. */
  deadLettersTurn: string
  /** Hash: sink that no process has → since when, and when that was seen last. */
  orphans: string
  /** String with a TTL: state of a sink's own. */
  sinkState(sink: string, key: string): string
  /** Stream: what happened, before rules, packed; where a journal is kept. */
  journal: string
  /** String: how many bytes the journal takes. */
  journalBytes: string
  /** Stream: dead letters. */
  deadLetters: string
  /** String with a TTL, JSON: what a running process says of its watches and sinks. */
  instance(id: string): string
  /** The rules of its configuration. */
  instanceRules(id: string): string
  /** Set of instance ids. */
  instances: string
  /** Filler that is deleted when Redis is full, so that workers can go on. */
  ballast: string
}

export function keysOf(cluster: string): Keys {
  const tag = `{kubeherald:${cluster}}`
  return {
    bullmq: tag,
    schema: `${tag}:schema`,
    schemaLock: `${tag}:schema-lock`,
    salt: `${tag}:salt`,
    absentKinds: `${tag}:absent-kinds`,
    identities: `${tag}:identities`,
    splits: `${tag}:splits`,
    sources: `${tag}:sources`,
    checkpoint: (source) => `${tag}:checkpoint:${source}`,
    index: (source) => `${tag}:index:${source}`,
    old: (source) => `${tag}:old:${source}`,
    unseen: (source) => `${tag}:unseen:${source}`,
    limit: (key) => `${tag}:limit:${key}`,
    limitKeys: (rule) => `${tag}:limit-keys:${rule}`,
    limitsMoved: `${tag}:limits-moved`,
    limitTimers: `${tag}:limit-timers`,
    ownLimits: (source) => `${tag}:limits:${source}`,
    ownLimitTimers: (source) => `${tag}:limit-timers:${source}`,
    limitsFired: (instance) => `${tag}:limits-fired:${instance}`,
    limitsTurn: `${tag}:limits-turn`,
    rules: `${tag}:rules`,
    ruleLedger: (rule) => `${tag}:ledger:rule:${rule}`,
    watchLedger: (source) => `${tag}:ledger:watch:${source}`,
    sinkLedger: (sink) => `${tag}:ledger:sink:${sink}`,
    lane: (lane) => `${tag}:lane:${lane}`,
    pending: `${tag}:pending`,
    progress: (lane) => `${tag}:progress:${lane}`,
    owner: (lane) => `${tag}:owner:${lane}`,
    workers: `${tag}:workers`,
    slots: `${tag}:slots`,
    formerLanes: `${tag}:former-lanes`,
    outages: `${tag}:outages`,
    removed: `${tag}:removed`,
    deliveringSince: `${tag}:delivering-since`,
    deadLettersTurn: `${tag}:dead-letters-turn`,
    orphans: `${tag}:orphans`,
    sinkState: (sink, key) => `${tag}:sink:${sink}:${key}`,
    journal: `${tag}:journal`,
    journalBytes: `${tag}:journal-bytes`,
    deadLetters: `${tag}:dead-letters`,
    instance: (id) => `${tag}:instance:${id}`,
    instanceRules: (id) => `${tag}:instance:${id}:rules`,
    instances: `${tag}:instances`,
    ballast: `${tag}:ballast`,
  }
}
