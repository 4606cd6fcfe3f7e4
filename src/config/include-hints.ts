import { ruleSetNames, SET } from '../rule-sets/rule-sets.ts'
import type { FileDocument, Path } from './document.ts'
import type { IncludeEntry } from './include-entries.ts'
import type { Problem } from './problem.ts'

interface Including {
  document: FileDocument
  entry: IncludeEntry
}

/** What to write where a file cannot be read. */
export function faultHint(including: Including, called: string, fault: string): string | undefined {
  const name = called.replace(/^.*\//, '').replace(/\.ya?ml$/, '')
  if (ruleSetNames().includes(name))
    return `for the set that comes with kubeherald, ${setHint(including, name)}`
  return fault === 'does not exist' ? 'paths are relative to this file' : undefined
}

/** How to include a set: its rules need a sink. */
export function setHint({ document, entry }: Including, name: string): string {
  const root = document.root?.entries
  const [sink] = root?.get('sinks')?.value.entries?.keys() ?? []
  const hasSink = entry.defaults.has('to') || root?.get('defaults')?.value.entries?.has('to') === true
  return `write ${includedAs(`${SET}${name}`, entry.path, hasSink ? undefined : sink)}`
}

/** An entry of `include` in the place of that at a path. */
export function includedAs(set: string, path: Path, sink: string | undefined): string {
  if (sink === undefined || path.includes('from')) return set
  return path.length === 1 ? `[{ from: ${set}, to: ${sink} }]` : `{ from: ${set}, to: ${sink} }`
}

/** Without those that say of a variable that nothing uses it, when another one says that it was meant. */
export function withoutMeant(problems: readonly Problem[]): Problem[] {
  const isMeant = ({ message, hint = '' }: Problem, name: string) =>
    message.startsWith('there is no variable')
      ? hint === `did you mean "${name}"?`
      : hint.startsWith('write ') && hint.includes(`\${var:${name}}`)
  return problems.filter(({ message }) => {
    const name = /^nothing uses the variable "(.+)"$/.exec(message)?.[1]
    return name === undefined || !problems.some((it) => isMeant(it, name))
  })
}
