import * as z from 'zod'
import { compileTemplate, type Subject, type Template } from '../../../src/sink/index.ts'

/** A tree of JSON with templates for texts. */
export interface BodyTemplate {
  render(subject: Subject): unknown
}

type Node = Template | readonly Node[] | { readonly entries: readonly (readonly [string, Node])[] } | Constant
type Constant = { readonly constant: unknown }
type Issue = (path: readonly PropertyKey[], message: string, params: object) => void

/** Any value; the texts in it are templates. What is filled in stays text: nothing in it ends a string. */
export const BodyTree = z.unknown().transform((tree, context): BodyTemplate => {
  const node = compiled(tree, [], (path, message, params) => {
    context.addIssue({ code: 'custom', path: [...path], message, params })
  })
  return { render: (subject) => rendered(node, subject) }
})

function compiled(value: unknown, path: readonly PropertyKey[], issue: Issue): Node {
  if (typeof value === 'string') {
    const result = compileTemplate(value)
    if (result.ok) return result.template
    for (const { message, offset, length, hint } of result.problems)
      issue(path, message, { offset, length, hint })
    return { constant: value }
  }
  if (Array.isArray(value)) return value.map((it, i) => compiled(it, [...path, i], issue))
  if (typeof value !== 'object' || value === null) return { constant: value ?? null }
  return { entries: Object.entries(value).map(([key, it]) => [key, compiled(it, [...path, key], issue)]) }
}

function rendered(node: Node, subject: Subject): unknown {
  if (Array.isArray(node)) return node.map((it) => rendered(it, subject))
  if ('render' in node) return node.render(subject)
  if ('entries' in node && typeof node.entries !== 'function')
    return Object.fromEntries(node.entries.map(([key, it]) => [key, rendered(it, subject)]))
  return (node as Constant).constant
}
