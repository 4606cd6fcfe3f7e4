import { importBotkube } from './botkube.ts'
import { importEventExporter } from './event-exporter.ts'
import { toYaml } from './imported.ts'
import { importKubewatch } from './kubewatch.ts'
import type { Raw } from './read.ts'

const IMPORTERS = {
  'kubernetes-event-exporter': { make: importEventExporter, keys: ['route', 'receivers'] },
  kubewatch: { make: importKubewatch, keys: ['handler', 'resource'] },
  botkube: { make: importBotkube, keys: ['sources', 'communications'] },
} as const

export type Tool = keyof typeof IMPORTERS
export const TOOLS = Object.keys(IMPORTERS) as Tool[]

/** Whose configuration it looks like. */
export function recognise(raw: Raw): Tool | undefined {
  return TOOLS.find((tool) => IMPORTERS[tool].keys.every((key) => Object.hasOwn(raw, key)))
}

/** A configuration of kubeherald as YAML, with comments where something could not be carried over. */
export function importFrom(tool: Tool, raw: Raw): string {
  return toYaml(IMPORTERS[tool].make(raw))
}

/** The top-level keys that make it out. */
export function keysOf(tool: Tool): readonly string[] {
  return IMPORTERS[tool].keys
}
