import { Link } from 'wouter-preact'
import { count } from '../../../text/quantities.ts'
import type { LedgerReport } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { ruleLink, sinkLink } from '../links.ts'
import { Mark } from '../parts/mark.tsx'
import { Heading, Loaded } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { inOneLine } from '../shown.ts'

const EVERY_MS = 3_000

/** Whether every change is accounted for: the equations with their numbers. */
export function LedgerView() {
  const ledger = useResource<LedgerReport>('/ledger', EVERY_MS)
  return (
    <>
      <Heading
        title="Ledger"
        note="Every change is counted once on each side. If a number were lost, its equation would not hold."
      />
      <Loaded from={ledger}>{(it) => <Equations ledger={it} />}</Loaded>
    </>
  )
}

function Equations({ ledger }: { ledger: LedgerReport }) {
  const { sums, balanced, off, atMs, watches, sinks, rules } = ledger
  const rows = rules.map((it) => ({
    ...it,
    allSuppressed: Object.values(it.suppressed).reduce((all, value) => all + value, 0),
  }))
  return (
    <>
      <p class="verdict">
        {balanced ? (
          <Mark status="good">The ledger balances.</Mark>
        ) : (
          <Mark status="bad">The ledger does not balance.</Mark>
        )}{' '}
        <span class="note">
          counted <Time at={atMs} />
        </span>
      </p>
      {off.length > 0 && (
        <ul class="off-list" role="alert">
          {off.map((it) => (
            <li key={it}>
              <Text of={it} />
            </li>
          ))}
        </ul>
      )}
      <div class="equations">
        <Equation
          title="Watches"
          left={['observed', sums.watches.observed]}
          right={pairs(sums.watches, 'unmatched', 'dropped', 'matched', 'limited')}
        />
        <Equation
          title="Sinks"
          left={['enqueued', sums.sinks.enqueued]}
          right={pairs(sums.sinks, 'delivered', 'dead', 'pending')}
        />
      </div>
      <Section
        title="Watches"
        rows={watches}
        rowKey={(it) => it.key}
        name={(it) => inOneLine(it.title)}
        terms={['observed', 'unmatched', 'dropped', 'matched', 'limited']}
      />
      <Section
        title="Rules"
        rows={rows}
        rowKey={(it) => it.name}
        name={(it) => <Link href={ruleLink(it.name)}>{it.name}</Link>}
        terms={['matched', 'sent', 'digested', 'waiting', 'allSuppressed']}
      />
      <Section
        title="Sinks"
        rows={sinks}
        rowKey={(it) => it.name}
        name={(it) => <Link href={sinkLink(it.name)}>{it.name}</Link>}
        terms={['enqueued', 'delivered', 'dead', 'pending']}
      />
    </>
  )
}

function pairs<K extends string>(counts: Record<K, number>, ...keys: K[]): [string, number][] {
  return keys.map((key) => [key, counts[key]])
}

function Equation({
  title,
  left,
  right,
}: {
  title: string
  left: [string, number]
  right: [string, number][]
}) {
  const sum = right.reduce((all, [, value]) => all + value, 0)
  return (
    <section class="equation" aria-label={`Sum of all ${title.toLowerCase()}`}>
      <h2>{title}</h2>
      <p>
        <Term of={left} />
        <span class="sign">{sum === left[1] ? '=' : '≠'}</span>
        {right.map((it, index) => (
          <span class="part" key={it[0]}>
            {index > 0 && <span class="sign">+</span>}
            <Term of={it} />
          </span>
        ))}
      </p>
    </section>
  )
}

function Term({ of: [name, value] }: { of: [string, number] }) {
  return (
    <span class="term">
      <span class="value">{count(value)}</span> <span class="title">{name}</span>
    </span>
  )
}

const TITLES: Record<string, string> = { allSuppressed: 'suppressed' }

function Section<T extends { balanced: boolean }>({
  title,
  rows,
  rowKey,
  name,
  terms,
}: {
  title: string
  rows: readonly T[]
  rowKey: (row: T) => string
  name: (row: T) => preact.ComponentChildren
  terms: readonly (keyof T & string)[]
}) {
  const columns: Column<T>[] = [
    { title: title.slice(0, -1).replace('Watche', 'Watch'), cell: name },
    ...terms.map((key, index) => ({
      title: `${index === 0 ? '' : index === 1 ? '= ' : '+ '}${TITLES[key] ?? key}`,
      isNumber: true,
      cell: (row: T) => count(Number(row[key])),
    })),
    {
      title: 'Holds',
      cell: (row) => (row.balanced ? <Mark status="good">yes</Mark> : <Mark status="bad">no</Mark>),
    },
  ]
  return (
    <section>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="note">None yet.</p>
      ) : (
        <Table label={title} rows={rows} rowKey={rowKey} columns={columns} />
      )}
    </section>
  )
}
