import type { OwnFailure } from '../../config/schema/notify.ts'
import {
  type ConfigStatus,
  evaluates,
  isFailing,
  metadataTitle,
  type SinkStatus,
  TOO_FAR_BEHIND_MS,
  type WatchStatus,
} from '../../model/status.ts'

/** What this process knows of itself and of the queue. */
export interface OwnState {
  watches: readonly WatchStatus[]
  /** Watches of related metadata, if rules need any. */
  metadata: readonly WatchStatus[]
  sinks: readonly SinkStatus[]
  config: ConfigStatus
  /** Sink → dead letters since they were last reported; only sinks with some. */
  newDeadLetters: ReadonlyMap<string, number>
  isLedgerBalanced: boolean
}

export interface CauseName {
  on: OwnFailure
  /** The watch or the sink; '' for what there is only one of. */
  subject: string
}

/** A report of kubeherald about itself. */
export interface OwnReport {
  on: OwnFailure | 'heartbeat'
  subject: string
  /** The reason of the Event that reports it. */
  reason: string
  message: string
  /** Time from the beginning of the failure to its end; only in a report that it is over. */
  resolved?: { sinceMs: number; atMs: number }
}

/** A failure to report. */
export type Cause = OwnReport & CauseName

/** How long a failure must last before it is reported, and be over before that is; 0 for what has happened already. */
const LASTS_MS: Readonly<Record<OwnFailure, number>> = {
  'watch-failing': 60_000,
  'sink-failing': 60_000,
  'dead-letter': 0,
  'config-rejected': 0,
  // Counters of one moment come from several reads.
  ledger: 60_000,
}

/** Returns the failures that this state shows, except those of the sink that they are reported to. */
export function causesOf(state: OwnState, to: string): Cause[] {
  const { watches, metadata, sinks, config, newDeadLetters, isLedgerBalanced } = state
  return [
    ...watches.filter(fails).map((it) => watchCause(it, 'its changes do not arrive')),
    ...(evaluates(watches) ? withTitles(metadata) : [])
      .filter(fails)
      .map((it) => watchCause(it, 'rules that use it do not match, or use what was known before')),
    ...sinks.filter(({ sink, healthy }) => !healthy && sink !== to).map(sinkCause),
    ...[...newDeadLetters].filter(([sink]) => sink !== to).map(deadLetterCause),
    ...(config.rejected ? [configCause(config.rejected)] : []),
    ...(isLedgerBalanced ? [] : [LEDGER]),
  ]
}

/** Returns watches of metadata with titles that no other watch has. */
export function withTitles(metadata: readonly WatchStatus[]): WatchStatus[] {
  return metadata.map((it) => ({ ...it, title: metadataTitle(it) }))
}

/** Returns whether a watch fails, or is too far behind. */
export function fails(watch: WatchStatus): boolean {
  const { behind } = watch
  return isFailing(watch) || (behind !== undefined && behind.ms > TOO_FAR_BEHIND_MS)
}

function watchCause({ title, lastError, behind }: WatchStatus, consequence: string): Cause {
  const why = lastError ?? (behind ? `it is behind, and waits for ${behind.waitsFor}` : 'no reason is known')
  const message = `The watch of ${title} fails, and ${consequence}: ${why}`
  return { on: 'watch-failing', subject: title, reason: 'WatchFailing', message }
}

function sinkCause({ sink, lastError = 'no reason is known' }: SinkStatus): Cause {
  const message = `The sink ${sink} fails, and its deliveries wait: ${lastError}`
  return { on: 'sink-failing', subject: sink, reason: 'SinkFailing', message }
}

function deadLetterCause([sink, count]: readonly [string, number]): Cause {
  const became =
    count === 1
      ? `1 delivery to ${sink} became a dead letter`
      : `${count.toLocaleString('en')} deliveries to ${sink} became dead letters`
  const message = `${became}: kubeherald dead-letters list`
  return { on: 'dead-letter', subject: sink, reason: 'DeadLetters', message }
}

function configCause({ problem, place }: NonNullable<ConfigStatus['rejected']>): Cause {
  const message = `The changed configuration is rejected, and the running one stays: ${place ? `${place}: ` : ''}${problem}`
  return { on: 'config-rejected', subject: '', reason: 'ConfigRejected', message }
}

const LEDGER: Cause = {
  on: 'ledger',
  subject: '',
  reason: 'LedgerUnbalanced',
  message: 'The ledger does not balance, so deliveries may be lost: kubeherald status --verify',
}

/** Returns the report that all is well enough to watch; undefined where nothing follows the cluster, so that its absence is noticed. */
export function heartbeatOf({ watches, sinks }: Pick<OwnState, 'watches' | 'sinks'>): OwnReport | undefined {
  const following = watches.filter((it) => it.phase === 'watching' && it.ready && !fails(it)).length
  if (following === 0) return undefined
  const failing = sinks.filter(({ healthy }) => !healthy).length
  const health = failing === 0 ? '' : `, ${failing} of them failing`
  const message = `Follows ${following} of ${watches.length} watches, with ${sinks.length} sinks${health}`
  return { on: 'heartbeat', subject: '', reason: 'Running', message }
}

export type LastingCause<T> = T & {
  /** Since when this process sees it without interruption, in milliseconds of its clock. */
  sinceMs: number
}

/** Remembers since when failures last, or are over, so that what is short is not reported. */
export class LastingCauses {
  readonly #sinceMs = new Map<string, number>()

  /** Returns those that have lasted for long enough; forgets those that are not among them any more. */
  of<T extends CauseName>(causes: readonly T[], nowMs: number): LastingCause<T>[] {
    const names = new Set(causes.map(nameOf))
    for (const name of this.#sinceMs.keys()) if (!names.has(name)) this.#sinceMs.delete(name)
    return causes.flatMap((cause) => {
      const name = nameOf(cause)
      const sinceMs = this.#sinceMs.get(name) ?? nowMs
      this.#sinceMs.set(name, sinceMs)
      return nowMs - sinceMs >= LASTS_MS[cause.on] ? [{ ...cause, sinceMs }] : []
    })
  }
}

/** More failing watches than this are one report: they probably have one cause, such as an API server that is down. */
const MOST_WATCHES = 3

/** Remembers which failing watches one report has in common. */
export class JoinedWatches {
  #titles: ReadonlySet<string> = new Set()

  /**
   * Returns the failures that have lasted, with one for all watches where many fail at the moment. Those that it has in common stay so while
   * it is open: some recover before others. A watch whose own report is open stays on its own, as does one that fails later, with few others.
   */
  of(
    lasting: readonly LastingCause<Cause>[],
    causes: readonly Cause[],
    isOpen: (name: string) => boolean,
  ): LastingCause<Cause>[] {
    const isOfWatch = (it: Cause) => it.on === 'watch-failing' && !isOpen(nameOf(it))
    const failing = causes.filter(isOfWatch).map(({ subject }) => subject)
    const isMany = failing.length > MOST_WATCHES
    const lasted = new Set(lasting.filter(isOfWatch).map(({ subject }) => subject))
    const former = this.#titles
    this.#titles = new Set(
      isOpen('watch-failing')
        ? failing.filter((it) => former.has(it) || (isMany && lasted.has(it)))
        : failing.filter(() => isMany),
    )
    const isJoined = (it: Cause) => isOfWatch(it) && this.#titles.has(it.subject)
    const joined = lasting.filter(isJoined)
    if (joined.length === 0) return [...lasting]
    return [...lasting.filter((it) => !isJoined(it)), together(joined, [...this.#titles])]
  }
}

function together(joined: readonly LastingCause<Cause>[], failing: readonly string[]): LastingCause<Cause> {
  const titles = failing.slice(0, 10)
  const more = failing.length > titles.length ? ', …' : ''
  const count = failing.length === 1 ? '1 watch fails' : `${failing.length} watches fail`
  const message = `${count} (${titles.join(', ')}${more}). ${joined[0]?.message}`
  const sinceMs = Math.min(...joined.map((it) => it.sinceMs))
  return { on: 'watch-failing', subject: '', reason: 'WatchesFailing', message, sinceMs }
}

/** Returns the name of a cause, equal in all processes: `sink-failing/oncall`. */
export function nameOf({ on, subject }: { on: string; subject: string }): string {
  return subject === '' ? on : `${on}/${subject}`
}
