import { randomBytes } from 'node:crypto'
import { createDryRun } from '../../app/dry-run/dry-run.ts'
import { type Explanation, explainEvent, explainJson } from '../../app/dry-run/explanation.ts'
import type { ChangeType, ClusterEvent } from '../../model/event.ts'
import { nearest } from '../../text/closest-match.ts'
import { printable } from '../../text/printable.ts'
import { clusterName, contextName } from '../environment.ts'
import type { PluginOptions } from '../load-config/configuration.ts'
import { readDryConfiguration } from '../load-config/configuration.ts'
import { outputPaint, type Paint } from '../output/colour.ts'
import { dataText, type OutputOptions, recordText } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { requireRuleAndSink, timeOf, UsageError } from '../usage-error.ts'
import { readExplainInput, readOneObject } from './explain-input.ts'
import { explainText } from './explain-text.ts'
import { lastSeenMs, type ReadChange } from './read-objects.ts'
import { createScenario, type Scenario } from './scenario.ts'
import { sentLine, unsentLine } from './terminal-text.ts'

interface ExplainOptions extends PluginOptions, OutputOptions {
  config?: string
  context?: string
  type?: string
  old?: string
  rule?: string
  sink?: string
  at?: string
  all?: boolean
}

/** More changes get one line each. */
const MAX_EXPLAINED = 5

/** Prints the result of each rule for an object, with the reasons; nothing is sent. */
export async function explain(target: string, options: ExplainOptions): Promise<number> {
  if (target === '-' && options.config === '-')
    throw new UsageError('the standard input can be the configuration or the object, not both')
  const type = changeTypeOf(options.type)
  const atMs = options.at === undefined ? undefined : timeOf('--at', options.at)
  const configuration = await readDryConfiguration(options.config, options)
  const print = (text: string) => void process.stdout.write(configuration.hide(text))
  const { config } = configuration
  requireRuleAndSink(options, config)
  const input = await readExplainInput(target, config, options.context)
  const old = options.old === undefined ? undefined : await readOneObject(options.old)
  if (old !== undefined && input.changes.length > 1) throw new UsageError('--old goes with one object')
  const run = await createDryRun(configuration)
  const cluster = clusterName(config, () => contextName(config, options.context))
  const scenario = createScenario({ run, cluster, salt: randomBytes(16) })
  for (const object of input.around) scenario.addRelated(object, Date.now())
  for (const it of input.notes) note(`note: ${it}\n`)
  const { output } = options
  const isOne = input.changes.length === 1
  const paint = outputPaint()
  const isMany = input.changes.length > MAX_EXPLAINED && !options.all && options.rule === undefined
  let lastMs = 0
  for (const [index, change] of input.changes.entries()) {
    lastMs = Math.max(atMs ?? change.atMs ?? lastSeenMs(change.object) ?? Date.now(), lastMs)
    const given = { ...change, ...(type && { type }), ...(old !== undefined && { old }) }
    const event = eventOf(scenario, given, lastMs, input.from)
    run.advance(lastMs)
    const explanation = explainEvent(run, event, lastMs)
    if (output !== 'table') {
      const data = explainJson(run, selected(explanation, options))
      print(isOne ? dataText(data, output) : recordText(data, output))
    } else if (isMany) print(summaryLines(explanation, options.sink, paint))
    else {
      const typeNote = type || change.type || change.old ? undefined : typeNoteOf(event)
      print(`${index === 0 ? '' : '\n'}${explainText(run, explanation, { ...options, paint, typeNote })}`)
    }
  }
  if (isMany && output === 'table')
    print(paint('dim', `(${input.changes.length} objects; --all explains each)\n`))
  return 0
}

/** The part of an explanation that `--rule` and `--sink` ask for. */
function selected(it: Explanation, { rule, sink }: Pick<ExplainOptions, 'rule' | 'sink'>): Explanation {
  const isWanted = (ofRule: string, ofSink: string) =>
    (rule ?? ofRule) === ofRule && (sink ?? ofSink) === ofSink
  const rules = it.rules
    .filter((own) => (rule ?? own.rule) === own.rule)
    .map((own) => ({ ...own, messages: own.messages.filter((to) => isWanted(own.rule, to.sink)) }))
  const sent = it.result.sent.filter(({ delivery }) => isWanted(delivery.rule, delivery.sink))
  return { ...it, rules, result: { ...it.result, sent } }
}

/** With a sink: nothing of events of which no rule has something for it. */
function summaryLines({ result }: Explanation, sink: string | undefined, paint: Paint): string {
  const sent = result.sent.filter(({ delivery }) => (sink ?? delivery.sink) === delivery.sink)
  const isForSink = sink === undefined || result.rules.some(({ sinks }) => sinks.includes(sink))
  return [...sent.map((it) => sentLine(it, paint)), isForSink ? unsentLine(result, paint) : '']
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('')
}

function typeNoteOf({ type, resource }: ClusterEvent): string | undefined {
  if (type !== 'ADDED' || resource.kind === 'Event') return undefined
  return 'taken for ADDED; --type MODIFIED and --old FILE ask otherwise'
}

function eventOf(scenario: Scenario, change: ReadChange, atMs: number, from: string): ClusterEvent {
  const result = scenario.change({ ...change, atMs })
  if (result.ok) return result.event
  const [first] = result.faults
  const where = first && first.path.length > 0 ? ` (${first.path.join('.')})` : ''
  const hint = first?.hint === undefined ? '' : `; ${first.hint}`
  throw new UsageError(printable(`${from}: ${first?.message ?? 'is not an object'}${where}${hint}`))
}

const TYPES: readonly ChangeType[] = ['ADDED', 'MODIFIED', 'DELETED']

function changeTypeOf(text: string | undefined): ChangeType | undefined {
  if (text === undefined) return undefined
  const type = TYPES.find((it) => it === text.toUpperCase())
  if (type) return type
  const near = nearest(text, TYPES)
  throw new UsageError(
    `--type takes ADDED, MODIFIED or DELETED, and not "${text}"${near ? `; did you mean ${near}?` : ''}`,
  )
}
