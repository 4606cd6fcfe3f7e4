import { randomBytes } from 'node:crypto'
import type { Config } from '../../config/schema.ts'
import { suggest } from '../../config/suggest.ts'
import { createDryRun } from '../../dry-run/dry-run.ts'
import { type Explanation, explainEvent } from '../../dry-run/explain-event.ts'
import { explainJson } from '../../dry-run/explain-json.ts'
import { explainText } from '../../dry-run/explain-text.ts'
import { sentLine, unsentLine } from '../../dry-run/lines.ts'
import { createPaint, wantsColour } from '../../dry-run/paint.ts'
import type { ReadChange } from '../../dry-run/read-changes.ts'
import { createStage, type Stage } from '../../dry-run/stage.ts'
import type { ClusterEvent } from '../../event.ts'
import { printable, printableJson } from '../../printable.ts'
import { readKubeEvent } from '../../watch/kube-event.ts'
import { findKubeconfig } from '../../watch/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from '../cluster-access.ts'
import { clusterName } from '../cluster-name.ts'
import type { PluginOptions } from '../reading/configuration.ts'
import { type DryConfiguration, readDryConfiguration } from '../reading/dry-configuration.ts'
import { UsageError } from '../usage-error.ts'
import { readExplainInput, readOneObject } from './explain-input.ts'
import { changeTypeOf, timeOf } from './explain-options.ts'

export interface ExplainOptions extends PluginOptions {
  config?: string
  context?: string
  type?: string
  old?: string
  rule?: string
  sink?: string
  at?: string
  json?: boolean
  all?: boolean
}

/** More than so many changes get a line each. */
const MOST_EXPLAINED = 5

/** Says what the rules make of an object, and why; nothing is sent. */
export async function explain(target: string, options: ExplainOptions): Promise<number> {
  if (target === '-' && options.config === '-')
    throw new UsageError('the standard input can be the configuration or the object, not both')
  const type = changeTypeOf(options.type)
  const atMs = timeOf(options.at)
  const configuration = await readDryConfiguration(options.config, options)
  const print = (text: string) => void process.stdout.write(configuration.hide(text))
  requireKnown(configuration, options)
  const input = await readExplainInput(target, configuration.config, options.context)
  const old = options.old === undefined ? undefined : await readOneObject(options.old)
  if (old !== undefined && input.changes.length > 1) throw new UsageError('--old goes with one object')
  const run = await createDryRun(configuration)
  const cluster = clusterName(configuration.config, () => contextName(configuration.config, options.context))
  const stage = createStage({ run, cluster, salt: randomBytes(16) })
  for (const object of input.around) stage.know(object, Date.now())
  for (const note of input.notes) process.stderr.write(`note: ${note}\n`)
  const paint = createPaint(!options.json && wantsColour(process.stdout, process.env))
  const isMany = input.changes.length > MOST_EXPLAINED && !options.all && options.rule === undefined
  let lastMs = 0
  let isFirst = true
  for (const change of input.changes) {
    const when = Math.max(atMs ?? change.atMs ?? ownTimeOf(change.object) ?? Date.now(), lastMs)
    lastMs = when
    const event = staged(
      stage,
      { ...change, ...(type && { type }), ...(old !== undefined && { old }) },
      when,
      input.from,
    )
    run.advance(when)
    const explanation = explainEvent(run, event, when)
    if (options.json)
      print(`${printableJson(explainJson(run, explanation), input.changes.length === 1 ? 2 : 0)}\n`)
    else if (isMany) print(linesOf(explanation, paint))
    else {
      const typeNote = type || change.type || change.old ? undefined : typeNoteOf(event)
      print(`${isFirst ? '' : '\n'}${explainText(run, explanation, { ...options, paint, typeNote })}`)
    }
    isFirst = false
  }
  if (isMany && !options.json) print(paint('dim', `(${input.changes.length} objects; --all explains each)\n`))
  return 0
}

/** As `run` names the cluster. A file is explained without a cluster, too: a kubeconfig that cannot be read is none. */
function contextName({ kubernetes }: Config, context: string | undefined): string | undefined {
  const options = kubeconfigOptions(kubernetes, context)
  try {
    return findKubeconfig(options) ? loadCluster(options).context : context
  } catch {
    return context
  }
}

function linesOf({ fate }: Explanation, paint: ReturnType<typeof createPaint>): string {
  const lines = [...fate.sent.map((it) => sentLine(it, paint)), unsentLine(fate, paint)]
  return lines
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('')
}

function typeNoteOf({ type, resource }: ClusterEvent): string | undefined {
  if (type !== 'ADDED' || resource.kind === 'Event') return undefined
  return 'taken for ADDED; --type MODIFIED and --old FILE ask otherwise'
}

/** An Event says itself when it was. */
function ownTimeOf(object: unknown): number | undefined {
  if ((object as { kind?: unknown } | null)?.kind !== 'Event') return undefined
  const { lastSeen } = readKubeEvent(object as Record<string, unknown>)
  const atMs = Date.parse(lastSeen ?? '')
  return Number.isNaN(atMs) ? undefined : atMs
}

function staged(stage: Stage, change: ReadChange, atMs: number, from: string): ClusterEvent {
  const told = stage.tell({ ...change, atMs })
  if (told.ok) return told.event
  const [first] = told.faults
  const where = first && first.path.length > 0 ? ` (${first.path.join('.')})` : ''
  const hint = first?.hint === undefined ? '' : `; ${first.hint}`
  throw new UsageError(printable(`${from}: ${first?.message ?? 'is no object'}${where}${hint}`))
}

function requireKnown({ config }: DryConfiguration, { rule, sink }: ExplainOptions): void {
  const check = (word: string, name: string | undefined, known: readonly string[]) => {
    if (name === undefined || known.includes(name)) return
    const hint = suggest(name, known, 'there are')
    throw new UsageError(`there is no ${word} "${name}"${hint ? `; ${hint}` : ''}`)
  }
  check(
    'rule',
    rule,
    config.rules.map(({ name }) => name),
  )
  check(
    'sink',
    sink,
    config.sinks.map(({ name }) => name),
  )
}
