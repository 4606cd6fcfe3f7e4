import { readdirSync, readFileSync } from 'node:fs'

/** How a set is named: `kubeherald:crash-loops`. */
export const SET = 'kubeherald:'

/** The folder of the bundle, or that of the sources. */
const FOLDERS = ['./rule-sets/', './'].map((path) => new URL(path, import.meta.url))

/** The names of the rule sets that come with kubeherald, for `include: [kubeherald:NAME]`. */
export function ruleSetNames(): string[] {
  const { names } = sets()
  return names
}

/** The YAML of a rule set; undefined when there is none of that name. */
export function ruleSetText(name: string): string | undefined {
  const { folder, names } = sets()
  return folder && names.includes(name) ? readFileSync(new URL(`${name}.yaml`, folder), 'utf8') : undefined
}

function sets(): { folder?: URL; names: string[] } {
  for (const folder of FOLDERS) {
    try {
      const files = readdirSync(folder).filter((name) => /^[a-z0-9-]+\.yaml$/.test(name))
      return { folder, names: files.map((name) => name.replace(/\.yaml$/, '')).toSorted() }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return { names: [] }
}
