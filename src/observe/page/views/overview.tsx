import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { count, counted } from '../../../text/quantities.ts'
import type { History, Incidents, Overview } from '../data/contract.ts'
import { send } from '../data/request.ts'
import { useResource } from '../data/resource.ts'
import { announce, mayAct, overview, overviewError } from '../data/state.ts'
import type { Status } from '../outcome.ts'
import { Mark } from '../parts/mark.tsx'
import { RecordRow } from '../parts/record-row.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { SearchResults } from './search.tsx'

const NEWEST = 20
const EVERY_MS = 3_000
/** Number of open incidents that are added each time the reader asks for more. */
const MORE = 100

/** The page at `/`: results of a search, or what happens now, troubles first. */
export function HomeView() {
  const [query] = useSearchParams()
  const wanted = query.get('q')
  return wanted ? <SearchResults wanted={wanted} opensFirst={query.get('open') === 'first'} /> : <Now />
}

function Now() {
  const state = overview.value
  return (
    <>
      <Heading title="Overview">What happens now</Heading>
      {/* 403: the token sees some namespaces, and this is about all. */}
      {overviewError.value?.status !== 403 && (
        <Loaded from={{ data: state, error: overviewError.value }}>{(it) => <State state={it} />}</Loaded>
      )}
      <OpenIncidents />
      <section>
        <h2>
          Newest deliveries <Link href="/live">follow live</Link>
        </h2>
        <Newest />
      </section>
      {state && <Processes state={state} />}
    </>
  )
}

function State({ state }: { state: Overview }) {
  const { troubles, watches, sinks, deadLetters, pending, silences, balanced } = state
  const figures: [href: string, title: string, value: string, status: Status, note: string][] = [
    figureOf('/watches', 'Watches', watches.total, [
      [watches.failing, 'failing', 'bad'],
      [watches.behind, 'behind', 'warn'],
    ]),
    figureOf('/sinks', 'Sinks', sinks.total, [[sinks.failing, 'failing', 'bad']]),
    [
      '/sinks',
      'Pending',
      count(pending),
      pending > 0 ? 'wait' : 'good',
      pending === 0 ? 'nothing waits' : pending === 1 ? 'delivery waits' : 'deliveries wait',
    ],
    [
      '/dead-letters',
      'Dead letters',
      count(deadLetters),
      deadLetters > 0 ? 'warn' : 'good',
      deadLetters > 0 ? 'to retry or drop' : 'none',
    ],
    [
      '/silences',
      'Silences',
      count(silences),
      silences > 0 ? 'held' : 'off',
      silences > 0 ? 'in force' : 'none',
    ],
    [
      '/ledger',
      'Ledger',
      balanced ? 'balances' : 'is off',
      balanced ? 'good' : 'bad',
      balanced ? 'nothing is lost' : 'see which equation',
    ],
  ]
  return (
    <>
      {troubles.length > 0 ? (
        <section class="troubles" aria-label="Troubles">
          <h2>{counted(troubles.length, 'trouble')}</h2>
          <ul>
            {troubles.map((it, index) => (
              <li key={index}>
                <Mark status="warn">
                  <Text of={it} longest={600} />
                </Mark>
              </li>
            ))}
          </ul>
        </section>
      ) : (
        <p class="all-well">
          <Mark status="good">Every watch and every sink works.</Mark>
        </p>
      )}
      <ul class="figures">
        {figures.map(([href, title, value, status, note]) => (
          <li key={title}>
            <Link href={href}>
              <span class="title">{title}</span>
              <span class="value">{value}</span>
              <Mark status={status}>{note}</Mark>
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}

function figureOf(
  href: string,
  title: string,
  total: number,
  bad: [number, string, Status][],
): [string, string, string, Status, string] {
  const [first] = bad.filter(([value]) => value > 0)
  return first
    ? [href, title, count(total), first[2], `${count(first[0])} ${first[1]}`]
    : [href, title, count(total), total > 0 ? 'good' : 'off', total > 0 ? 'all work' : 'none configured']
}

function Newest() {
  const history = useResource<History>(`/history?limit=${NEWEST}`, EVERY_MS)
  return (
    <Loaded from={history}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="The history is empty.">
            Deliveries appear here as they happen. Without any: see whether watches have a position, and
            whether rules match.
          </Empty>
        ) : (
          <ul class="records">
            {items.map((record) => (
              <li key={`${record.event.id}${record.rule}${record.sinks}${record.atMs}`}>
                <RecordRow record={record} />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}

function OpenIncidents() {
  const incidents = useResource<Incidents>('/incidents', EVERY_MS)
  const { data, error } = incidents
  const hasNone = data?.isComplete === true && data.items.length === 0
  // 403: as above.
  if (error?.status === 403 || (!error && (!data || hasNone))) return null
  return (
    <section>
      <h2>
        {data ? counted(data.items.length, 'open incident') : 'Open incidents'}
        {data?.isComplete === false && (
          <span class="note"> (of those that were read: there may be more)</span>
        )}
      </h2>
      <Loaded from={incidents}>
        {({ items }) => <IncidentTable items={items} reload={incidents.reload} />}
      </Loaded>
    </section>
  )
}

function IncidentTable({ items, reload }: { items: Incidents['items']; reload: () => void }) {
  const [shown, setShown] = useState(MORE)
  if (items.length === 0) return null
  const acknowledge = (rule: string, key: string) =>
    send('POST', '/incidents/acknowledge', { rule, key }).then(
      () => {
        announce('Acknowledged: it repeats no more until it ends.')
        reload()
      },
      (error: Error) => announce(error.message, true),
    )
  return (
    <>
      <Table
        label="Open incidents"
        rows={items.slice(0, shown)}
        rowKey={(it) => `${it.rule} ${it.key}`}
        columns={[
          { title: 'Object', cell: (it) => <Text of={it.object ?? it.key} longest={140} /> },
          { title: 'Rule', cell: (it) => it.rule },
          { title: 'Since', cell: (it) => <Time at={it.sinceMs} /> },
          { title: 'Notifications', isNumber: true, cell: (it) => count(it.notifications) },
          {
            title: 'Acknowledged',
            cell: (it) =>
              it.acknowledged ? (
                <>
                  by {it.acknowledged.by} <Time at={it.acknowledged.atMs} />
                </>
              ) : mayAct.value ? (
                <button type="button" onClick={() => void acknowledge(it.rule, it.key)}>
                  Acknowledge
                </button>
              ) : (
                'no'
              ),
          },
        ]}
      />
      {items.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + MORE)}>
          {count(items.length - shown)} more
        </button>
      )}
    </>
  )
}

function Processes({ state }: { state: Overview }) {
  return (
    <section>
      <h2>{counted(state.processes.length, 'process', 'processes')}</h2>
      <Table
        label="Processes"
        rows={state.processes}
        rowKey={(it) => it.id}
        columns={[
          { title: 'Host', cell: (it) => it.host },
          { title: 'PID', isNumber: true, cell: (it) => it.pid },
          { title: 'Role', cell: (it) => it.role },
          { title: 'Version', cell: (it) => it.version },
          { title: 'Configuration', cell: (it) => <code>{it.config ?? 'built in'}</code> },
          { title: 'Started', cell: (it) => <Time at={it.startedMs} /> },
        ]}
      />
    </section>
  )
}
