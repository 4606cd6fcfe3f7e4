import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { objectTitle } from '../../../text/object-title.ts'
import { count, counted } from '../../../text/quantities.ts'
import type { DeadLetter, DeadLetterDetail, DeadLetters } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { mayAct } from '../data/state.ts'
import { eventLink, ruleLink, sinkLink, withQuery } from '../links.ts'
import { ObjectName } from '../parts/object-name.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { type Asked, BulkDialog } from './dead-letters-bulk.tsx'

const EVERY_MS = 4_000

/** Deliveries that were given up, by sink and reason; retry or drop one, some, or all of a reason. */
export function DeadLettersView() {
  const [query] = useSearchParams()
  const choice = {
    sink: query.get('sink') ?? undefined,
    reason: query.get('reason') ?? undefined,
    rule: query.get('rule') ?? undefined,
  }
  const letters = useResource<DeadLetters>(withQuery('/dead-letters', choice), EVERY_MS)
  const [asked, setAsked] = useState<Asked | undefined>(undefined)
  const [changes, setChanges] = useState(0)
  const named = Object.entries(choice).filter(([, value]) => value !== undefined)
  return (
    <>
      <Heading
        title="Dead letters"
        note="Deliveries that were given up. They are kept with their reason until somebody sends them again or drops them."
      />
      {!mayAct.value && <p class="note">To retry or drop them a token with the role "act" is needed.</p>}
      {named.length > 0 && (
        <p class="chosen">
          {named.map(([key, value]) => (
            <span key={key}>
              {key}{' '}
              <b>
                <Text of={value ?? ''} longest={80} />
              </b>
            </span>
          ))}
          <Link href="/dead-letters">show all</Link>
        </p>
      )}
      <Loaded from={letters}>
        {(it) =>
          it.total === 0 && it.items.length === 0 ? (
            <Empty title="There are no dead letters.">
              Everything was delivered, suppressed by a limit, or waits.
            </Empty>
          ) : (
            <>
              <Groups letters={it} rule={choice.rule} ask={setAsked} />
              <Letters
                key={changes}
                letters={it}
                ask={setAsked}
                path={withQuery('/dead-letters', choice)}
                opened={query.get('id') ?? undefined}
              />
            </>
          )
        }
      </Loaded>
      {asked && (
        <BulkDialog
          asked={asked}
          onClose={() => setAsked(undefined)}
          onDone={() => {
            setAsked(undefined)
            // Older pages may have what is gone, and so may the choice.
            setChanges(changes + 1)
            letters.reload()
          }}
        />
      )}
    </>
  )
}

type Ask = (asked: Asked) => void

function Buttons({ ask, of }: { ask: Ask; of: Omit<Asked, 'action'> }) {
  if (!mayAct.value) return null
  return (
    <span class="buttons">
      <button type="button" onClick={() => ask({ ...of, action: 'retry' })}>
        Retry
      </button>
      <button type="button" class="danger" onClick={() => ask({ ...of, action: 'drop' })}>
        Drop
      </button>
    </span>
  )
}

function Groups({ letters, rule, ask }: { letters: DeadLetters; rule: string | undefined; ask: Ask }) {
  const { newest, isComplete } = letters
  // Those that were counted: not what came since, nor that of other rules.
  const bounds = { ...(rule !== undefined && { rule }), ...(newest !== undefined && { until: newest }) }
  const whose = rule === undefined ? '' : ` of the rule ${rule}`
  return (
    <section>
      <h2>
        {counted(letters.total, 'dead letter')} by reason
        {!isComplete && <span class="note"> (of the newest ones)</span>}
      </h2>
      <Table
        label="Groups"
        rows={letters.groups}
        rowKey={(it) => `${it.sink} ${it.reason}`}
        columns={[
          { title: 'Sink', cell: (it) => <Link href={sinkLink(it.sink)}>{it.sink}</Link> },
          {
            title: 'Reason',
            cell: (it) => (
              <Link href={withQuery('/dead-letters', { sink: it.sink, reason: it.reason })}>{it.reason}</Link>
            ),
          },
          { title: 'Count', isNumber: true, cell: (it) => count(it.count) },
          { title: 'Oldest', cell: (it) => <Time at={it.oldestMs} /> },
          { title: 'Newest', cell: (it) => <Time at={it.newestMs} /> },
          ...(mayAct.value
            ? [
                {
                  title: 'All of them',
                  cell: (it: DeadLetters['groups'][number]) => (
                    <Buttons
                      ask={ask}
                      of={{
                        choice: { sink: it.sink, reason: it.reason, ...bounds },
                        what: `${isComplete ? '' : 'At least '}${counted(it.count, 'dead letter')} of ${it.sink} with the reason "${it.reason}"${whose}`,
                      }}
                    />
                  ),
                },
              ]
            : []),
        ]}
      />
    </section>
  )
}

function Letters({
  letters,
  ask,
  path,
  opened,
}: {
  letters: DeadLetters
  ask: Ask
  path: string
  opened: string | undefined
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [pages, setPages] = useState<string[]>([])
  /** The first page when the second one was opened behind it: newer letters do not push its end out of the list. */
  const [kept, setKept] = useState<readonly DeadLetter[]>([])
  const toggle = (id: string) => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  const ids = [...chosen]
  const last = pages.at(-1)
  const newest = new Set(letters.items.map((it) => it.id))
  const items = [...letters.items, ...kept.filter((it) => !newest.has(it.id))]
  const openOlder = () => {
    if (!letters.next) return
    setKept(letters.items)
    setPages([letters.next])
  }
  return (
    <section>
      <h2>Each one, the newest first</h2>
      {mayAct.value && ids.length > 0 && (
        <p class="chosen">
          {counted(ids.length, 'dead letter')} chosen
          <Buttons ask={ask} of={{ choice: { ids }, what: counted(ids.length, 'dead letter') }} />
        </p>
      )}
      <ul class="letters">
        {items.map((it) => (
          <Letter
            key={it.id}
            of={it}
            isChosen={chosen.has(it.id)}
            toggle={toggle}
            isOpen={it.id === opened}
          />
        ))}
        {pages.map((cursor) => (
          <Page
            key={cursor}
            path={path}
            cursor={cursor}
            chosen={chosen}
            toggle={toggle}
            onNext={(next) => setPages([...pages, next])}
            isLast={cursor === last}
          />
        ))}
      </ul>
      {letters.next && pages.length === 0 && (
        <button type="button" onClick={openOlder}>
          Older ones
        </button>
      )}
    </section>
  )
}

function Page({
  path,
  cursor,
  chosen,
  toggle,
  onNext,
  isLast,
}: {
  path: string
  cursor: string
  chosen: ReadonlySet<string>
  toggle: (id: string) => void
  onNext: (cursor: string) => void
  isLast: boolean
}) {
  const page = useResource<DeadLetters>(
    `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ cursor })}`,
  )
  return (
    <Loaded from={page}>
      {({ items, next }) => (
        <>
          {items.map((it) => (
            <Letter key={it.id} of={it} isChosen={chosen.has(it.id)} toggle={toggle} isOpen={false} />
          ))}
          {next && isLast && (
            <li>
              <button type="button" onClick={() => onNext(next)}>
                Older ones
              </button>
            </li>
          )}
        </>
      )}
    </Loaded>
  )
}

function Letter({
  of,
  isChosen,
  toggle,
  isOpen,
}: {
  of: DeadLetter
  isChosen: boolean
  toggle: (id: string) => void
  isOpen: boolean
}) {
  const [open, setOpen] = useState(isOpen)
  const { id, sink, rule, reason, detail, atMs, event, count: deliveries } = of
  const about = event?.regarding ?? event
  return (
    <li>
      {mayAct.value && (
        <input
          type="checkbox"
          checked={isChosen}
          onChange={() => toggle(id)}
          aria-label={`choose the dead letter ${id}`}
        />
      )}
      <details open={open} onToggle={(it) => setOpen(it.currentTarget.open)}>
        <summary class="row-summary">
          <Time at={atMs} />
          <span>
            <b>{sink}</b> {reason}
          </span>
          <span class="what">
            {about ? (
              <Text of={objectTitle(about)} longest={120} />
            ) : (
              counted(deliveries, 'unreadable delivery', 'unreadable deliveries')
            )}
          </span>
          <span class="detail">
            <Text of={detail} longest={100} />
          </span>
        </summary>
        <p>
          <Text of={detail} longest={1_000} />
        </p>
        <p class="note">
          rule <Link href={ruleLink(rule)}>{rule}</Link>
          {event && about && (
            <>
              {' · '}
              <ObjectName of={about} />
              {' · '}
              <Link href={eventLink(event.id)}>what became of this event</Link>
            </>
          )}{' '}
          · id <code>{id}</code>
        </p>
        {open && <Stored id={id} />}
      </details>
    </li>
  )
}

function Stored({ id }: { id: string }) {
  const detail = useResource<DeadLetterDetail>(`/dead-letters/${encodeURIComponent(id)}`)
  return (
    <Loaded from={detail}>
      {({ object, isCut }) =>
        object === undefined ? (
          <p class="note">Its object cannot be read.</p>
        ) : (
          <pre class="object-json">
            <Text of={indented(object)} longest={3_000} />
            {isCut &&
              ' … the rest is missing: the object is too large for this page, or for the limit where it waited'}
          </pre>
        )
      }
    </Loaded>
  )
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
