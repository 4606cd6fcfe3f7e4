import { builtInSinks } from '../sinks/index.ts'
import type { SinkType } from './sink/index.ts'

/** Loads a sink type by the word behind `type:`, of plug-ins or built in. */
export function sinkLoader(
  sinkTypes: Readonly<Record<string, SinkType>> = {},
): (type: string) => Promise<SinkType> {
  return async (type) => sinkTypes[type] ?? builtInSinks[type as keyof typeof builtInSinks]()
}

export { builtInSinks }
