import { Link } from 'wouter-preact'
import { counted } from '../../../text/quantities.ts'
import type { ExplainedRule } from '../data/contract.ts'
import { ruleLink } from '../links.ts'
import type { Status } from '../outcome.ts'
import { valueText } from './diff.tsx'
import { Mark } from './mark.tsx'
import { Text } from './text.tsx'

const VERDICTS: Record<ExplainedRule['verdict'], [Status, string]> = {
  matches: ['good', 'matches'],
  no: ['off', 'does not match'],
  'other-kind': ['off', 'is for other kinds'],
  'not-asked': ['off', 'not reached: a rule above ended the evaluation'],
}

/**
 * The result of each rule for an event, with the reason: conditions that hold, and those that do not. `used` are the rules that sent or
 * suppressed it then: what they saw may be gone since.
 */
export function RuleTree({ rules, used }: { rules: readonly ExplainedRule[]; used: ReadonlySet<string> }) {
  const shown = rules.filter((it) => it.verdict !== 'other-kind')
  const others = rules.filter((it) => it.verdict === 'other-kind')
  return (
    <ul class="rule-tree">
      {shown.map((rule) => (
        <RuleResult key={rule.rule} of={rule} wasUsed={used.has(rule.rule)} />
      ))}
      {others.length > 0 && (
        <li>
          <details>
            <summary>
              <Mark status="off">{counted(others.length, 'rule')} for other kinds</Mark>
            </summary>
            <ul>
              {others.map((rule) => (
                <RuleResult key={rule.rule} of={rule} wasUsed={used.has(rule.rule)} />
              ))}
            </ul>
          </details>
        </li>
      )}
    </ul>
  )
}

function RuleResult({ of, wasUsed }: { of: ExplainedRule; wasUsed: boolean }) {
  const { rule, place, verdict, conditions, limits, result } = of
  const isGone = wasUsed && verdict !== 'matches'
  const [status, text]: [Status, string] = isGone
    ? ['good', 'matched then; today it would not, or what it saw is not kept']
    : verdictOf(of)
  return (
    <li>
      <p>
        <Mark status={status}>
          <Link href={ruleLink(rule)}>
            <Text of={rule} longest={80} />
          </Link>{' '}
          {text}
        </Mark>
        {place && <span class="place">{place}</span>}
      </p>
      {verdict !== 'not-asked' && conditions.length > 0 && (
        <ul class="conditions">
          {conditions.map((it) => (
            <li key={it.name} class={it.holds ? '' : 'fails'}>
              <Mark status={it.holds ? 'good' : it.error ? 'warn' : 'bad'}>
                <code>{it.name}</code>
                {it.expected !== undefined && (
                  <>
                    : <Text of={valueText(it.expected)} longest={160} />
                  </>
                )}
              </Mark>{' '}
              <span class="seen">{it.error ? <Text of={it.error} /> : <Seen of={it.seen} />}</span>
            </li>
          ))}
        </ul>
      )}
      {verdict === 'matches' &&
        limits.map((it) => (
          <p key={it.name} class="limit">
            <Mark status={result?.limit === it.name ? 'held' : 'off'}>
              <code>{it.name}</code> <Text of={it.text} />
            </Mark>
          </p>
        ))}
    </li>
  )
}

function verdictOf({ verdict, result }: ExplainedRule): [Status, string] {
  if (!result) return VERDICTS[verdict]
  const to = result.sinks.join(', ')
  switch (result.outcome) {
    case 'sent':
      return ['good', to ? `sends to ${to}` : 'matches; a rule above sends to the same sinks']
    case 'suppressed':
      return ['held', `matches; suppressed by ${result.limit ?? 'a limit'}`]
    case 'waiting':
      return ['wait', `matches; ${result.limit ?? 'a limit'} waits`]
    case 'digested':
      return ['wait', 'matches; goes into the next digest']
    case 'dropped':
      return ['off', 'matches, and drops the event']
    case 'taken':
      return ['off', 'matches; a rule above has sent it to the same sinks']
    case 'failed':
      return ['warn', `failed, and so does not match: ${result.error ?? ''}`]
  }
}

/** What a condition saw in the event. */
export function Seen({ of }: { of: string | null }) {
  return of === null ? (
    <>seen: nothing</>
  ) : (
    <>
      seen: <Text of={of} longest={160} />
    </>
  )
}
