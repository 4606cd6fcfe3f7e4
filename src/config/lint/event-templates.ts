import { isEventKind } from '../../rules/kind.ts'
import type { ConfigDocument, Path } from '../document.ts'
import type { Draft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import type { Located } from '../source-node.ts'
import { kindsReached } from './reach.ts'

/** Templates of rules for Events that read labels, annotations or the owner of the Event itself, which hardly any Event has. */
export function checkEventTemplates(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => {
    const kinds = kindsReached(rule, draft) ?? []
    const isForEvents = kinds.every(({ builtIn }) => builtIn.length > 0 && builtIn.every(isEventKind))
    if (kinds.length === 0 || !isForEvents) return []
    return ['message', 'to'].flatMap((key) => {
      const path = ['rules', rule.index, key]
      return textsBelow(document.at(path), path).flatMap((it) => problemsIn(it, document))
    })
  })
}

interface Text {
  text: string
  path: Path
}

function textsBelow(located: Located | undefined, path: Path): Text[] {
  if (typeof located?.value === 'string') return [{ text: located.value, path }]
  const entries = [...(located?.entries ?? [])].map(([key, { value }]) => [key, value] as const)
  const children = [...entries, ...(located?.items ?? []).entries()]
  return children.flatMap(([key, child]) => textsBelow(child, [...path, key]))
}

const PLACEHOLDER = /\{\{[^{}]*\}\}|\{%[^{}]*%\}/g
const QUOTED = /"[^"]*"|'[^']*'/g
const OF_ITSELF = /(?<![\w.$-])(?:labels|annotations|owner)(?![\w:-])/g
const REST = /^\w+(?:\.[\w-]+|\[[^\]]*\])*/

function problemsIn({ text, path }: Text, document: ConfigDocument): Problem[] {
  return [...text.matchAll(PLACEHOLDER)].flatMap(({ 0: whole, index }) => {
    const bare = whole.replace(QUOTED, (it) => '_'.repeat(it.length))
    return [...bare.matchAll(OF_ITSELF)].map(({ 0: name, index: at }) => {
      const [written = name] = REST.exec(whole.slice(at)) ?? []
      const message = `hardly any Event has ${name === 'owner' ? 'an owner' : `${name} of its own`}`
      return document.problem('missing-field', path, message, {
        offset: index + at,
        length: written.length,
        severity: 'warning',
        hint: `for the object that it is about write event.regarding.${written}`,
      })
    })
  })
}
