import type { SinkType } from '../sink/index.ts'
import { mapInSlices, TimeSlice } from '../text/yielding.ts'
import { type CheckedValue, placeIn } from './checked-value.ts'
import { checkable, configOf } from './config-of.ts'
import { defaultsOf, factsOf, readRoute, readSink, type SinkTypes } from './lint/sinks.ts'
import { NO_RULE, namedSinks, type Routes } from './routes.ts'
import { type Config, ConfigFile, RuleWithMessage, type SinkConfig } from './schema.ts'

const Rest = ConfigFile.omit({ rules: true })

/**
 * Makes a configuration of what was checked, in slices that give the event loop back. Undefined when something of it is not
 * good all the same: options of a plug-in's sink, which only its own type can check.
 */
export async function assemble(
  { rest, rules: rawRules, secrets, places }: CheckedValue,
  { folder, sinkTypes }: { folder: string; sinkTypes: SinkTypes },
): Promise<Config | undefined> {
  const parsed = Rest.safeParse(checkable(rest))
  const rules = await mapInSlices(rawRules, (rule) => RuleWithMessage.safeParse(rule))
  if (!parsed.success || rules.some(({ success }) => !success)) return undefined
  const types = new Map<string, SinkType>()
  const sinks: SinkConfig[] = []
  for (const [name, section] of Object.entries(parsed.data.sinks)) {
    const load = Object.hasOwn(sinkTypes, section.type) ? sinkTypes[section.type] : undefined
    if (!load) return undefined
    const type = await load()
    types.set(name, type)
    const raw = (rest['sinks'] as Record<string, Record<string, unknown>>)[name] ?? {}
    const read = await readSink(name, type, raw)
    if ('issues' in read) return undefined
    sinks.push(read.sink)
  }
  const routes = await routesOf(rawRules, types, sinks)
  if (!routes) return undefined
  const data = { ...parsed.data, rules: rules.flatMap((it) => (it.success ? it.data : [])) }
  return configOf(data, {
    folder,
    sinks,
    routes,
    secrets,
    written: { ...rest, rules: rawRules },
    placeOf: (path, offset) => placeIn(places, path, offset),
  })
}

async function routesOf(
  rules: readonly unknown[],
  types: ReadonlyMap<string, SinkType>,
  sinks: readonly SinkConfig[],
): Promise<Routes | undefined> {
  const sections = new Map(sinks.map((sink) => [sink.name, sink.options]))
  const routes = new Map([[NO_RULE, await defaultsOf(types)]])
  const timeSlice = new TimeSlice()
  for (const rule of rules as readonly { name: string; to?: unknown }[]) {
    if (timeSlice.isDue()) await timeSlice.take()
    const facts = factsOf(rule)
    const options = new Map<string, unknown>()
    for (const [sink, said] of namedSinks(rule.to)) {
      const type = types.get(sink)
      if (!type || options.has(sink)) continue
      const read = await readRoute(type, said)
      if (!('value' in read)) return undefined
      const lacking = type.checkRoute?.(read.value, sections.get(sink), facts) ?? []
      if (lacking.some(({ severity }) => severity !== 'warning')) return undefined
      options.set(sink, read.value)
    }
    routes.set(rule.name, options)
  }
  return routes
}
