import type { Config } from '../config/schema.ts'
import { type ClusterEvent, headerOf } from '../event.ts'
import type { Message } from '../sink/index.ts'
import type { DryRun, Fate, RuleFate } from './dry-run.ts'
import type { Asked } from './explain-rule.ts'
import { type Watched, watchedBy } from './watched.ts'

/**
 * `matches`: it takes the event, `fate` says what comes of it; `no`: something that it asks is not so; `other-kind`: it is
 * for objects of other kinds; `not-asked`: a rule above has ended it.
 */
export type Verdict = 'matches' | 'no' | 'other-kind' | 'not-asked'

export interface ExplainedRule {
  rule: string
  /** Where it stands: `kubeherald.yaml:24:5`. */
  place: string | undefined
  verdict: Verdict
  asked: readonly Asked[]
  /** Of a rule that matches, or failed. */
  fate?: RuleFate
  /** What each sink would be sent, as soon as its limits let it. */
  messages: readonly { sink: string; type: string; message: Message }[]
}

/** What a configuration makes of one event, and why. */
export interface Explanation {
  event: ClusterEvent
  watched: Watched
  /** Where the entry of `watch` stands that brings it. */
  watchPlace: string | undefined
  rules: readonly ExplainedRule[]
  fate: Fate
}

/** Explains what becomes of an event; the run is fed with it. */
export function explainEvent(run: DryRun, event: ClusterEvent, atMs: number): Explanation {
  const { config } = run.generation
  const fate = run.feed(event, atMs)
  const watched = watchedBy(config.watch, event)
  let ended = false
  const rules = config.rules.map((rule, index): ExplainedRule => {
    const { name } = rule
    const own = fate.rules.find((it) => it.rule === name)
    const { ofKind, asked } = run.ask(name, event)
    const verdict =
      own && own.fate !== 'failed' ? 'matches' : ended ? 'not-asked' : ofKind ? 'no' : 'other-kind'
    if (verdict === 'matches' && (rule.drop || rule.continue === false)) ended = true
    return {
      rule: name,
      place: placeOf(config, ['rules', index, 'name']),
      verdict,
      asked,
      ...(own && { fate: own }),
      messages: own ? messagesOf(run, event, own) : [],
    }
  })
  const watchPlace = watched.entry === undefined ? undefined : placeOf(config, ['watch', watched.entry])
  return { event, watched, watchPlace, rules, fate }
}

function messagesOf({ generation }: DryRun, event: ClusterEvent, { rule, sinks }: RuleFate) {
  const { config, choices } = generation
  return sinks.map((sink) => ({
    sink,
    type: config.sinks.find((it) => it.name === sink)?.type ?? '',
    message: choices.render({ sink, rule, event: headerOf(event), objectJson: event.objectJson }, 0),
  }))
}

function placeOf({ placeOf }: Config, path: readonly PropertyKey[]): string | undefined {
  return placeOf?.(path)
}
