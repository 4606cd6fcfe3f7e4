import * as z from 'zod'
import type { Severity, Subject } from '../sink/index.ts'
import type { Output } from '../sink/template/engine.ts'
import type { TemplateProblem } from '../sink/template/fault.ts'
import { textOf } from '../sink/template/formats.ts'
import { compileProgram, type Program } from '../sink/template/program.ts'
import { refuse } from '../sink/template/template.ts'
import { hasAtMost, MOST_KEYS, tooMany } from '../text/bounds.ts'

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info', 'resolved']

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

/** Parts of a message; absent ones keep their default. */
const Parts = z.strictObject({
  title: Text.optional().meta({
    description: 'The first line.',
    examples: ['{{ kind }} {{ name }} changed'],
  }),
  text: Text.optional().meta({ description: 'Shown below it.' }),
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
  logs: z.boolean().optional().meta({ description: "false: without the container's log." }),
  changes: z.boolean().optional().meta({ description: 'false: without what changed.' }),
  command: z.boolean().optional().meta({ description: 'false: without the kubectl command.' }),
})

/** A rule's `message`, a sink's `messages`: one text, or parts. */
export const MessageTemplates = z.union([Text, Parts])
export type MessageTemplates = z.output<typeof MessageTemplates>
export const MessageParts = Parts
export type MessageParts = z.output<typeof Parts>

export function isSeverity(text: string): text is Severity {
  return SEVERITIES.some((it) => it === text)
}

/** Chats refuse longer addresses. */
const MAX_LENGTH = 2_000

/** The address up to where its host has ended. */
const ORIGIN = /^\s*https?:\/\/[^/?#\\\s@]+(?=[/?#])/i

/**
 * Returns problems of the beginning of a link's template: scheme and host must be literal, so that no object can
 * redirect the link. `{{ cluster }}` and `{{ rule }}` may be part of a host, because they come from the
 * configuration.
 */
function linkProblems(source: string): TemplateProblem[] {
  const known = source.replace(/\{\{-?\s*(cluster|rule)\s*-?\}\}/g, (it) => 'x'.repeat(it.length))
  const head = known.split(/\{[{%]/, 1)[0] as string
  if (known.startsWith('{%')) return []
  const length = Math.max(head.length, 1)
  if (!/^\s*https?:\/\//i.test(head)) {
    const hint = 'a link begins with https:// and its host: https://grafana.example.com/d/{{ name }}'
    return [{ message: 'is no http or https address', offset: 0, length, hint }]
  }
  const isWhole = head.length === known.length
  if (isWhole ? URL.canParse(head) : ORIGIN.test(head)) return []
  if (isWhole) return [{ message: 'is not an address that can be read', offset: 0, length }]
  const hint = 'write the host out, and values behind a "/" or "?": https://grafana.example.com/d/{{ name }}'
  return [{ message: 'may not take its host from an object', offset: 0, length, hint }]
}

interface UrlSheet extends Output {
  /** Where the first value begins. */
  filledAt?: number
}

/**
 * Renders a link's template, each value percent-encoded. Undefined when it is no http or https address that could be
 * opened, or when a value would change its host or leave its folder. Throws a TemplateFault.
 */
export function urlOf(program: Program, subject: Subject, now: () => number): string | undefined {
  const markup = { escape: encoded, code: encoded }
  const { buffer, filledAt } = program.run(subject, urlSheet, { markup, now })
  const text = buffer.trim()
  if (filledAt !== undefined && !ORIGIN.test(`${buffer.slice(0, filledAt)}`)) return undefined
  if (text.length > MAX_LENGTH || !URL.canParse(text)) return undefined
  const { protocol, username, password, href } = new URL(text)
  const isWeb = /^https?:$/.test(protocol) && username === '' && password === ''
  return isWeb && !climbs(text) ? href.replace(/[|<>"'`{}^\\]/g, encoded) : undefined
}

function urlSheet(charge: (cost: number) => void): UrlSheet {
  return {
    buffer: '',
    literal: true,
    write(value: unknown) {
      const text = textOf(value)
      charge(text.length)
      if (!this.literal && text !== '') this.filledAt ??= this.buffer.length
      this.buffer += text
    },
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** `..` as a name would lead to another page. */
function climbs(url: string): boolean {
  const path = url.split(/[?#]/, 1)[0] as string
  return path.split(/[/\\]/).some((it) => /^(\.|%2e){1,2}$/i.test(it))
}
