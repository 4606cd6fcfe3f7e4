import type { Located } from '../../config/source-node.ts'
import { hideSecrets } from '../../config/values/hide-secrets.ts'
import { isNamePlace } from '../../config/values/plain-values.ts'
import { hideTexts } from '../../config/values/secrets.ts'
import { isMap } from '../../text/plain-data.ts'
import { type PluginOptions, readDryConfiguration } from '../load-config/configuration.ts'
import { type DataFormat, dataText } from '../output/format.ts'
import { withDefaults } from './defaults.ts'

interface ShowOptions extends PluginOptions {
  config?: string
  defaults?: boolean
  output: DataFormat
}

/** Prints the configuration as kubeherald reads it: all files in one, without secrets. */
export async function showConfig(options: ShowOptions): Promise<number> {
  const { document, hide } = await readDryConfiguration(options.config, options)
  const merged = mergedConfig(document.at([]))
  const whole = options.defaults ? await withDefaults(merged) : merged
  process.stdout.write(dataText(hideTexts(whole, hide, isNamePlace), options.output))
  return 0
}

/** Keys that are resolved in the values of other keys. */
const RESOLVED = ['include', 'vars', 'defaults']

/** Returns the keys of the main file with the rules, watches and tests of all files; references as they are written, no secrets. */
export function mergedConfig(root: Located | undefined): Record<string, unknown> {
  const entries = [...(root?.entries ?? [])].filter(
    ([key]) => !RESOLVED.includes(key) && !key.startsWith('x-'),
  )
  const values = entries.map(([key, { value }]) => [key, writtenValue(value)] as const)
  return Object.fromEntries(
    values.map(([key, value]) => {
      if (key === 'sinks' || key === 'redis' || key === 'server') return [key, hideSecrets(value)]
      return [key, key === 'rules' && Array.isArray(value) ? value.map(withoutRouteSecrets) : value]
    }),
  )
}

function withoutRouteSecrets(rule: unknown): unknown {
  return isMap(rule) && rule['to'] !== undefined ? { ...rule, to: hideSecrets(rule['to']) } : rule
}

/** A value as it would be written in one file: variables filled in, `${env:…}` and `${file:…}` left, a plain `${` escaped. */
function writtenValue(at: Located): unknown {
  if (at.items) return at.items.map(writtenValue)
  if (at.entries)
    return Object.fromEntries([...at.entries].map(([key, { value }]) => [key, writtenValue(value)]))
  if (at.secrets.length > 0) return at.written ?? '***'
  return typeof at.value === 'string' ? at.value.replaceAll('${', () => '$${') : at.value
}
