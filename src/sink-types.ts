import type { SinkType } from './sink/index.ts'

/** Loads a sink type by the word behind `type:`, of plug-ins or built in. */
export function sinkLoader(
  sinkTypes: Readonly<Record<string, SinkType>> = {},
): (type: string) => Promise<SinkType> {
  return async (type) => sinkTypes[type] ?? builtInSinks[type as keyof typeof builtInSinks]()
}

/** The type that needs no options. */
export const DEFAULT_SINK = 'stdout'

/** The built-in sinks by type. Each is loaded when a configuration uses it. */
export const builtInSinks = {
  kafka: async () => (await import('../sinks/kafka/index.ts')).default as SinkType,
  slack: async () => (await import('../sinks/slack/index.ts')).default as SinkType,
  file: async () => (await import('../sinks/file/index.ts')).default as SinkType,
  stdout: async () => (await import('../sinks/stdout/index.ts')).default as SinkType,
  webhook: async () => (await import('../sinks/webhook/index.ts')).default as SinkType,
} satisfies Record<string, () => Promise<SinkType>>
