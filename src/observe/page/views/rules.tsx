import { useEffect, useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { count } from '../../../text/quantities.ts'
import type { Rule, Rules } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { sinkLink, withQuery } from '../links.ts'
import { Mark } from '../parts/mark.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Collapsed, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'

const EVERY_MS = 4_000

/** What each rule did, and its lines of the configuration. */
export function RulesView() {
  const rules = useResource<Rules>('/rules', EVERY_MS)
  const [query] = useSearchParams()
  const wanted = query.get('rule')
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(wanted ? [wanted] : []))
  useEffect(() => {
    if (wanted) setOpen(new Set([wanted]))
  }, [wanted])
  const toggle = (name: string) => {
    const next = new Set(open)
    if (!next.delete(name)) next.add(name)
    setOpen(next)
  }
  return (
    <>
      <Heading
        title="Rules"
        note="In the order of the configuration, which is the order of evaluation. matched = sent + digested + waiting + suppressed."
      />
      <Loaded from={rules}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There are no rules.">
              Nothing is sent. Add one to "rules" in the configuration.
            </Empty>
          ) : (
            <RuleTable items={items} open={open} toggle={toggle} />
          )
        }
      </Loaded>
    </>
  )
}

function RuleTable({
  items,
  open,
  toggle,
}: {
  items: readonly Rule[]
  open: ReadonlySet<string>
  toggle: (name: string) => void
}) {
  return (
    <Table
      label="Rules"
      rows={items}
      rowKey={(it) => it.name}
      rowClass={(it) => (it.errors > 0 ? 'warn' : '')}
      columns={[
        {
          title: 'Rule',
          cell: (it) => (
            <button
              type="button"
              class="opener"
              aria-expanded={open.has(it.name)}
              onClick={() => toggle(it.name)}
            >
              <Text of={it.name} longest={80} />
            </button>
          ),
        },
        {
          title: 'To',
          cell: (it) =>
            it.to.length === 0 ? (
              <span class="none">{it.isRemoved ? 'removed' : 'drops'}</span>
            ) : (
              <Collapsed
                class="list"
                items={it.to}
                first={5}
                of={(sink) => (
                  <Link key={sink} href={sinkLink(sink)}>
                    {sink}
                  </Link>
                )}
              />
            ),
        },
        { title: 'Matched', isNumber: true, cell: (it) => count(it.matched) },
        { title: 'Sent', isNumber: true, cell: (it) => count(it.sent) },
        { title: 'Digested', isNumber: true, cell: (it) => count(it.digested) },
        { title: 'Waiting', isNumber: true, cell: (it) => count(it.waiting) },
        { title: 'Suppressed', isNumber: true, cell: (it) => <Suppressed by={it.suppressed} /> },
        {
          title: 'Errors',
          isNumber: true,
          cell: (it) => (it.errors > 0 ? <Mark status="warn">{count(it.errors)}</Mark> : '0'),
        },
        { title: 'Last match', cell: (it) => <Time at={it.lastMatchMs} /> },
      ]}
      below={(it) => (open.has(it.name) ? <Lines of={it} /> : null)}
    />
  )
}

function Suppressed({ by }: { by: Record<string, number> }) {
  const parts = Object.entries(by).filter(([, value]) => value > 0)
  const sum = parts.reduce((all, [, value]) => all + value, 0)
  return (
    <>
      {sum > 0 && <span class="note">{limitsOf(parts)} </span>}
      {count(sum)}
    </>
  )
}

/** `throttle`, `silence 2, throttle 4 =`. */
function limitsOf(parts: readonly [limit: string, value: number][]): string {
  if (parts.length === 1) return parts[0]?.[0] ?? ''
  return `${parts.map(([limit, value]) => `${limit} ${count(value)}`).join(', ')} =`
}

function Lines({ of }: { of: Rule }) {
  return (
    <div class="lines">
      {of.lastError && (
        <p>
          <Mark status="warn">
            <Text of={of.lastError} />
          </Mark>
        </p>
      )}
      <pre>
        <Text of={of.yaml} longest={20_000} />
      </pre>
      <p class="note">
        {of.file && `${of.file}${of.line === undefined ? '' : `:${of.line}`} · `}
        <Link href={withQuery('/live', { rule: of.name })}>follow live</Link>
        {' · '}
        <Link href={withQuery('/dead-letters', { rule: of.name })}>its dead letters</Link>
      </p>
    </div>
  )
}
