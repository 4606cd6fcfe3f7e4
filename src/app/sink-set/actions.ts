import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.ts'
import type { SilenceMatch } from '../../model/silence.ts'
import { checkSilence } from '../../rules/silences/check-silence.ts'
import type { ActionTarget, SinkActions } from '../../sink/index.ts'
import { acknowledgeIncident, listIncidents } from '../../store/control/incidents.ts'
import { addSilence, listSilences, SilenceRefusedError } from '../../store/control/silences.ts'
import type { Keys } from '../../store/keys.ts'

interface ActionParts {
  redis: Redis
  keys: Keys
  clock: { now(): number }
  /** Those of the configuration in force. */
  rules(): Config['rules']
}

/** The actions of sinks' users, on the silences and incidents in Redis. */
export function createSinkActions({ redis, keys, clock, rules }: ActionParts): SinkActions {
  return {
    of(name) {
      const rule = rules().find((it) => it.name === name)
      if (!rule) return []
      const keepsIncidents = rule.for !== undefined || Boolean(rule.resolve)
      return keepsIncidents ? ['silence', 'acknowledge'] : ['silence']
    },
    async silence(target, forMs, by) {
      const nowMs = clock.now()
      const match = matchOf(target)
      const before = (await listSilences(redis, keys, nowMs)).find(
        (it) =>
          it.state === 'active' &&
          it.untilMs - it.fromMs >= forMs &&
          JSON.stringify(it.match) === JSON.stringify(match),
      )
      if (before) return { kind: 'already', id: before.id, untilMs: before.untilMs, by: before.by }
      const names = { rules: rules().map(({ name }) => name), sinks: undefined }
      const asked = { match, fromMs: nowMs, untilMs: nowMs + forMs, reason: '', by }
      const checked = checkSilence(asked, names, nowMs)
      if (!checked.ok) return { kind: 'refused', detail: checked.faults.map(textOf).join('; ') }
      try {
        const { id, untilMs } = await addSilence(redis, keys, checked.value, nowMs)
        return { kind: 'done', id, untilMs, by }
      } catch (error) {
        if (error instanceof SilenceRefusedError) return { kind: 'refused', detail: error.message }
        throw error
      }
    },
    async acknowledge({ rule, kind, namespace, name }, by) {
      const object = `${kind} ${namespace ? `${namespace}/` : ''}${name}`
      const { items } = await listIncidents(redis, keys)
      const open = items.filter((it) => it.rule === rule && it.object === object)
      const atMs = clock.now()
      let isDone = false
      for (const incident of open.filter((it) => !it.acknowledged))
        isDone = (await acknowledgeIncident(redis, keys, incident, { by, atMs })) || isDone
      if (isDone) return { kind: 'done', by, atMs }
      const before = open.find((it) => it.acknowledged)?.acknowledged
      return before ? { kind: 'already', by: before.by, atMs: before.atMs } : { kind: 'none' }
    },
  }
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
