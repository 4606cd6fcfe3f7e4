import { OWN_FAILURES } from '../../config/schema/notify.ts'
import { evaluates, type WatchStatus } from '../../model/status.ts'
import { durationOf } from '../../sink/template/formats.ts'
import { type CauseName, fails, nameOf, type OwnReport, type OwnState, withTitles } from './causes.ts'

/** Returns the failure that `nameOf` gave this name; undefined where no version of ours did. */
export function parseName(name: string): CauseName | undefined {
  const [, written = '', subject = ''] = /^([a-z-]+)(?:\/([\s\S]+))?$/.exec(name) ?? []
  const on = OWN_FAILURES.find((it) => it === written)
  return on && { on, subject }
}

/**
 * Returns whether a reported failure lasts or is over; undefined where this process does not know, as of a watch that another one has.
 * A watch that no entry has any more, or that has another title since its kind is resolved, does not fail any more. Dead letters have
 * happened, and are never over. A watch whose own report is open is not one of the many of another.
 */
export function progressOf(
  { on, subject }: CauseName,
  state: OwnState,
  isOpen: (name: string) => boolean,
): 'lasts' | 'over' | undefined {
  const { sinks, config, isLedgerBalanced } = state
  const lasts = (it: boolean) => (it ? 'lasts' : 'over')
  switch (on) {
    case 'watch-failing': {
      const metadata = withTitles(state.metadata)
      const used = evaluates(state.watches) ? metadata : []
      if (used.length === 0 && metadata.some(({ title }) => title === subject)) return undefined
      const watches = [...state.watches, ...used]
      const some = watches.filter(({ title }) => subject === '' || title === subject)
      const isOfIt = ({ title }: WatchStatus) => subject !== '' || !isOpen(nameOf({ on, subject: title }))
      if (some.some((it) => fails(it) && isOfIt(it))) return 'lasts'
      if (some.length === 0) return isResolved([...state.watches, ...metadata]) ? 'over' : undefined
      return some.some(({ phase, ready }) => phase === 'watching' && ready) ? 'over' : undefined
    }
    case 'sink-failing': {
      const sink = sinks.find((it) => it.sink === subject)
      return sink && lasts(!sink.healthy)
    }
    case 'config-rejected':
      return lasts(config.rejected !== undefined)
    case 'ledger':
      return lasts(!isLedgerBalanced)
    case 'dead-letter':
      return undefined
  }
}

/** Until all kinds are resolved, a watch may be missing only because it has no title yet. */
function isResolved(watches: OwnState['watches']): boolean {
  return watches.length > 0 && watches.every(({ phase }) => phase !== 'resolving')
}

/** Returns the report that a failure is over, which lasted from `sinceMs` to `atMs`. */
export function recoveryOf({ on, subject }: CauseName, sinceMs: number, atMs: number): OwnReport {
  const after = `after ${durationOf((atMs - sinceMs) / 1_000)}`
  const messages: Readonly<Record<CauseName['on'], string>> = {
    'watch-failing':
      subject === ''
        ? `The watches work again ${after}`
        : `The failure of the watch of ${subject} is over ${after}`,
    'sink-failing': `The sink ${subject} works again ${after}`,
    'config-rejected': `The configuration of the file is in use again ${after}`,
    ledger: `The ledger balances again ${after}`,
    'dead-letter': '',
  }
  return { on, subject, reason: 'Recovered', message: messages[on], resolved: { sinceMs, atMs } }
}
