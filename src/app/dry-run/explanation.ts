import type { Config } from '../../config/schema.ts'
import { type ClusterEvent, headerOf } from '../../model/event.ts'
import type { Message, Preview } from '../../sink/index.ts'
import { isMap } from '../../text/plain-data.ts'
import type { ConfigSnapshot } from '../config-snapshot.ts'
import { type DryRun, type EventResult, type RuleResult, withLogs } from './dry-run.ts'
import { type ConditionResult, type Watched, watchedBy } from './match-report.ts'
import { limitTexts } from './rule-texts.ts'

/**
 * `matches`: the rule matches; `no`: a condition does not hold; `other-kind`: it is for objects of other kinds; `not-asked`: a rule
 * above has ended the evaluation.
 */
type Verdict = 'matches' | 'no' | 'other-kind' | 'not-asked'

export interface ExplainedRule {
  rule: string
  config: Config['rules'][number]
  /** `kubeherald.yaml:24:5` */
  place: string | undefined
  verdict: Verdict
  conditions: readonly ConditionResult[]
  /** Result of a rule that matches, or failed. */
  result?: RuleResult
  /** The message for each sink, sent as soon as the limits permit it. */
  messages: readonly { sink: string; type: string; message: Message }[]
}

/** The result of a configuration for one event, with the reasons. */
export interface Explanation {
  event: ClusterEvent
  watched: Watched
  /** The place of the entry of `watch` that selects it. */
  watchPlace: string | undefined
  rules: readonly ExplainedRule[]
  result: EventResult
}

/** Evaluates an event in the run and explains the result of each rule. */
export function explainEvent(run: DryRun, event: ClusterEvent, atMs: number): Explanation {
  const { config, choices } = run.snapshot
  const delivered = { event: headerOf(event), objectJson: event.objectJson }
  const result = run.evaluate(event, atMs)
  const watched = watchedBy(config.watch, event)
  let hasEnded = false
  const rules = config.rules.map((rule, index): ExplainedRule => {
    const { name } = rule
    const own = result.rules.find((it) => it.rule === name)
    const { ofKind, conditions } = run.conditionsOf(name, event)
    const isMatch = own !== undefined && own.outcome !== 'failed'
    const verdict = isMatch ? 'matches' : hasEnded ? 'not-asked' : ofKind ? 'no' : 'other-kind'
    if (isMatch && (rule.drop || rule.continue === false)) hasEnded = true
    const messages = (own?.sinks ?? []).map((sink) => ({
      sink,
      type: config.sinks.find((it) => it.name === sink)?.type ?? '',
      message: choices.render(withLogs(run.snapshot, { sink, rule: name, ...delivered }), 0),
    }))
    const place = config.placeOf?.(['rules', index, 'name'])
    return { rule: name, config: rule, place, verdict, conditions, ...(own && { result: own }), messages }
  })
  const watchPlace = watched.entry === undefined ? undefined : config.placeOf?.(['watch', watched.entry])
  return { event, watched, watchPlace, rules, result }
}

/** An explanation as plain data. */
export function explainJson(run: DryRun, { event, watched, watchPlace, rules, result }: Explanation): object {
  return {
    event: headerOf(event),
    watched: watched.entry === undefined ? false : { entry: watched.entry, place: watchPlace },
    ...(watched.entry === undefined && { watchMisses: watched.kinds }),
    counted: result.counted,
    rules: rules.map(({ rule, config, place, verdict, conditions, result: own, messages }) => ({
      rule,
      place,
      verdict,
      conditions: conditions.map((it) => ({ ...it, seen: it.seen ?? null })),
      limits: limitTexts(config),
      ...(own && { result: own }),
      messages: messages.map(({ message, ...it }) => ({ ...it, ...previewJson(run, message, it.sink) })),
    })),
    sent: result.sent.map(({ delivery: { sink, rule, notice } }) => ({
      sink,
      rule,
      ...(notice && { notice }),
    })),
  }
}

function previewJson(run: DryRun, message: Message, sink: string): object {
  try {
    return { ...shownPreview(run, message, sink), content: message.content }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

/** The preview of a message, with the path of the URL where that is written into the configuration. */
export function shownPreview(
  { snapshot }: { snapshot: Pick<ConfigSnapshot, 'config' | 'choices'> },
  message: Message,
  sink: string,
): Preview {
  const { path, options: _, ...preview } = snapshot.choices.preview(message, sink)
  const { target } = preview
  if (target === undefined || path === undefined || !hasLiteralUrl(snapshot.config, sink)) return preview
  return { ...preview, target: target + path }
}

/** Returns true if the URL of a sink has no reference in the configuration as it is written. */
function hasLiteralUrl({ written }: Config, sink: string): boolean {
  const sinks = written?.['sinks']
  const section = isMap(sinks) ? sinks[sink] : undefined
  const url = isMap(section) ? section['url'] : undefined
  return typeof url === 'string' && !url.includes('${')
}
