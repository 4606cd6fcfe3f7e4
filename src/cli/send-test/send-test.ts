import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createDryRun } from '../../app/dry-run/dry-run.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { hiderOf, secretsOf } from '../../config/values/secrets.ts'
import { headerOf } from '../../model/event.ts'
import type { Message, Outcome, SinkType } from '../../sink/index.ts'
import { allSinks, sinkLoader } from '../../sink-types.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { printable } from '../../text/printable.ts'
import { redactMessage } from '../../text/redact.ts'
import { createScenario } from '../dry-run/scenario.ts'
import { clusterName, contextName } from '../environment.ts'
import {
  configurationFile,
  type PluginOptions,
  pluginsOff,
  readConfiguration,
} from '../load-config/configuration.ts'
import { outputPaint } from '../output/colour.ts'
import { dataText, type OutputOptions } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { requireRuleAndSink, UsageError } from '../usage-error.ts'
import { openSink } from './open-sink.ts'
import { testObject } from './test-object.ts'

interface SendTestOptions extends PluginOptions, OutputOptions {
  config?: string
  context?: string
  rule?: string
}

/** Sends one marked message to a sink as a rule renders it: 0 when the sink accepts it, else 1. */
export async function sendTest(sink: string, options: SendTestOptions): Promise<number> {
  const file = configurationFile(options.config)
  const { config, sinkTypes, document } = await readConfiguration(
    file,
    allSinks,
    undefined,
    pluginsOff(options),
  )
  requireRuleAndSink({ sink, ...(options.rule !== undefined && { rule: options.rule }) }, config)
  const section = config.sinks.find(({ name }) => name === sink) as SinkConfig
  const rule = ruleFor(sink, config, options.rule)
  if (!rule) note(`note: no rule sends to ${sink}: its defaults apply\n`)
  const load = sinkLoader(sinkTypes)
  const cluster = clusterName(config, () => contextName(config, options.context))
  const { message, target } = await testMessage({ config, load, cluster, sink, rule })
  const outcome = await sendTo(section, message, { load, cluster })
  const hide = hiderOf(secretsOf(document))
  const result = {
    sink,
    type: section.type,
    rule: rule?.name ?? null,
    ...(target !== undefined && { target: hide(target) }),
    ...shownOutcome(outcome, hide),
  }
  const { output } = options
  process.stdout.write(output === 'table' ? `${resultLine(result)}\n` : dataText(result, output))
  return outcome.kind === 'delivered' ? 0 : 1
}

type Rule = Config['rules'][number]

/** The named rule, else the first one that sends to the sink. Throws `UsageError` for a rule that does not. */
function ruleFor(sink: string, { rules }: Config, name: string | undefined): Rule | undefined {
  const sendsTo = ({ drop, to = [] }: Rule) => !drop && to.includes(sink)
  if (name === undefined) return rules.find(sendsTo)
  const rule = rules.find((it) => it.name === name) as Rule
  if (sendsTo(rule)) return rule
  const sinks = rule.drop
    ? 'it drops'
    : rule.to?.length
      ? `it sends to ${rule.to.join(', ')}`
      : 'it sends nothing'
  throw new UsageError(`rule "${name}" does not send to ${sink}: ${sinks}`)
}

interface TestMessageParts {
  config: Config
  load(type: string): Promise<SinkType>
  cluster: string
  sink: string
  rule: Rule | undefined
}

async function testMessage({ config, load, cluster, sink, rule }: TestMessageParts) {
  const run = await createDryRun({ config, load })
  const scenario = createScenario({ run, cluster, salt: randomBytes(16) })
  const object = testObject(rule?.when ?? {})
  // Receivers that know an id refuse it, or take it for a repeat.
  const metadata = { ...(object['metadata'] as object), uid: randomUUID() }
  const result = scenario.change({ object: { ...object, metadata }, atMs: Date.now() })
  if (!result.ok) throw new Error(`the test object is wrong: ${result.faults[0]?.message}`)
  const { event } = result
  const delivery = {
    sink,
    rule: rule?.name ?? 'send-test',
    event: headerOf(event),
    objectJson: event.objectJson,
  }
  const message = marked(run.snapshot.choices.render(delivery, 0))
  return { message, target: targetOf(() => run.snapshot.choices.preview(message, sink).target) }
}

/** Undefined where the target cannot be rendered: the sink then rejects the message, with the reason. */
function targetOf(preview: () => string | undefined): string | undefined {
  try {
    return preview()
  } catch {
    return undefined
  }
}

/** The same message with a title that begins with `TEST:`. */
function marked(message: Message): Message {
  const withMark = <It extends { title: string }>(it: It) => ({ ...it, title: `TEST: ${it.title}` })
  return {
    id: message.id,
    rule: message.rule,
    labels: message.labels,
    ...(message.severity && { severity: message.severity }),
    event: message.event,
    route: message.route,
    attempt: message.attempt,
    objectJson: message.objectJson,
    cloudEvent: message.cloudEvent,
    get object() {
      return message.object
    },
    get summary() {
      return withMark(message.summary)
    },
    get content() {
      return withMark(message.content)
    },
  }
}

/** Also with the pauses that the sink asks for. */
const LIMIT_MS = 45_000

async function sendTo(
  section: SinkConfig,
  message: Message,
  { load, cluster }: Pick<TestMessageParts, 'load' | 'cluster'>,
): Promise<Outcome> {
  const signal = AbortSignal.timeout(LIMIT_MS)
  try {
    const sink = await openSink(section, load, cluster)
    try {
      for (;;) {
        const [outcome = NO_OUTCOME] = await sink.deliver([message], signal)
        if (outcome.kind !== 'later') return outcome
        await pause(outcome.afterMs, undefined, { signal })
      }
    } finally {
      await (async () => sink.close())().catch(() => {})
    }
  } catch (error) {
    const detail = signal.aborted
      ? `no answer within ${LIMIT_MS / 1_000} s`
      : String((error as Error)?.message ?? error)
    return { kind: 'retry', reason: signal.aborted ? 'timeout' : 'unknown', detail, scope: 'sink' }
  }
}

const NO_OUTCOME: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'the sink gives no outcome',
  scope: 'sink',
}

/** An outcome as plain data, without secrets. */
function shownOutcome(
  outcome: Outcome,
  hide: (text: string) => string,
): { outcome: string; reason?: string; detail?: string } {
  if (outcome.kind === 'delivered') return { outcome: outcome.kind }
  if (outcome.kind === 'later') return { outcome: outcome.kind }
  const { kind, reason, detail } = outcome
  // Secrets first: redaction changes URLs, and a secret may be one.
  return { outcome: kind, reason, detail: redactMessage(friendlyError(hide(detail))) }
}

interface TestResult extends ReturnType<typeof shownOutcome> {
  sink: string
  type: string
  rule: string | null
  target?: string
}

function resultLine({ sink, type, rule, target, outcome, reason, detail = '' }: TestResult): string {
  const paint = outputPaint()
  const where = `${sink} (${[type, target]
    .filter(Boolean)
    .map((it) => printable(it as string))
    .join(', ')})`
  if (outcome === 'delivered')
    return `${paint('good', '✓')} ${where} accepted the test message${rule === null ? '' : ` of rule ${rule}`}`
  return `${paint('bad', '✗')} ${where} did not accept it: ${reason}: ${printable(detail)}`
}
