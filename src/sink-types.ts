import { PRESET_NAMES, type PresetName } from '../sinks/webhook/presets/names.ts'
import type { SinkType } from './sink/index.ts'

/** Loads a sink type by the word behind `type:`, of plug-ins or built in. */
export function sinkLoader(
  sinkTypes: Readonly<Record<string, SinkType>> = {},
): (type: string) => Promise<SinkType> {
  return async (type) => sinkTypes[type] ?? allSinks[type as keyof typeof allSinks]()
}

/** The type that needs no options. */
export const DEFAULT_SINK = 'stdout'

/** The built-in sinks by type. Each is loaded when a configuration uses it. */
export const builtInSinks = {
  kafka: async () => (await import('../sinks/kafka/index.ts')).default as SinkType,
  slack: async () => (await import('../sinks/slack/index.ts')).default as SinkType,
  email: async () => (await import('../sinks/email/index.ts')).default as SinkType,
  file: async () => (await import('../sinks/file/index.ts')).default as SinkType,
  stdout: async () => (await import('../sinks/stdout/index.ts')).default as SinkType,
  webhook: async () => (await import('../sinks/webhook/index.ts')).default as SinkType,
} satisfies Record<string, () => Promise<SinkType>>

/** The presets of the webhook sink as types of their own. */
const presetSinks = Object.fromEntries(
  PRESET_NAMES.map((name) => [
    name,
    async () => (await (await import('../sinks/webhook/index.ts')).presetType(name)) as SinkType,
  ]),
) as Record<PresetName, () => Promise<SinkType>>

/** Everything that may stand behind `type:` without a plug-in. */
export const allSinks = { ...builtInSinks, ...presetSinks }
