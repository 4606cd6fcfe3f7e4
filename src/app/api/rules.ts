import { stringify } from 'yaml'
import type { Config } from '../../config/schema.ts'
import { hideSecrets } from '../../config/values/hide-secrets.ts'
import { hideTexts, isNamePlace } from '../../config/values/secrets.ts'
import type { RuleLedger, StatusReport, WatchCounts } from '../../store/ledger.ts'
import { isMap } from '../../text/plain-data.ts'
import type { LedgerReport, Rule } from './contract.ts'

/** Longer rules are cut: one may have a large template. */
const MAX_YAML = 20_000

/** Returns the rules of the configuration in their order, and removed ones that still have events waiting or counted. */
export function rulesOf(
  { instances, ledger }: StatusReport,
  config: Config,
  hide: (text: string) => string,
): Rule[] {
  const errors = errorsOf(instances)
  const configured = config.rules.map(({ name, to = [] }, index): Rule => {
    const { file, line } = placeOf(config, index)
    return {
      name,
      ...(file !== undefined && { file }),
      ...(line !== undefined && { line }),
      yaml: yamlOf(config, index, hide),
      to: [...to],
      ...countsOf(ledger.rules[name]),
      ...(errors.get(name) ?? { errors: 0 }),
    }
  })
  const names = new Set(config.rules.map(({ name }) => name))
  const removed = Object.entries(ledger.rules).flatMap(([name, counts]): Rule[] =>
    names.has(name) ? [] : [{ name, yaml: '', to: [], isRemoved: true, ...countsOf(counts), errors: 0 }],
  )
  return [...configured, ...removed]
}

function errorsOf(instances: StatusReport['instances']): Map<string, { errors: number; lastError?: string }> {
  const known = new Map<string, { errors: number; lastError?: string }>()
  for (const { rule, errors = 0, lastError } of instances.flatMap((it) => it.rules ?? [])) {
    const former = known.get(rule)
    const last = lastError ?? former?.lastError
    known.set(rule, {
      errors: errors + (former?.errors ?? 0),
      ...(last !== undefined && { lastError: last }),
    })
  }
  return known
}

function countsOf(counts: RuleLedger | undefined) {
  const { matched = 0, sent = 0, digested = 0, waiting = 0, lastMatchMs = 0 } = counts ?? {}
  return {
    matched,
    sent,
    digested,
    waiting,
    suppressed: suppressedOf(counts),
    ...(lastMatchMs > 0 && { lastMatchMs }),
  }
}

function suppressedOf(counts: RuleLedger | undefined): Record<string, number> {
  return Object.fromEntries(Object.entries(counts?.suppressed ?? {}).filter(([, count]) => count > 0))
}

function placeOf({ placeOf }: Config, index: number): { file?: string; line?: number } {
  const [, file, line] = /^(.*):(\d+):\d+$/.exec(placeOf?.(['rules', index]) ?? '') ?? []
  return file === undefined ? {} : { file, line: Number(line) }
}

function yamlOf({ written, rules }: Config, index: number, hide: (text: string) => string): string {
  const list = written?.['rules']
  const rule: unknown = (Array.isArray(list) ? list[index] : undefined) ?? { name: rules[index]?.name }
  const shown = isMap(rule) && rule['to'] !== undefined ? { ...rule, to: hideSecrets(rule['to']) } : rule
  const keeps = (path: readonly string[]) => isNamePlace(['rules', '*', ...path])
  return stringify(hideTexts(shown, hide, keeps)).slice(0, MAX_YAML)
}

const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, it) => sum + it, 0)

/** Returns the equations of the ledger, each with whether it holds. */
export function ledgerOf({ atMs, ledger }: StatusReport, titleOf: (key: string) => string): LedgerReport {
  const off: string[] = []
  const holds = (what: string, left: number, right: Readonly<Record<string, number>>) => {
    if (left === sumOf(right)) return true
    off.push(
      `${what}: ${left} is not ${Object.entries(right)
        .map(([name, it]) => `${it} ${name}`)
        .join(' + ')}`,
    )
    return false
  }
  const watches = Object.entries(ledger.watches).map(([key, counts]) => {
    const { observed, ...ends } = counts
    const title = titleOf(key)
    return { ...counts, title, key, balanced: holds(`watch ${title}, observed`, observed, ends) }
  })
  const rules = Object.entries(ledger.rules).map(([name, counts]) => {
    const { matched, sent, digested, waiting } = counts
    const suppressed = suppressedOf(counts)
    const balanced = holds(`rule ${name}, matched`, matched, {
      sent,
      digested,
      waiting,
      suppressed: sumOf(suppressed),
    })
    return { matched, sent, digested, waiting, suppressed, name, balanced }
  })
  const sinks = Object.entries(ledger.sinks).map(([name, counts]) => {
    const { enqueued, delivered, dead, pending, discarded, archived, dropped } = counts
    const isCounted = holds(`sink ${name}, enqueued`, enqueued, { delivered, dead, pending })
    const balanced = isCounted && archived + dropped <= discarded
    return { enqueued, delivered, dead, pending, discarded, archived, dropped, name, balanced }
  })
  return {
    atMs,
    balanced: ledger.balanced,
    watches,
    rules,
    sinks,
    sums: {
      watches: total<keyof WatchCounts>(watches, ['observed', 'unmatched', 'dropped', 'matched', 'limited']),
      sinks: total(sinks, ['enqueued', 'delivered', 'dead', 'pending'] as const),
    },
    off,
  }
}

function total<Key extends string>(
  rows: readonly Readonly<Record<Key, number>>[],
  keys: readonly Key[],
): Record<Key, number> {
  const sums = keys.map((key) => [key, rows.reduce((sum, row) => sum + row[key], 0)])
  return Object.fromEntries(sums) as Record<Key, number>
}
