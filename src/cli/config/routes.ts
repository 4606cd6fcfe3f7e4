import { limitTexts, shownValue } from '../../app/dry-run/rule-texts.ts'
import { namedSinks } from '../../config/routes.ts'
import type { Config } from '../../config/schema.ts'
import { hideSecrets } from '../../config/values/hide-secrets.ts'
import { hideTexts } from '../../config/values/secrets.ts'
import { isMap } from '../../text/plain-data.ts'
import { printable } from '../../text/printable.ts'
import { counted } from '../../text/quantities.ts'
import { type PluginOptions, readDryConfiguration } from '../load-config/configuration.ts'
import { outputPaint, type Paint } from '../output/colour.ts'
import { dataText, type OutputOptions } from '../output/format.ts'
import { requireRuleAndSink } from '../usage-error.ts'

interface RoutesOptions extends PluginOptions, OutputOptions {
  config?: string
  rule?: string
  sink?: string
}

/** Prints which rule sends to which sink; reads neither secrets nor the cluster. */
export async function routes(options: RoutesOptions): Promise<number> {
  const { config, file, hide } = await readDryConfiguration(options.config, options)
  requireRuleAndSink(options, config)
  const { rule, sink, output } = options
  const all = routesOf(config)
  const rules = all.rules.filter(
    (it) => (rule ?? it.rule) === it.rule && (sink === undefined || it.to.some((to) => to.sink === sink)),
  )
  const shown = rules.map((it) => ({
    ...it,
    conditions: it.conditions.map(({ name, value }) => ({ name, value: hideTexts(value, hide) })),
    limits: it.limits.map(({ name, text }) => ({ name, text: hide(text) })),
    to: it.to.map((to) => ({ ...to, options: hideTexts(to.options, hide) })),
  }))
  const data = { file, ...all, rules: shown }
  const isWhole = rule === undefined && sink === undefined
  process.stdout.write(output === 'table' ? routesText(data, isWhole, outputPaint()) : dataText(data, output))
  return 0
}

/** The route of a rule, as plain data. */
interface RuleRoute {
  rule: string
  place: string | undefined
  /** `drop`: a match sends nothing and ends the evaluation; `end`: it sends, and ends it. */
  onMatch: 'continue' | 'end' | 'drop'
  conditions: readonly { name: string; value: unknown }[]
  limits: readonly { name: string; text: string }[]
  to: readonly { sink: string; type: string; options: unknown }[]
}

interface Routes {
  rules: readonly RuleRoute[]
  /** Sinks to which no rule sends. */
  unused: readonly string[]
}

/** Returns the routes of a configuration that shows references as they are written. */
export function routesOf({ rules, sinks, written, placeOf }: Config): Routes {
  const types = new Map(sinks.map(({ name, type }) => [name, type]))
  const list = written?.['rules']
  const sources = Array.isArray(list) ? list : []
  const found = rules.map((rule, index): RuleRoute => {
    const source: unknown = sources[index]
    return {
      rule: rule.name,
      place: placeOf?.(['rules', index, 'name']),
      onMatch: rule.drop ? 'drop' : rule.continue === false ? 'end' : 'continue',
      conditions: isMap(source) ? conditionsIn(source) : [],
      limits: rule.drop ? [] : limitTexts(rule),
      to: rule.drop ? [] : targetsIn(source, types),
    }
  })
  const used = new Set(found.flatMap(({ to }) => to.map(({ sink }) => sink)))
  return { rules: found, unused: sinks.map(({ name }) => name).filter((name) => !used.has(name)) }
}

function targetsIn(source: unknown, types: ReadonlyMap<string, string>): RuleRoute['to'] {
  const named = isMap(source) && source['to'] !== undefined ? namedSinks(source['to']) : []
  return named.map(([sink, options]) => ({
    sink,
    type: types.get(sink) ?? '',
    options: hideSecrets(options),
  }))
}

const CONDITIONS = ['if', 'changed', 'unchanged', 'from', 'to-state', 'condition']

/** The conditions of a rule as written; those of `regarding` each by itself. */
function conditionsIn(source: Readonly<Record<string, unknown>>): RuleRoute['conditions'] {
  const { regarding, ...when } = isMap(source['when']) ? source['when'] : {}
  const own = CONDITIONS.filter((key) => source[key] !== undefined).map((key) => [key, source[key]] as const)
  const all = [
    ...Object.entries(when),
    ...Object.entries(isMap(regarding) ? regarding : {}).map(
      ([key, value]) => [`regarding.${key}`, value] as const,
    ),
    ...own,
  ]
  return all.map(([name, value]) => ({ name, value }))
}

/** Rules as a tree: conditions and limits first, then the sinks. */
function routesText(
  { file, rules, unused }: Routes & { file: string },
  isWhole: boolean,
  paint: Paint,
): string {
  const lines = [paint('bold', `${printable(file)}: ${counted(rules.length, 'rule')}`)]
  for (const rule of rules) lines.push('', ...ruleLines(rule, paint))
  if (isWhole && unused.length > 0) lines.push('', paint('warn', `no rule sends to ${unused.join(', ')}`))
  return `${lines.join('\n')}\n`
}

function ruleLines({ rule, place, onMatch, conditions, limits, to }: RuleRoute, paint: Paint): string[] {
  const where = place === undefined ? '' : `  ${paint('dim', printable(place))}`
  const asked = conditions.map(({ name, value }) => `${name} ${shownValue(value, MAX_CONDITION)}`).join(' · ')
  const detail = [asked || 'every event', ...limits.map(({ name, text }) => `${name} ${text}`.trim())]
  const branches = [
    ...to.map(
      ({ sink, type, options }) =>
        `${paint('good', `→ ${sink}`)}  ${paint('dim', shownTarget(type, options))}`,
    ),
    ...(onMatch === 'drop' ? [paint('warn', '■ dropped: no rule below sees it')] : []),
    ...(onMatch === 'end' ? [paint('dim', '■ no rule below sees it')] : []),
    ...(to.length === 0 && onMatch !== 'drop' ? [paint('warn', '∅ names no sink')] : []),
  ]
  return [
    `${paint('bold', rule)}${where}`,
    ...detail.map((line, i) => `│ ${i === 0 ? line : paint('info', `limit ${line}`)}`),
    ...branches.map((line, i) => `${i === branches.length - 1 ? '└' : '├'} ${line}`),
  ]
}

const MAX_CONDITION = 60

function shownTarget(type: string, options: unknown): string {
  const own = isMap(options) && Object.keys(options).length > 0 ? `, ${shownValue(options)}` : ''
  return `${printable(type)}${own}`
}
