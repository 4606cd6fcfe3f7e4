import { ConditionError, compileConditions } from '../rules/conditions.ts'
import { literalsOf, type PatternError } from '../rules/pattern.ts'
import type { Rule } from '../rules/schema.ts'
import { compileSelector } from '../rules/selector.ts'
import type { ConfigDocument } from './document.ts'
import type { Problem } from './problem.ts'
import type { ConfigFile } from './schema.ts'
import { suggestion } from './suggest.ts'

/** What no schema sees: names that must exist, patterns that must compile, rules that can never match. */
export function crossCheck(config: ConfigFile, document: ConfigDocument): Problem[] {
  return [
    ...config.watch.flatMap((_, i) => checkWatch(config, i, document)),
    ...config.rules.flatMap((_, i) => checkRule(config, i, document)),
    ...unusedSinks(config, document),
  ]
}

function checkWatch({ watch }: ConfigFile, i: number, document: ConfigDocument): Problem[] {
  const entry = watch[i]
  if (!entry?.labels) return []
  try {
    compileSelector(entry.labels)
    return []
  } catch (error) {
    const { message, offset } = error as PatternError
    return [document.problem(['watch', i, 'labels'], `no label selector: ${message}`, { offset })]
  }
}

function checkRule(config: ConfigFile, i: number, document: ConfigDocument): Problem[] {
  const rule = config.rules[i] as Rule
  const path = ['rules', i]
  const problems: Problem[] = []
  const say = (below: (string | number)[], message: string, offset = 0) =>
    problems.push(document.problem([...path, ...below], message, { offset }))

  if (config.rules.findIndex(({ name }) => name === rule.name) < i)
    say(['name'], `the name "${rule.name}" is taken by a rule above`)
  if (!rule.drop && !rule.to)
    say(['name'], `rule "${rule.name}" does nothing: give it "to: [sink]" or "drop: true"`)
  if (rule.drop && rule.to)
    say(
      ['to'],
      `rule "${rule.name}" drops what it matches, so it cannot send it: leave one of "drop" and "to" out`,
    )
  for (const [at, sink] of (rule.to ?? []).entries()) {
    if (!(sink in config.sinks))
      say(['to', at], `there is no sink "${sink}"${suggestion(sink, Object.keys(config.sinks))}`)
  }
  try {
    compileConditions(rule.when ?? {})
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error
    say(['when', ...error.path.split('.')], error.message, error.offset)
  }
  for (const message of neverMatches(rule, config)) say(['when', message.field], message.text)
  return problems
}

/** Conditions that exclude each other, or ask for what nobody watches. */
function neverMatches({ when = {} }: Rule, { watch }: ConfigFile): { field: string; text: string }[] {
  const found: { field: string; text: string }[] = []
  const watched = watch.map(({ kind }) => kind)
  const kinds = when.kind ? literalsOf(when.kind) : undefined
  const unwatched = kinds?.filter((kind) => !watched.some((it) => mayBeSame(kind, it)))
  if (kinds && unwatched && unwatched.length === kinds.length) {
    const text = `no rule can match ${unwatched.map((it) => `"${it}"`).join(', ')}: it is not under "watch"`
    found.push({ field: 'kind', text: text + suggestion(unwatched[0] as string, watched) })
  }
  const asksEvent = ['reason', 'message', 'regarding'].find((field) => field in when)
  const eventType = when.type
    ? literalsOf(when.type)?.find((it) => it === 'Normal' || it === 'Warning')
    : undefined
  const onlyOthers = kinds !== undefined && !kinds.some((kind) => mayBeSame(kind, 'Event'))
  if (onlyOthers && (asksEvent || eventType)) {
    const what = asksEvent ? `"${asksEvent}"` : `type ${eventType}`
    found.push({
      field: asksEvent ?? 'type',
      text: `only Events have ${what}, and this rule matches ${kinds.join(', ')}; did you mean kind: Event with "regarding: { kind: ${kinds[0]} }"?`,
    })
  } else if (!when.kind && (asksEvent || eventType) && !watched.some((it) => mayBeSame('Event', it))) {
    found.push({
      field: asksEvent ?? 'type',
      text: `only Events have ${asksEvent ? `"${asksEvent}"` : `type ${eventType}`}, and "Event" is not under "watch"`,
    })
  }
  return found
}

/** Could two spellings mean the same kind? Without a cluster: the same word, singular or plural, whatever its group. */
function mayBeSame(a: string, b: string): boolean {
  return stemOf(a) === stemOf(b)
}

function stemOf(spelling: string): string {
  const word = (
    spelling.includes('/') ? spelling.slice(spelling.lastIndexOf('/') + 1) : (spelling.split('.')[0] ?? '')
  ).toLowerCase()
  const short = SHORT_NAMES[word] ?? word
  return short
    .replace(/ies$/, 'y')
    .replace(/(ss|x|ch|sh)es$/, '$1')
    .replace(/([^s])s$/, '$1')
}

const SHORT_NAMES: Record<string, string> = {
  po: 'pod',
  svc: 'service',
  deploy: 'deployment',
  ds: 'daemonset',
  sts: 'statefulset',
  rs: 'replicaset',
  cm: 'configmap',
  ns: 'namespace',
  no: 'node',
  ev: 'event',
  ing: 'ingress',
  pvc: 'persistentvolumeclaim',
  pv: 'persistentvolume',
  cj: 'cronjob',
  hpa: 'horizontalpodautoscaler',
  sa: 'serviceaccount',
  crd: 'customresourcedefinition',
}

function unusedSinks({ sinks, rules }: ConfigFile, document: ConfigDocument): Problem[] {
  const used = new Set(rules.flatMap(({ to }) => to ?? []))
  return Object.keys(sinks)
    .filter((name) => !used.has(name))
    .map((name) =>
      document.problem(['sinks', name], `no rule sends anything to "${name}"`, {
        atKey: true,
        severity: 'warning',
      }),
    )
}
