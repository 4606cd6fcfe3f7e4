import { compileTemplate, compileTree, type Message } from '../../src/sink/index.ts'

/** What `batch.each` writes for one event. Throws a TemplateFault. */
type WriteEach = (message: Message) => string

export interface CompiledEach {
  /** It is JSON whatever an object holds. */
  json: boolean
  write: WriteEach
}

interface EachProblem {
  message: string
  path: readonly PropertyKey[]
  offset: number
  length: number
  hint?: string | undefined
}

/**
 * Compiles `batch.each`: a tree is one JSON document, a list of trees one on each line, a text a template. Line breaks in what is
 * filled into a text are written as `\n`, because a line is an event for most receivers.
 */
export function compileEach(
  each: unknown,
): { ok: true; each: CompiledEach } | { ok: false; problems: EachProblem[] } {
  if (typeof each === 'string') {
    const compiled = compileTemplate(each, { escape: onOneLine })
    if (!compiled.ok) return { ok: false, problems: compiled.problems.map((it) => ({ ...it, path: [] })) }
    return { ok: true, each: { json: false, write: (message) => compiled.template.render(message) } }
  }
  if (Array.isArray(each) && each.length === 0)
    return { ok: false, problems: [{ message: 'has no line', path: [], offset: 0, length: 1 }] }
  const lines = Array.isArray(each) ? each : [each]
  const compiled = lines.map((line) => compileTree(line))
  const problems = compiled.flatMap((it, i) =>
    it.ok
      ? []
      : it.problems.map((problem) => ({
          ...problem,
          path: Array.isArray(each) ? [i, ...problem.path] : problem.path,
        })),
  )
  if (problems.length > 0) return { ok: false, problems }
  const trees = compiled.flatMap((it) => (it.ok ? [it.tree] : []))
  const write: WriteEach = (message) => trees.map((tree) => tree.json(message)).join('\n')
  return { ok: true, each: { json: true, write } }
}

function onOneLine(text: string): string {
  return text.replace(/\r\n?|[\n\u2028\u2029]/g, '\\n')
}
