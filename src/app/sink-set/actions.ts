import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.ts'
import type { SilenceMatch } from '../../model/control.ts'
import { MAX_ACTOR } from '../../model/control.ts'
import { forOf } from '../../rules/limits/rule-plan.ts'
import { compileSilence } from '../../rules/silences/silence-match.ts'
import type { AcknowledgeAnswer, ActionTarget, SilenceAnswer, SinkActions } from '../../sink/index.ts'
import { acknowledgeIncident, findIncidents } from '../../store/control/incidents.ts'
import { addSilence, listSilences, SilenceRefusedError } from '../../store/control/silences.ts'
import type { Keys } from '../../store/keys.ts'
import { objectTitle } from '../../text/object-title.ts'

interface ActionParts {
  redis: Redis
  keys: Keys
  clock: { now(): number }
  /** Those of the configuration in force. */
  rules(): Config['rules']
}

/** The actions of sinks' users, on the silences and incidents in Redis. */
export function createSinkActions(parts: ActionParts): SinkActions {
  const ruleOf = (name: string) => parts.rules().find((it) => it.name === name)
  return {
    of(name) {
      const rule = ruleOf(name)
      if (!rule) return []
      const keepsIncidents = forOf(rule) !== undefined || Boolean(rule.resolve)
      return keepsIncidents ? ['silence', 'acknowledge'] : ['silence']
    },
    async silence(target, forMs, by) {
      if (!ruleOf(target.rule)) return { kind: 'refused', detail: 'there is no such rule any more' }
      return silence(parts, target, forMs, by)
    },
    acknowledge: (target, by) => acknowledge(parts, target, by),
  }
}

async function silence(
  { redis, keys, clock }: ActionParts,
  target: ActionTarget,
  forMs: number,
  by: string,
): Promise<SilenceAnswer> {
  const nowMs = clock.now()
  const match = matchOf(target)
  const before = (await listSilences(redis, keys, nowMs)).find(
    (it) =>
      it.state === 'active' &&
      it.untilMs - it.fromMs >= forMs &&
      JSON.stringify(it.match) === JSON.stringify(match),
  )
  if (before) return { kind: 'already', id: before.id, untilMs: before.untilMs, by: before.by }
  const compiled = compileSilence(match)
  if (!compiled.ok) return { kind: 'refused', detail: compiled.faults.map(textOf).join('; ') }
  const draft = { match, fromMs: nowMs, untilMs: nowMs + forMs, reason: '', by: by.slice(0, MAX_ACTOR) }
  try {
    const { id, untilMs } = await addSilence(redis, keys, draft, nowMs)
    return { kind: 'done', id, untilMs, by }
  } catch (error) {
    if (error instanceof SilenceRefusedError) return { kind: 'refused', detail: error.message }
    throw error
  }
}

async function acknowledge(
  { redis, keys, clock }: ActionParts,
  target: ActionTarget,
  actor: string,
): Promise<AcknowledgeAnswer> {
  const by = actor.slice(0, MAX_ACTOR)
  const object = objectTitle(target)
  const isAbout = (it: Parameters<typeof objectTitle>[0]) => objectTitle(it) === object
  const open = await findIncidents(redis, keys, { rule: target.rule, isAbout })
  const atMs = clock.now()
  let isDone = false
  for (const incident of open.filter((it) => !it.acknowledged))
    if (await acknowledgeIncident(redis, keys, incident, { by, atMs })) isDone = true
  if (isDone) return { kind: 'done', by, atMs }
  const before = open.find((it) => it.acknowledged)?.acknowledged
  return before ? { kind: 'already', by: before.by, atMs: before.atMs } : { kind: 'none' }
}

/** Names of objects are no patterns: some kinds allow "*" in them. */
function matchOf({ rule, kind, namespace, name, isRegarded }: ActionTarget): SilenceMatch {
  const object = {
    kind: literal(kind),
    ...(namespace && { namespace: literal(namespace) }),
    name: literal(name),
  }
  return isRegarded ? { rule: literal(rule), regarding: object } : { rule: literal(rule), ...object }
}

/** Escapes what has a meaning in patterns of `when`. */
function literal(text: string): string {
  return text.replace(/[*?!/\\]/g, '\\$&')
}

function textOf({ path, message }: { path: readonly (string | number)[]; message: string }): string {
  return `${path.join('.')} ${message}`
}
