import { useEffect } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { count, counted, duration } from '../../../text/quantities.ts'
import type { Sink, Sinks } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { noteSamples, ratesOf, samplesOf } from '../data/samples.ts'
import { sinkLink, withQuery } from '../links.ts'
import type { Status } from '../outcome.ts'
import { Mark } from '../parts/mark.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { bytes, rate } from '../shown.ts'

const EVERY_MS = 2_000

/** All sinks, and notes their counters for rates. */
export function useSinks() {
  const sinks = useResource<Sinks>('/sinks', EVERY_MS)
  useEffect(() => {
    if (sinks.data) noteSamples(sinks.data.items, Date.now())
  }, [sinks.data])
  return sinks
}

const HEALTH: Record<Sink['health'], [Status, string]> = {
  failing: ['bad', 'failing'],
  partly: ['warn', 'partly failing'],
  draining: ['wait', 'draining: not in the configuration any more'],
  ok: ['good', 'ok'],
  'not in use': ['off', 'not in use'],
}
const WORST_FIRST = Object.keys(HEALTH)

export function Health({ sink }: { sink: Sink }) {
  const [status, text] = HEALTH[sink.health]
  return <Mark status={status}>{text}</Mark>
}

/** Which sink is behind, since when, and why: the worst first. */
export function SinksView() {
  const sinks = useSinks()
  return (
    <>
      <Heading
        title="Sinks"
        note="The worst first. A sink that fails delays only its own deliveries; they wait, and nothing is lost."
      />
      <Loaded from={sinks}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no sink.">
              Add one to "sinks" in the configuration, and name it in "to" of a rule.
            </Empty>
          ) : (
            <SinkTable items={items} />
          )
        }
      </Loaded>
    </>
  )
}

function SinkTable({ items }: { items: readonly Sink[] }) {
  const sorted = items.toSorted(
    (a, b) => WORST_FIRST.indexOf(a.health) - WORST_FIRST.indexOf(b.health) || b.pending - a.pending,
  )
  return (
    <Table
      label="Sinks"
      rows={sorted}
      rowKey={(it) => it.name}
      rowClass={(it) => HEALTH[it.health][0]}
      columns={[
        {
          title: 'Sink',
          cell: (it) => (
            <>
              <Link href={sinkLink(it.name)} class="name">
                {it.name}
              </Link>{' '}
              <span class="note">{it.type ?? 'removed'}</span>
            </>
          ),
        },
        { title: 'Health', cell: (it) => <Health sink={it} /> },
        { title: 'Pending', isNumber: true, cell: (it) => count(it.pending) },
        {
          title: 'Oldest',
          cell: (it) =>
            it.oldestMs === undefined ? <span class="none">nothing waits</span> : <Time at={it.oldestMs} />,
        },
        { title: 'Out', isNumber: true, cell: (it) => outRate(it.name) },
        { title: 'Delivered', isNumber: true, cell: (it) => count(it.delivered) },
        {
          title: 'Dead',
          isNumber: true,
          cell: (it) =>
            it.dead > 0 ? (
              <Link href={withQuery('/dead-letters', { sink: it.name })}>{count(it.dead)}</Link>
            ) : (
              '0'
            ),
        },
        { title: 'Last delivered', cell: (it) => <Time at={it.lastDeliveredMs} /> },
      ]}
      below={(it) =>
        !it.warnings && (it.health === 'ok' || it.health === 'not in use') ? null : <WhyFailing sink={it} />
      }
    />
  )
}

function outRate(sink: string): string {
  const last = ratesOf(samplesOf(sink).slice(-6)).at(-1)
  return last ? rate(last.delivered) : '…'
}

/** A bound that is further away is not shown: the rate will have changed by then. */
const SOON_MS = 172_800_000

/** Why a sink is behind, in a line. */
export function WhyFailing({ sink }: { sink: Sink }) {
  const {
    lastError,
    lastErrorMs,
    quarantined,
    failingTargets,
    queueBytes,
    queueMaxBytes,
    fullInMs,
    warnings,
  } = sink
  return (
    <div class="why">
      {warnings?.map((it) => (
        <p key={it}>
          <Mark status="warn">
            <Text of={it} />
          </Mark>
        </p>
      ))}
      {lastError && (
        <p>
          <span class="label">last error</span> <Text of={lastError} /> <Time at={lastErrorMs} />
        </p>
      )}
      {failingTargets > 0 && (
        <p>
          {counted(failingTargets, 'target')} of it (a channel, a topic){' '}
          {failingTargets === 1 ? 'fails' : 'fail'}.
        </p>
      )}
      {quarantined > 0 && (
        <p>
          {counted(quarantined, 'object')} in quarantine: {quarantined === 1 ? 'it fails' : 'they fail'} while
          others succeed.
        </p>
      )}
      {queueBytes !== undefined && queueMaxBytes !== undefined && queueBytes > 0 && (
        <p>
          Queue {bytes(queueBytes)} of {bytes(queueMaxBytes)}
          {fullInMs === 0
            ? ': full, the oldest deliveries become dead letters'
            : fullInMs !== undefined && fullInMs < SOON_MS && `: full in ${duration(fullInMs)} at this rate`}
          .
        </p>
      )}
    </div>
  )
}
