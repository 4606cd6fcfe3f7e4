import * as z from 'zod'
import { changeTypes, compileTypes } from '../../rules/change-values.ts'
import type { RuleFacts, SchemaIssue, SinkType } from '../../sink/index.ts'
import { nearest } from '../../text/closest-match.ts'
import type { ConfigDocument, Path } from '../document.ts'
import { suggest } from '../error-messages/suggest.ts'
import { problemsOf } from '../error-messages/zod-issues.ts'
import type { Problem } from '../problem.ts'
import { NO_RULE, type Routes, type Target, targetsOf } from '../routes.ts'
import type { SinkConfig } from '../schema.ts'
import { ARCHIVE_SINK, archiveSink } from './rules.ts'

export type SinkTypes = Readonly<Record<string, () => Promise<SinkType>>>

/** Returns the sink types by the sinks' names, as far as they are known. */
export async function loadTypes(
  document: ConfigDocument,
  sinkTypes: SinkTypes,
): Promise<ReadonlyMap<string, SinkType>> {
  const types = new Map<string, SinkType>()
  for (const [name, { value }] of document.at(['sinks'])?.entries ?? []) {
    const type = value.entries?.get('type')?.value.value
    const load = typeof type === 'string' && Object.hasOwn(sinkTypes, type) ? sinkTypes[type] : undefined
    if (load) types.set(name, await load())
  }
  return types
}

/** Checks the section of each sink by the schema of its type. */
export async function checkSinks(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  {
    known,
    builtIn,
    pluginsFailed,
  }: { known: readonly string[]; builtIn: readonly string[]; pluginsFailed: boolean },
): Promise<{ sinks: SinkConfig[]; problems: Problem[] }> {
  const sinks: SinkConfig[] = []
  const problems: Problem[] = []
  for (const [name, { value }] of document.at(['sinks'])?.entries ?? []) {
    const section = value.value as Record<string, unknown> | null
    if (!value.entries || typeof section?.['type'] !== 'string') continue
    const { type } = section as { type: string }
    const sinkType = types.get(name)
    if (!sinkType) {
      // It may be the type of a plug-in that could not be loaded.
      if (!pluginsFailed || nearest(type, known)) problems.push(unknownType(document, name, type, known))
      continue
    }
    const result = await readSink(name, sinkType, section)
    const subject = {
      document,
      schema: sinkType.config,
      prefix: ['sinks', name],
      alsoKnown: ['type', 'messages', 'queue'],
      mayQuote: !builtIn.includes(type),
    }
    if ('issues' in result) problems.push(...problemsOf(subject, result.issues))
    else sinks.push(result.sink)
  }
  return { sinks, problems }
}

/** Validates a sink's section by its type. */
export async function readSink(
  name: string,
  { config }: SinkType,
  section: Readonly<Record<string, unknown>>,
): Promise<{ sink: SinkConfig } | { issues: readonly SchemaIssue[] }> {
  const { type, messages: _m, queue: _q, ...options } = section as Record<string, unknown> & { type: string }
  const result = (await config['~standard'].validate(options)) as {
    value?: unknown
    issues?: readonly SchemaIssue[]
  }
  if (result.issues) return { issues: result.issues }
  return { sink: { name, type, options: result.value, source: JSON.stringify({ type, ...options }) } }
}

function unknownType(
  document: ConfigDocument,
  name: string,
  type: string,
  known: readonly string[],
): Problem {
  const path = ['sinks', name, 'type']
  const written = document.at(path)?.written
  const what =
    written === undefined ? `there is no sink type "${type}"` : `the value of ${written} is not a sink type`
  const hint = written === undefined ? typeHint(type, known) : undefined
  return document.problem('unknown-sink-type', path, what, { hint })
}

/** Other names of services that have a type. */
const SERVICES: readonly (readonly [names: RegExp, type: string])[] = [
  [/^(microsoft-?|ms-?)teams$/, 'teams'],
  [/^(google-?|g)chat$/, 'google-chat'],
  [/^(open-?search|elastic|es)$/, 'elasticsearch'],
  [/^(splunk-?)?hec$/, 'splunk'],
  [/^(victoria-?logs|vlogs)$/, 'victorialogs'],
  [/^(feishu|larksuite)$/, 'lark'],
  [/^(jsm|jira|jira-service-management)$/, 'opsgenie'],
  [/^(wechat|wechat-?work|work-?weixin)$/, 'wecom'],
  [/^(rocketchat|rocket\.chat)$/, 'rocket-chat'],
  [/^(incidentio|incident\.io)$/, 'incident-io'],
  [/^(oncall|grafana-?irm|grafanaoncall)$/, 'grafana-oncall'],
]

function typeHint(type: string, known: readonly string[]): string {
  const word = type.toLowerCase().replaceAll('_', '-')
  const found = SERVICES.find(([names]) => names.test(word))?.[1]
  if (found !== undefined && known.includes(found)) return `write type: ${found}`
  const hint = suggest(type, known, 'there are')
  if (nearest(type, known) !== undefined && hint !== undefined) return hint
  return [...(hint === undefined ? [] : [hint]), 'others come by plug-ins, which plugins: names'].join('; ')
}

/** Checks the options that rules have for their sinks, such as `to: [{ oncall: { channel: "#shop" } }]`. */
export async function checkRoutes(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  sinks: readonly SinkConfig[],
): Promise<{ routes: Routes; problems: Problem[] }> {
  const routes = new Map<string, Map<string, unknown>>([[NO_RULE, await defaultsOf(types)]])
  const problems: Problem[] = []
  const sections = new Map(sinks.map((sink) => [sink.name, sink.options]))
  for (const [index] of (document.at(['rules'])?.items ?? []).entries()) {
    const name = document.at(['rules', index, 'name'])?.value
    const options = new Map<string, unknown>()
    const facts = factsOf(document.at(['rules', index])?.value)
    for (const target of targetsOf(document, index)) {
      const type = types.get(target.sink)
      if (!type || options.has(target.sink)) continue
      const checked = await readRoute(type, target.options)
      const subject = { document, schema: type.route ?? NO_OPTIONS, prefix: target.path }
      if ('issues' in checked) problems.push(...problemsOf(subject, checked.issues))
      else {
        options.set(target.sink, checked.value)
        const lacking = sections.has(target.sink)
          ? (type.checkRoute?.(checked.value, sections.get(target.sink), facts) ?? [])
          : []
        problems.push(...problemsOf(subject, lacking.filter(isInside)))
        problems.push(...lacking.filter((it) => !isInside(it)).map((it) => atSink(document, target, it)))
      }
    }
    if (typeof name === 'string') routes.set(name, options)
  }
  return { routes, problems }
}

/** Keys because of which a rule does not send every change of an object. */
const INCOMPLETE = [
  ...['changed', 'unchanged', 'from', 'to-state', 'condition'],
  ...['mute', 'sample', 'for', 'count', 'after', 'throttle'],
]

/** Returns what `checkRoute` may know of a rule as it is written. */
export function factsOf(written: unknown): RuleFacts {
  const rule = (written ?? {}) as Readonly<Record<string, unknown>>
  const isSet = (key: string) => (rule[key] ?? false) !== false
  const type = (rule['when'] as { type?: unknown } | null | undefined)?.type
  const types = typeof type === 'string' || Array.isArray(type) ? compileTypes(type) : undefined
  const change = types?.ok ? types.value.change : undefined
  const skipsType = change !== undefined && !changeTypes.every((it) => change(it))
  // With `after` it suppresses nothing.
  const isOnce = rule['resolve'] === true
  const incompleteBy = skipsType ? 'type' : (INCOMPLETE.find(isSet) ?? (isOnce ? 'resolve' : undefined))
  return { digests: isSet('group'), ...(incompleteBy !== undefined && { incompleteBy }) }
}

function isInside({ path = [], severity }: SchemaIssue): boolean {
  return path.length > 0 && severity === undefined
}

function atSink(document: ConfigDocument, { sink, path, atKey }: Target, issue: SchemaIssue): Problem {
  const { path: inner = [], message, severity } = issue
  const place = [...path, ...inner.map((step) => (typeof step === 'object' ? step.key : step))]
  const placing = { atKey: atKey && inner.length === 0, ...(severity && { severity }) }
  return document.problem('invalid-sink-options', place, `"${sink}" ${message}`, placing)
}

/** Returns the options of a rule that names none, by the sinks' names. */
export async function defaultsOf(types: ReadonlyMap<string, SinkType>): Promise<Map<string, unknown>> {
  const defaults = new Map<string, unknown>()
  for (const [sink, type] of types) {
    const checked = await readRoute(type, {})
    if ('value' in checked) defaults.set(sink, checked.value)
  }
  return defaults
}

type Checked = { value: unknown } | { issues: readonly SchemaIssue[] }

/** Validates the options that a rule has for a sink by the sink's type. */
export async function readRoute({ route = NO_OPTIONS }: SinkType, options: unknown): Promise<Checked> {
  const result = (await route['~standard'].validate(options)) as Partial<Record<'value' | 'issues', never>>
  return result.issues ? { issues: result.issues } : { value: result.value }
}

/** A type without a schema for rules takes no options. */
const NO_OPTIONS = z.strictObject({})

/** Checks that the archive's sink has what rules add for other sinks, such as a topic or a channel. */
export async function checkArchiveRoute(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  sinks: readonly SinkConfig[],
): Promise<Problem[]> {
  const name = archiveSink(document)
  const [type, section] = [types.get(name ?? ''), sinks.find((sink) => sink.name === name)]
  if (!type || !section) return []
  const read = await readRoute(type, {})
  const lacking =
    'issues' in read
      ? read.issues
      : (type.checkRoute?.(read.value, section.options, { digests: false }) ?? [])
  return lacking.map(({ message }) =>
    document.problem('invalid-sink-options', ARCHIVE_SINK, `"${name}" ${message}`),
  )
}

/** Messages that no sink shows, because all of its sinks send the event itself. */
export function checkMessages(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  sinks: readonly SinkConfig[],
): Problem[] {
  const sections = new Map(sinks.map((sink) => [sink.name, sink.options]))
  /** False while a sink or its type is not known. */
  const sendsNone = (sink: string) =>
    sections.has(sink) && types.get(sink)?.showsChanges?.(sections.get(sink)) === false
  const rules = [...(document.at(['rules'])?.items ?? []).keys()].flatMap((index) => {
    const path = ['rules', index, 'message']
    if (!document.at(path)) return []
    const names = [...new Set(targetsOf(document, index).map(({ sink }) => sink))]
    if (names.length === 0 || !names.every(sendsNone)) return []
    return [unread(document, path, names, types)]
  })
  const unreadOfSinks = [...sections.keys()].filter(
    (name) => document.at(['sinks', name, 'messages']) && sendsNone(name),
  )
  return [
    ...rules,
    ...unreadOfSinks.map((name) => unread(document, ['sinks', name, 'messages'], [name], types)),
  ]
}

function unread(
  document: ConfigDocument,
  path: Path,
  names: readonly string[],
  types: ReadonlyMap<string, SinkType>,
): Problem {
  const shown = names.map((name) => `"${name}" (${types.get(name)?.type})`).join(' and ')
  const message = `no sink shows this message: ${shown} ${names.length === 1 ? 'sends' : 'send'} the event`
  const hint =
    'messages are shown by slack, the types of chats and pagers, webhook with a preset, and stdout with format: message'
  return document.problem('unread-message', path, message, { atKey: true, hint, severity: 'warning' })
}
