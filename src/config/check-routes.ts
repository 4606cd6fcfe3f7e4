import type { SchemaIssue, SinkType } from '../sink/index.ts'
import type { ConfigDocument } from './document.ts'
import { problemsOf } from './issues.ts'
import type { Problem } from './problem.ts'
import { NO_RULE, type Routes } from './routes.ts'
import type { SinkConfig } from './schema.ts'
import { type Target, targetsOf } from './targets.ts'

/** Checks what rules say for their sinks (`to: [{ oncall: { channel: "#shop" } }]`), each by the sink's type. */
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
    const facts = { digests: (document.at(['rules', index, 'group'])?.value ?? undefined) !== undefined }
    const targets = targetsOf(document, index)
    for (const target of targets) {
      const type = types.get(target.sink)
      if (!type || options.has(target.sink)) continue
      const checked = await readRoute(type, target.options)
      const subject = { document, schema: type.route, prefix: target.path }
      if ('option' in checked) problems.push(noOption(document, target, checked.option, targets.length === 1))
      else if ('issues' in checked) problems.push(...problemsOf(subject, checked.issues))
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

function isInside({ path = [] }: SchemaIssue): boolean {
  return path.length > 0
}

function atSink(document: ConfigDocument, { sink, path, atKey }: Target, { message }: SchemaIssue): Problem {
  return document.problem(path, `"${sink}" ${message}`, { atKey })
}

/** What a rule that says nothing more means, by the sinks' names. */
export async function defaultsOf(types: ReadonlyMap<string, SinkType>): Promise<Map<string, unknown>> {
  const defaults = new Map<string, unknown>()
  for (const [sink, type] of types) {
    const checked = await readRoute(type, {})
    if ('value' in checked) defaults.set(sink, checked.value)
  }
  return defaults
}

function noOption(
  document: ConfigDocument,
  { sink, path }: Target,
  { key, type }: Option,
  isAlone: boolean,
): Problem {
  return document.problem(
    [...path, key],
    `"${key}" is no option: sinks of type ${type} have none in a rule`,
    {
      atKey: true,
      hint: isAlone ? `write to: ${sink}` : `write ${sink}: {}`,
    },
  )
}

interface Option {
  key: string
  type: string
}

type Checked =
  | { value: unknown }
  | { issues: readonly SchemaIssue[] }
  /** One that is said of a type that has none. */
  | { option: Option }

/** What a rule says for a sink, as its type reads it. A type without a schema of its own takes nothing. */
export async function readRoute({ type, route }: SinkType, options: unknown): Promise<Checked> {
  if (route) {
    const result = (await route['~standard'].validate(options)) as Partial<Record<'value' | 'issues', never>>
    return result.issues ? { issues: result.issues } : { value: result.value }
  }
  const isMap = typeof options === 'object' && options !== null && !Array.isArray(options)
  if (!isMap) return { issues: [{ message: 'must be a map of options' }] }
  const [key] = Object.keys(options)
  if (key === undefined) return { value: {} }
  return { option: { key, type } }
}
