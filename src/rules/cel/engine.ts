import { Environment, serialize } from '@marcbachmann/cel-js'
import {
  type CelFunctions,
  type CelType,
  conversionFunctions,
  listFunctions,
  regexFunctions,
} from './function.ts'
import { instrument } from './instrument.ts'
import { kubernetesFunctions, kubernetesTypes } from './kubernetes-functions.ts'
import { isSpent, refill, TooMuchWork } from './meter.ts'
import { stringFunctions } from './strings.ts'
import { type CelNode, walk } from './syntax-tree.ts'

/** Limits of an expression. */
const LIMITS = {
  maxAstNodes: 2_000,
  maxDepth: 50,
  maxListElements: 500,
  maxMapEntries: 500,
  maxCallArguments: 16,
}
/** In characters. */
const MAX_EXPRESSION = 20_000

/** A fault at a range of the expression's text; `code` and `message` are the library's. */
export interface CelFault {
  code: string
  message: string
  start: number
  end: number
}

/** A compiled expression. */
export interface CelProgram {
  /** The type of its value, as `bool` or `dyn`. */
  type: string
  tree: CelNode
  /** Evaluates it; throws a `CelError` or a `TooMuchWork`. */
  run(variables: object): unknown
}

/** An evaluation failed. */
export class CelError extends Error {
  override name = 'CelError'
  readonly code: string
  /** Offsets into the expression's text. */
  readonly range: { start: number; end: number } | undefined

  constructor(
    message: string,
    code: string,
    range: { start: number; end: number } | undefined,
    cause: unknown,
  ) {
    super(message, { cause })
    this.code = code
    this.range = range
  }
}

interface EngineOptions {
  /** Types of the variables, by name. */
  variables: Readonly<Record<string, string>>
  types?: readonly CelType[]
  /** Undeclared names have the type `dyn`. */
  open?: boolean
  /** Lists and maps in an expression may have members of several types. */
  mixed?: boolean
}

export interface CelEngine {
  compile(text: string): { ok: true; program: CelProgram } | { ok: false; fault: CelFault }
  /** All functions and methods, such as `contains` with `string.contains(string): bool`. */
  functions: readonly { name: string; signature: string; isMethod: boolean }[]
}

const FUNCTIONS: CelFunctions = {
  ...conversionFunctions,
  ...stringFunctions,
  ...listFunctions,
  ...regexFunctions,
  ...kubernetesFunctions,
}
/** Methods of the library that ours replace. They cannot be removed, so that ours are registered with an underscore. */
const REPLACED = /^(matches|contains|indexOf|lastIndexOf|substring|lowerAscii|upperAscii|trim|split|join)$/

/**
 * Creates an engine of CEL with Kubernetes' functions, safe for hostile rules and objects: whole numbers of JSON are ints, regular
 * expressions run in RE2, a key `constructor` is a key, and the cost of an evaluation is bounded.
 */
export function createEngine({
  variables,
  types = [],
  open = false,
  mixed = false,
}: EngineOptions): CelEngine {
  const environment = new Environment({
    unlistedVariablesAreDyn: open,
    homogeneousAggregateLiterals: !mixed,
    enableOptionalTypes: true,
    limits: LIMITS,
  })
  for (const { name, ctor, fields, equalBy } of [...kubernetesTypes, ...types]) {
    environment.registerType(name, fields ? { ctor, fields: { ...fields } } : { ctor })
    if (equalBy)
      environment.registerOperator(
        `${name} == ${name}`,
        (a, b) => equalBy(a as never) === equalBy(b as never),
      )
  }
  for (const [signature, call] of Object.entries(FUNCTIONS)) register(environment, signature, call)
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type)

  return {
    functions: environment.getDefinitions().functions.map(({ name, signature, receiverType }) => ({
      name: plainName(name),
      signature: signature.replace(`${name}(`, `${plainName(name)}(`),
      isMethod: receiverType !== null,
    })),
    compile(text) {
      if (text.length > MAX_EXPRESSION) return { ok: false, fault: tooLong() }
      try {
        const parsed = environment.parse(text)
        const tree = parsed.ast as unknown as CelNode
        walk(tree, useReplacements)
        const { valid, type = 'dyn', error } = parsed.check()
        if (!valid) return { ok: false, fault: faultOf(error, text) }
        instrument(tree)
        return { ok: true, program: { type, tree, run: (context) => evaluate(parsed, context) } }
      } catch (error) {
        return { ok: false, fault: faultOf(error, text) }
      }
    },
  }
}

function register(environment: Environment, signature: string, call: CelFunctions[string]): void {
  const [method, name = ''] = /\.(\w+)\(/.exec(signature) ?? []
  const named = method && REPLACED.test(name) ? signature.replace(`${name}(`, `${name}_(`) : signature
  environment.registerFunction(named, call, { async: false })
}

function useReplacements(node: CelNode): void {
  if (node.op !== 'rcall') return
  const call = node.args as unknown as [string, ...unknown[]]
  if (REPLACED.test(call[0])) call[0] = `${call[0]}_`
}

function plainName(name: string): string {
  return name.replace(/_$/, '')
}

function evaluate(parsed: (context: object) => unknown, context: object): unknown {
  refill()
  let value: unknown
  let spent = false
  try {
    value = parsed(context)
  } catch (error) {
    throw isSpent() ? new TooMuchWork('takes too many steps') : celErrorOf(error)
  } finally {
    spent = isSpent()
    // Values that are shown afterwards are read with a fresh budget.
    refill()
  }
  if (spent) throw new TooMuchWork('takes too many steps')
  return value
}

interface LibraryError {
  code?: string
  summary?: string
  range?: { start: number; end: number }
  message: string
}

function celErrorOf(error: unknown): Error {
  // The stack is exhausted; other RangeErrors are those of functions, such as an unknown time zone.
  if (error instanceof RangeError && /call stack/.test(error.message))
    return new CelError('is nested too deeply to be evaluated', 'range', undefined, error)
  const { code = 'value', summary, range, message } = error as LibraryError
  return new CelError(withoutFrame(summary ?? message), code, range, error)
}

function faultOf(error: unknown, text: string): CelFault {
  const { code = 'error', summary, range, message } = error as LibraryError
  if (error instanceof RangeError)
    return { code: 'limit_exceeded', message: 'Exceeded maxDepth', start: 0, end: text.length }
  const start = Math.min(range?.start ?? 0, text.length)
  return {
    code,
    message: withoutFrame(summary ?? message),
    start,
    end: Math.max(range?.end ?? text.length, start),
  }
}

function withoutFrame(message: string): string {
  return (message.split('\n')[0] ?? '').replaceAll(/(\w)_\(/g, '$1(')
}

function tooLong(): CelFault {
  return { code: 'limit_exceeded', message: 'Exceeded maxLength', start: 0, end: MAX_EXPRESSION }
}

/** Returns a node as an expression on one line. */
export function celText(tree: CelNode): string {
  return serialize(tree as never).replaceAll(/(\w)_\(/g, '$1(')
}
