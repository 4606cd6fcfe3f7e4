import type { Subject } from '../message.ts'
import type { TemplateOptions } from './compile.ts'
import { type Sheet, textSheet } from './engine.ts'
import type { TemplateProblem } from './fault.ts'
import { compileProgram, type Program } from './program.ts'

/** Maps, lists and values with templates in them, compiled once. */
export interface TemplateTree {
  /** There is no template in it. */
  readonly constant: boolean
  /**
   * Plain data: JSON.stringify of it is valid JSON whatever is filled in. A text stays a text; one that is a single
   * `{{ … | as_is }}` gives the value with its type. Throws a TemplateFault.
   */
  render(subject: Subject): unknown
}

/** A problem of one text of a tree. */
export interface TreeProblem extends TemplateProblem {
  path: readonly PropertyKey[]
}

export type CompiledTree = { ok: true; tree: TemplateTree } | { ok: false; problems: readonly TreeProblem[] }

type Build = (subject: Subject) => unknown

const MAX_DEPTH = 100

/** Compiles a tree; keys are literal. Everything that is wrong is told, with the path of the text and the place in it. */
export function compileTree(data: unknown, options: TemplateOptions = {}): CompiledTree {
  const problems: TreeProblem[] = []
  let constant = true
  const { onMissing, clock = Date } = options
  const setting = { markup: options, strict: onMissing === 'error', now: () => clock.now() }

  function compile(value: unknown, path: readonly PropertyKey[]): Build {
    if (path.length > MAX_DEPTH) return refuse('is nested too deeply', path)
    if (typeof value === 'string') return compileText(value, path)
    if (Array.isArray(value)) return listOf(value.map((it, index) => compile(it, [...path, index])))
    if (typeof value === 'object' && value !== null)
      return mapOf(Object.entries(value).map(([key, it]) => [key, compile(it, [...path, key])] as const))
    return () => value
  }

  function compileText(source: string, path: readonly PropertyKey[]): Build {
    const compiled = compileProgram(source, { typed: true })
    if (!compiled.ok) {
      problems.push(...compiled.problems.map((it) => ({ ...it, path })))
      return () => undefined
    }
    const { program } = compiled
    if (program.constant) return () => program.run(NOBODY, textSheet, setting).buffer
    constant = false
    return (subject) =>
      program.typed ? typedValue(program, subject) : program.run(subject, textSheet, setting).buffer
  }

  function typedValue(program: Program, subject: Subject): unknown {
    return program.run(subject, valueSheet, setting).value ?? null
  }

  function refuse(message: string, path: readonly PropertyKey[]): Build {
    problems.push({ message, offset: 0, length: 1, path })
    return () => undefined
  }

  const render = compile(data, [])
  return problems.length > 0 ? { ok: false, problems } : { ok: true, tree: { constant, render } }
}

/** For texts that nothing is filled into. */
const NOBODY = undefined as unknown as Subject

interface ValueSheet extends Sheet {
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
  return (subject) => items.map((item) => item(subject))
}

/** `fromEntries` defines keys, also one that is called __proto__. */
function mapOf(entries: readonly (readonly [string, Build])[]): Build {
  return (subject) => Object.fromEntries(entries.map(([key, build]) => [key, build(subject)] as const))
}
