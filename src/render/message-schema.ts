import * as z from 'zod'
import { hasAtMost, MOST_KEYS, tooMany } from '../bounds.ts'
import type { Severity } from '../sink/index.ts'
import { compileProgram, type Program } from '../sink/template/program.ts'
import { refuse } from '../sink/template/schema.ts'
import { linkProblems } from './link.ts'

export const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info', 'resolved']

const Text = z.string().transform((source, context): Program => {
  const compiled = compileProgram(source)
  return compiled.ok ? compiled.program : refuse(context, compiled.problems)
})

const SeverityText = Text.refine(
  ({ constant, source }) => !constant || isSeverity(source),
  `must be ${SEVERITIES.join(', ')}, or a template that gives one of them`,
)

const LinkText = Text.transform((program, context): Program => {
  const problems = linkProblems(program.source)
  return problems.length > 0 ? refuse(context, problems) : program
})

/** What a message for people may say; what is not given keeps its default. */
const Parts = z.strictObject({
  title: Text.optional().meta({
    description: 'The first line.',
    examples: ['{{ kind }} {{ name }} changed'],
  }),
  text: Text.optional().meta({ description: 'What stands below it.' }),
  severity: SeverityText.optional().meta({
    description: 'error, warning, info or resolved, or a template that gives one.',
  }),
  fields: z
    .union([
      z.literal(false),
      z
        .record(z.string(), Text.meta({ description: 'A Liquid template.' }))
        .refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'fields')),
    ])
    .optional()
    .meta({
      description: 'Names with texts, or false for none.',
      examples: [{ Node: '{{ object.spec.nodeName }}' }],
    }),
  links: z
    .record(z.string(), LinkText.meta({ description: 'An address, with templates.' }))
    .refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'links'))
    .optional()
    .meta({
      description: 'Names with addresses.',
      examples: [{ Dashboard: 'https://grafana.example.com/d/deploy?var-ns={{ namespace }}' }],
    }),
  quote: z.boolean().optional().meta({ description: "false: without the Event's own text." }),
  changes: z.boolean().optional().meta({ description: 'false: without what changed.' }),
  command: z.boolean().optional().meta({ description: 'false: without the kubectl command.' }),
})

/** A rule's `message`, a sink's `messages`: a text that is all that is said, or parts. */
export const MessageTemplates = z.union([Text, Parts])
export type MessageTemplates = z.output<typeof MessageTemplates>
export const MessageParts = Parts
export type MessageParts = z.output<typeof Parts>

export function isSeverity(text: string): text is Severity {
  return SEVERITIES.some((it) => it === text)
}
