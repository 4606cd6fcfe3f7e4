import type { SinkType } from '../src/sink/index.ts'

/** The built-in sinks, by the word that stands behind `type:`. Each is loaded when a configuration names it. */
export const builtInSinks = {
  kafka: async () => (await import('./kafka/index.ts')).default as SinkType,
  slack: async () => (await import('./slack/index.ts')).default as SinkType,
  file: async () => (await import('./file/index.ts')).default as SinkType,
  stdout: async () => (await import('./stdout/index.ts')).default as SinkType,
  webhook: async () => (await import('./webhook/index.ts')).default as SinkType,
} satisfies Record<string, () => Promise<SinkType>>
