import type { Config } from '../../config/schema.ts'
import { hiderOf } from '../../config/values/secrets.ts'
import type { SinkType } from '../../sink/index.ts'
import { createDryRun, type DryRun } from '../dry-run/dry-run.ts'

export interface ConfigInForce {
  /** A reload replaces it. */
  config(): Config
  load(type: string): Promise<SinkType>
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
    /** The same value without secrets in its texts. */
    hidden<Value>(value: Value): Value {
      const hider = hide()
      // Only in texts: a secret such as `true` or `100` is also a part of JSON.
      return JSON.parse(JSON.stringify(value), (_, it) => (typeof it === 'string' ? hider(it) : it)) as Value
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
