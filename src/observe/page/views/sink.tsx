import { useMemo } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { count } from '../../../text/quantities.ts'
import type { History, Lanes, Sink } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { ratesOf, samplesOf } from '../data/samples.ts'
import { withQuery } from '../links.ts'
import { Chart } from '../parts/chart.tsx'
import { Mark } from '../parts/mark.tsx'
import { RecordRow } from '../parts/record-row.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { exact, inOneLine, rate } from '../shown.ts'
import { Health, useSinks, WhyFailing } from './sinks.tsx'

const LANES_MS = 4_000
const NEWEST = 20

/** One sink: its state, its rates while the page is open, lanes, and newest deliveries. */
export function SinkView({ name }: { name: string }) {
  const sinks = useSinks()
  return (
    <>
      <Heading title={`Sink ${inOneLine(name, 60)}`}>
        Sink <Text of={name} longest={80} />
      </Heading>
      <Loaded from={sinks}>
        {({ items }) => {
          const sink = items.find((it) => it.name === name)
          return sink ? (
            <Known sink={sink} />
          ) : (
            <Empty title="There is no such sink.">
              These are known: {items.map((it) => it.name).join(', ') || 'none'}. See{' '}
              <Link href="/sinks">sinks</Link>.
            </Empty>
          )
        }}
      </Loaded>
    </>
  )
}

function Known({ sink }: { sink: Sink }) {
  const { name, type, pending, oldestMs, enqueued, delivered, dead, lastDeliveredMs } = sink
  return (
    <>
      <dl class="facts">
        <Fact title="Health">
          <Health sink={sink} />
        </Fact>
        <Fact title="Type">{type ?? 'not in the configuration any more'}</Fact>
        <Fact title="Pending">{count(pending)}</Fact>
        <Fact title="Oldest">{oldestMs === undefined ? 'nothing waits' : <Time at={oldestMs} />}</Fact>
        <Fact title="Last delivered">
          <Time at={lastDeliveredMs} />
        </Fact>
        <Fact title="Ledger">
          {count(enqueued)} enqueued = {count(delivered)} delivered + {count(dead)} dead + {count(pending)}{' '}
          pending
        </Fact>
      </dl>
      <WhyFailing sink={sink} />
      <Rates name={name} />
      <LaneList name={name} />
      <Newest name={name} />
    </>
  )
}

function Fact({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const LINES = ['delivered', 'enqueued']

function Rates({ name }: { name: string }) {
  const samples = samplesOf(name)
  const last = samples.at(-1)?.atMs
  const rates = useMemo(() => ratesOf(samples), [last])
  const now = rates.at(-1)
  const data = useMemo(
    (): [number[], number[], number[]] => [
      rates.map((it) => it.atMs / 1_000),
      rates.map((it) => it.delivered),
      rates.map((it) => it.enqueued),
    ],
    [rates],
  )
  return (
    <section>
      <h2>Events per second, since this page is open</h2>
      {rates.length < 2 || !now ? (
        <p class="note">The chart begins after some seconds.</p>
      ) : (
        <Chart
          data={data}
          names={LINES}
          summary={`Rates of the sink: ${rate(now.delivered)} delivered, ${rate(now.enqueued)} enqueued`}
        />
      )}
    </section>
  )
}

function LaneList({ name }: { name: string }) {
  const lanes = useResource<Lanes>(`/sinks/${encodeURIComponent(name)}/lanes`, LANES_MS)
  return (
    <section>
      <h2>Lanes</h2>
      <Loaded from={lanes}>
        {({ items, isComplete }) => {
          const busy = items.filter((it) => it.pending > 0 || it.quarantine)
          return (
            <>
              {busy.length === 0 ? (
                <p class="note">Nothing waits in its lanes.</p>
              ) : (
                <Table
                  label="Lanes"
                  rows={busy}
                  rowKey={(it) => it.lane}
                  columns={[
                    {
                      title: 'Lane',
                      cell: (it) =>
                        it.quarantine ? (
                          <Mark status="warn">quarantine</Mark>
                        ) : (
                          <code>{inOneLine(it.lane)}</code>
                        ),
                    },
                    ...(busy.some((it) => it.object !== undefined)
                      ? [{ title: 'Object', cell: objectOf }]
                      : []),
                    { title: 'Pending', isNumber: true, cell: (it) => count(it.pending) },
                    { title: 'Oldest', cell: (it) => <Time at={it.oldestMs} /> },
                    { title: 'Process', cell: (it) => it.process ?? 'none yet' },
                  ]}
                />
              )}
              {!isComplete && <p class="note">There are more lanes than are listed.</p>}
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

function objectOf({ object = '' }: Lanes['items'][number]) {
  return <Text of={object} longest={140} />
}

function Newest({ name }: { name: string }) {
  const history = useResource<History>(withQuery('/history', { sink: name, limit: NEWEST }), LANES_MS)
  return (
    <section>
      <h2>
        Newest deliveries <Link href={withQuery('/live', { sink: name })}>follow live</Link>
      </h2>
      <Loaded from={history}>
        {({ items, stoppedAtMs }) =>
          items.length === 0 ? (
            <p class="note">
              The history has none of this sink{stoppedAtMs !== undefined && ` since ${exact(stoppedAtMs)}`}.
            </p>
          ) : (
            <ul class="records">
              {items.map((it) => (
                <li key={`${it.event.id}${it.rule}${it.atMs}`}>
                  <RecordRow record={it} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  )
}
