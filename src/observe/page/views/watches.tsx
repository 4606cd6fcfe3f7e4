import { isFailing } from '../../../model/status.ts'
import { count, duration } from '../../../text/quantities.ts'
import type { Watch, Watches } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import type { Status } from '../outcome.ts'
import { Mark } from '../parts/mark.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { inOneLine } from '../shown.ts'

const EVERY_MS = 3_000

const CAUSES: Record<string, string> = {
  expired: 'its position was too old (410)',
  regression: 'the cluster was restored',
  'quick-end': 'the API server ended the watch repeatedly',
  unreadable: 'a frame could not be read',
  stalled: 'its position did not move',
}

const PHASES: Record<Watch['phase'], [Status, string]> = {
  failing: ['bad', 'failing'],
  stopped: ['bad', 'stopped'],
  'waiting-for-kind': ['warn', 'the cluster does not have this kind'],
  reconnecting: ['warn', 'reconnecting'],
  resolving: ['wait', 'asks which kinds there are'],
  listing: ['wait', 'listing'],
  standby: ['off', 'standby: another process works on it'],
  watching: ['good', 'watching'],
}

/** Each watch: its phase, position, and how far it is behind. */
export function WatchesView() {
  const watches = useResource<Watches>('/watches', EVERY_MS)
  return (
    <>
      <Heading title="Watches" note="observed = unmatched + dropped + matched + limited" />
      <Loaded from={watches}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing is watched.">
              No process that watches has reported: see whether one runs, and "watch" in the configuration.
            </Empty>
          ) : (
            <WatchTable items={items} />
          )
        }
      </Loaded>
    </>
  )
}

function statusOf(watch: Watch): [Status, string] {
  const { phase, behindMs } = watch
  const [status, text] = PHASES[phase]
  if (status === 'wait' && isFailing(watch)) return ['bad', 'cannot ask which kinds there are']
  if (phase === 'standby' && behindMs) return ['warn', 'standby: no process is known to work on it']
  return status === 'good' && behindMs ? ['warn', 'behind'] : [status, text]
}

function WatchTable({ items }: { items: readonly Watch[] }) {
  const order: Status[] = ['bad', 'warn', 'wait', 'good', 'off', 'held']
  const isVerified = items.some((it) => it.differences !== undefined)
  const sorted = items.toSorted((a, b) => order.indexOf(statusOf(a)[0]) - order.indexOf(statusOf(b)[0]))
  return (
    <Table
      label="Watches"
      rows={sorted}
      rowKey={(it) => it.key}
      rowClass={(it) => statusOf(it)[0]}
      columns={[
        { title: 'Watch', cell: (it) => <b>{inOneLine(it.title)}</b> },
        {
          title: 'Phase',
          cell: (it) => {
            const [status, text] = statusOf(it)
            return <Mark status={status}>{text}</Mark>
          },
        },
        { title: 'Behind', isNumber: true, cell: (it) => (it.behindMs ? duration(it.behindMs) : '–') },
        { title: 'Position', cell: (it) => <code>{it.resourceVersion ?? 'none yet'}</code> },
        { title: 'Last contact', cell: (it) => <Time at={it.lastContactMs} /> },
        { title: 'Relists', isNumber: true, cell: (it) => count(it.relists?.count ?? 0) },
        ...(isVerified
          ? [{ title: 'Differences', isNumber: true, cell: (it: Watch) => shownDifferences(it) }]
          : []),
        { title: 'Observed', isNumber: true, cell: (it) => count(it.counts.observed) },
        { title: 'Unmatched', isNumber: true, cell: (it) => count(it.counts.unmatched) },
        { title: 'Dropped', isNumber: true, cell: (it) => count(it.counts.dropped) },
        { title: 'Matched', isNumber: true, cell: (it) => count(it.counts.matched) },
        { title: 'Limited', isNumber: true, cell: (it) => count(it.counts.limited) },
        { title: 'Process', cell: (it) => inOneLine(it.process ?? '–', 40) },
      ]}
      below={(it) => {
        const error = statusOf(it)[0] === 'good' ? undefined : it.lastError
        return error || it.relists ? (
          <>
            {error && (
              <p class="why">
                <span class="label">last error</span> <Text of={error} />
              </p>
            )}
            {it.relists && (
              <p class="why">
                <span class="label">last relist</span> <Time at={it.relists.atMs} />:{' '}
                {CAUSES[it.relists.cause] ?? it.relists.cause}
              </p>
            )}
          </>
        ) : null
      }}
    />
  )
}

/** Between the index and the cluster, where `verify` compares them. */
function shownDifferences({ differences }: Watch): string {
  return differences === undefined ? '–' : count(differences)
}
