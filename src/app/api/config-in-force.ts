import type { Config } from '../../config/schema.ts'
import { hiderOf, hideTexts } from '../../config/values/secrets.ts'
import type { SinkType } from '../../sink/index.ts'
import { createDryRun, type DryRun } from '../dry-run/dry-run.ts'

export interface ConfigInForce {
  /** A reload replaces it. */
  config(): Config
  load(type: string): Promise<SinkType>
}

/** What an answer is about: without it no link would lead anywhere. */
const IDENTITY = new Set(['id', 'kind', 'namespace', 'name', 'rule', 'sink'])
/** Their content has any keys. */
const FREE_FORM = new Set(['expected', 'changes', 'notification'])

function isIdentity(path: readonly string[]): boolean {
  const key = path.at(-1) ?? ''
  const isNamed = IDENTITY.has(key) || (key === '*' && path.at(-2) === 'sinks')
  return isNamed && !path.some((it) => FREE_FORM.has(it))
}

/** What the API makes of the configuration in force, once for each: a function that hides its secrets, and its rules without effects. */
export function configInForce({ config, load }: ConfigInForce) {
  const hiders = new WeakMap<Config, (text: string) => string>()
  const runs = new WeakMap<Config, Promise<DryRun>>()
  function hide(): (text: string) => string {
    const current = config()
    const known = hiders.get(current) ?? hiderOf(current.secrets ?? [])
    hiders.set(current, known)
    return known
  }
  return {
    hide,
    /** The same answer without secrets in its texts. */
    hidden<Value>(value: Value): Value {
      return hideTexts(JSON.parse(JSON.stringify(value)), hide(), isIdentity) as Value
    },
    /** Its limits have no states; it counts nothing. */
    dryRun(): Promise<DryRun> {
      const current = config()
      const known = runs.get(current) ?? createDryRun({ config: current, load })
      runs.set(current, known)
      return known
    },
  }
}
