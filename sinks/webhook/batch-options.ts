import * as z from 'zod'
import { compileTemplate, compileTree, durationText, type Message } from '../../src/sink/index.ts'

/** What `batch.each` writes for one event. Throws a TemplateFault. */
type WriteEach = (message: Message) => string

interface CompiledEach {
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
function compileEach(
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

const Each = z
  .unknown()
  .transform((value, context) => {
    if (value === undefined) return undefined
    const compiled = compileEach(value)
    if (compiled.ok) return compiled.each
    for (const { message, path, offset, length, hint } of compiled.problems)
      context.addIssue({ code: 'custom', message, path: [...path], params: { offset, length, hint } })
    return z.NEVER
  })
  .optional()

/** Many events in one request. */
export const Batch = z.strictObject({
  max: z.int().min(1).max(1_000).optional().meta({ description: 'Events in a request; default: 100.' }),
  maxBytes: z
    .int()
    .min(1_000)
    .max(100_000_000)
    .optional()
    .meta({ description: 'Bytes of a request before compression; default: 1000000.' }),
  /** A call of a second and more counts as slow, and the queue makes its batches smaller. */
  wait: durationText({ least: '1ms', most: '500ms', example: '100ms' })
    .optional()
    .meta({ description: 'How long a request that is not full waits for more events; default: not at all.' }),
  each: Each.meta({
    description:
      'What one event becomes: a tree (JSON), a list of trees (JSON lines) or a text, with templates.',
    examples: [{ message: '{{ message.title }}', time: '{{ time }}' }],
  }),
  separator: z.string().max(100).optional().meta({ description: 'Between events; default: a line break.' }),
  before: z
    .string()
    .max(10_000)
    .optional()
    .meta({ description: 'Before the first event; default: nothing.' }),
  after: z
    .string()
    .max(10_000)
    .optional()
    .meta({ description: 'After the last event; default: a line break.' }),
})

export type BatchOptions = z.output<typeof Batch>
