import { importBotkube } from './botkube.ts'
import { importEventExporter } from './event-exporter.ts'
import { type Imported, toYaml } from './imported.ts'
import { importKubewatch } from './kubewatch.ts'
import { mapOf, type Raw } from './read.ts'

const IMPORTERS = {
  'kubernetes-event-exporter': {
    make: importEventExporter,
    keys: ['route', 'receivers'],
    lists: ['receivers'],
  },
  kubewatch: { make: importKubewatch, keys: ['handler', 'resource'], lists: [] },
  botkube: { make: importBotkube, keys: ['sources', 'communications'], lists: [] },
} as const satisfies Readonly<Record<string, Importer>>

interface Importer {
  make(raw: Raw): Imported
  /** The top-level keys that make it out. */
  keys: readonly string[]
  /** Those of them that are lists; the others are maps. */
  lists: readonly string[]
}

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

/** The first top-level key whose value is of the wrong type; undefined when nothing is wrong. Absent keys are no fault. */
export function shapeFault(tool: Tool, raw: Raw): { key: string; fault: string } | undefined {
  const { keys, lists }: Importer = IMPORTERS[tool]
  for (const key of keys) {
    const value = raw[key]
    if (value === undefined || value === null) continue
    if (lists.includes(key)) {
      if (!Array.isArray(value)) return { key, fault: `"${key}" must be a list` }
    } else if (mapOf(value) !== value) return { key, fault: `"${key}" must be a map of keys and values` }
  }
  return undefined
}
