import * as z from 'zod'
import type { Subject } from '../message.ts'
import type { Markup } from '../sink.ts'
import { MAX_SOURCE, type Output, textOutput } from './engine.ts'
import { type TemplateProblem, tooLong } from './fault.ts'
import { compileProgram, type Program } from './program.ts'

/** A text with `{{ … }}` and `{% … %}` in it, compiled once. */
export interface Template {
  readonly source: string
  /** It renders the same for every subject: it contains neither `{{ … }}` nor `{% … %}`. */
  readonly constant: boolean
  /** Throws a TemplateFault. */
  render(subject: Subject): string
}

/** `escape` writes values in the markup of their context; `| raw` leaves them as they are. */
export interface TemplateOptions extends Markup {
  /** For the filter `age`. */
  clock?: { now(): number }
}

export type CompiledTemplate =
  | { ok: true; template: Template }
  | { ok: false; problems: readonly TemplateProblem[] }

/** Compiles a Liquid template, and returns all problems with their positions. */
export function compileTemplate(source: string, options: TemplateOptions = {}): CompiledTemplate {
  const compiled = compileProgram(source)
  if (!compiled.ok) return compiled
  const { program } = compiled
  const { clock = Date } = options
  const setting = { markup: options, now: () => clock.now() }
  return {
    ok: true,
    template: {
      source,
      constant: program.constant,
      render: (subject) => program.run(subject, textOutput, setting).buffer,
    },
  }
}

/** Maps, lists and values with templates in them, compiled once. */
export interface TemplateTree {
  /** It contains no template. */
  readonly constant: boolean
  /**
   * Plain data: JSON.stringify of it is valid JSON for any values. A text stays a text; a single `{{ … | as_is }}`
   * gives the value with its type. Throws a TemplateFault.
   */
  render(subject: Subject): unknown
  /**
   * Returns the same as JSON, in one line. `{{ object | as_is }}` is the object as the API server sent it, without being parsed.
   * Throws a TemplateFault.
   */
  json(subject: JsonSubject): string
}

/** A message, or any other subject. */
type JsonSubject = Subject & { readonly objectJson?: Buffer }

/** A problem of one text of a tree. */
interface TreeProblem extends TemplateProblem {
  path: readonly PropertyKey[]
}

type CompiledTree = { ok: true; tree: TemplateTree } | { ok: false; problems: readonly TreeProblem[] }

/** A compiled value of a tree. */
interface Build {
  value(subject: Subject): unknown
  /** The value as JSON. */
  json(subject: JsonSubject): string
}

const MAX_DEPTH = 100

/** Compiles a tree; keys are literal. Returns all problems, with the path of the text and the position in it. */
export function compileTree(data: unknown, options: TemplateOptions = {}): CompiledTree {
  const problems: TreeProblem[] = []
  let constant = true
  const { clock = Date } = options
  const setting = { markup: options, now: () => clock.now() }

  function compile(value: unknown, path: readonly PropertyKey[]): Build {
    if (path.length > MAX_DEPTH) return refuse('is nested too deeply', path)
    if (typeof value === 'string') return compileText(value, path)
    if (Array.isArray(value)) return listOf(value.map((it, index) => compile(it, [...path, index])))
    if (typeof value === 'object' && value !== null)
      return mapOf(Object.entries(value).map(([key, it]) => [key, compile(it, [...path, key])] as const))
    return constantOf(value)
  }

  function compileText(source: string, path: readonly PropertyKey[]): Build {
    const compiled = compileProgram(source, { typed: true })
    if (!compiled.ok) {
      problems.push(...compiled.problems.map((it) => ({ ...it, path })))
      return constantOf(undefined)
    }
    const { program } = compiled
    if (program.constant) return constantOf(program.run(NOBODY, textOutput, setting).buffer)
    constant = false
    if (program.typed) return typedOf(program)
    const value = (subject: Subject) => program.run(subject, textOutput, setting).buffer
    return { value, json: (subject) => JSON.stringify(value(subject)) }
  }

  function typedOf(program: Program): Build {
    const value = (subject: Subject) => program.run(subject, valueSheet, setting).value ?? null
    const json = (subject: Subject) => jsonOf(value(subject))
    if (!program.isWholeObject) return { value, json }
    return { value, json: (subject) => wholeObject(subject) ?? json(subject) }
  }

  function refuse(message: string, path: readonly PropertyKey[]): Build {
    problems.push({ message, offset: 0, length: 1, path })
    return constantOf(undefined)
  }

  const { value: render, json } = compile(data, [])
  return problems.length > 0 ? { ok: false, problems } : { ok: true, tree: { constant, render, json } }
}

function constantOf(value: unknown): Build {
  const json = jsonOf(value)
  return { value: () => value, json: () => json }
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

const LINE_FEED = 0x0a

/** Returns undefined for an object in several lines, which only plug-ins' tests have. */
function wholeObject({ objectJson }: JsonSubject): string | undefined {
  return objectJson && !objectJson.includes(LINE_FEED) ? objectJson.toString() : undefined
}

/** For texts that nothing is filled into. */
const NOBODY = undefined as unknown as Subject

interface ValueSheet extends Output {
  value?: unknown
}

/** Takes the one value as it is. */
function valueSheet(charge: (cost: number) => void): ValueSheet {
  return {
    buffer: '',
    write(value: unknown) {
      charge(1)
      this.value = value
    },
  }
}

function listOf(items: readonly Build[]): Build {
  return {
    value: (subject) => items.map((item) => item.value(subject)),
    json: (subject) => `[${items.map((item) => item.json(subject)).join(',')}]`,
  }
}

/** `fromEntries` defines keys, also one that is called __proto__. */
function mapOf(entries: readonly (readonly [string, Build])[]): Build {
  const written = entries.map(([key, { json }], i) => ({
    lead: `${i === 0 ? '' : ','}${JSON.stringify(key)}:`,
    json,
  }))
  return {
    value: (subject) => Object.fromEntries(entries.map(([key, { value }]) => [key, value(subject)] as const)),
    json(subject) {
      let text = '{'
      for (const { lead, json } of written) text += lead + json(subject)
      return `${text}}`
    },
  }
}

export interface TemplateTextOptions extends TemplateOptions {
  /** How long the template may be, in characters. Default: 100,000. */
  maxLength?: number
}

/** A zod schema for an option that is a template: text in the file, a compiled Template in the options. */
export function templateText({ maxLength = MAX_SOURCE, ...options }: TemplateTextOptions = {}) {
  return z.string().transform((text, context): Template => {
    if (text.length > maxLength) return refuse(context, [tooLong(text, maxLength)])
    const compiled = compileTemplate(text, options)
    return compiled.ok ? compiled.template : refuse(context, compiled.problems)
  })
}

/** A zod schema for an option that is a tree of maps, lists and values, whose texts are templates. */
export function templateTree(options: TemplateOptions = {}) {
  return z.unknown().transform((data, context): TemplateTree => {
    const compiled = compileTree(data, options)
    return compiled.ok ? compiled.tree : refuse(context, compiled.problems)
  })
}

/** Adds an issue with the position in the text, which the configuration shows. */
export function refuse(
  context: z.core.$RefinementCtx,
  problems: readonly (TemplateProblem & { path?: readonly PropertyKey[] })[],
): never {
  for (const { message, offset, length, hint, path = [] } of problems)
    context.addIssue({ code: 'custom', message, path: [...path], params: { offset, length, hint } })
  return z.NEVER
}
