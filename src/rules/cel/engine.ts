import { Environment, serialize } from '@marcbachmann/cel-js'
import { conversionFunctions } from './conversions.ts'
import type { CelFunction, CelType } from './function.ts'
import { instrument } from './instrument.ts'
import { listFunctions, regexFunctions } from './lists.ts'
import { isSpent, refill, TooMuchWork } from './meter.ts'
import { netFunctions, netTypes } from './net.ts'
import { quantityFunctions, quantityType } from './quantity.ts'
import { stringFunctions } from './strings.ts'
import { type CelNode, walk } from './syntax-tree.ts'
import { urlFunctions, urlType } from './url.ts'

/** What an expression may consist of. */
export const LIMITS = {
  maxAstNodes: 2_000,
  maxDepth: 50,
  maxListElements: 500,
  maxMapEntries: 500,
  maxCallArguments: 16,
}
/** In characters. */
const MAX_EXPRESSION = 20_000

/** What is wrong with an expression, at a range of its text; `code` is the library's. */
export interface CelFault {
  code: string
  message: string
  start: number
  end: number
}

/** A fault in words for people; its range where that is better than the library's. */
export interface FaultWords {
  message: string
  hint?: string | undefined
  start?: number
  end?: number
}

/** An expression that was read and checked. */
export interface CelProgram {
  /** The type of its value, as `bool` or `dyn`. */
  type: string
  tree: CelNode
  /** Evaluates it; throws a `CelError` or a `TooMuchWork`. */
  run(variables: object): unknown
}

/** What went wrong in an evaluation. */
export class CelError extends Error {
  override name = 'CelError'
  readonly code: string
  /** Where, in the expression's text. */
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

export interface EngineOptions {
  /** Types by the names of variables. */
  variables: Readonly<Record<string, string>>
  types?: readonly CelType[]
  /** Names that are not declared are of no type, rather than wrong. */
  open?: boolean
  /** Lists and maps in an expression may have members of several types. */
  mixed?: boolean
}

export interface CelEngine {
  compile(text: string): { ok: true; program: CelProgram } | { ok: false; fault: CelFault }
  /** Names and forms of all that can be called: `contains`, as `string.contains(string): bool`. */
  functions: readonly { name: string; signature: string; isMethod: boolean }[]
}

const FUNCTIONS = [
  ...conversionFunctions,
  ...stringFunctions,
  ...listFunctions,
  ...regexFunctions,
  ...quantityFunctions,
  ...urlFunctions,
  ...netFunctions,
]
/** Methods of which ours stand for the library's. */
const REPLACED = new Set(
  FUNCTIONS.filter(({ replaces }) => replaces).map(({ signature }) => nameIn(signature)),
)

/**
 * CEL with Kubernetes' functions, and guards against what objects and rules may do: numbers of JSON are ints where they are
 * whole, regular expressions are RE2's, an own key `constructor` misleads nobody, and the work of an evaluation is bounded.
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
  for (const { name, ctor, fields, equalBy } of [quantityType, urlType, ...netTypes, ...types]) {
    environment.registerType(name, fields ? { ctor, fields: { ...fields } } : { ctor })
    if (equalBy)
      environment.registerOperator(
        `${name} == ${name}`,
        (a, b) => equalBy(a as never) === equalBy(b as never),
      )
  }
  for (const it of FUNCTIONS) register(environment, it)
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

/** An underscore tells ours from the library's of the same name, which cannot be taken out. */
function register(environment: Environment, { signature, call }: CelFunction): void {
  const name = nameIn(signature)
  const isReplaced = REPLACED.has(name) && signature.includes(`.${name}(`)
  const named = isReplaced ? signature.replace(`${name}(`, `${name}_(`) : signature
  environment.registerFunction(named, call, { async: false })
}

function nameIn(signature: string): string {
  return /(?<!\w)(\w+)\(/.exec(signature)?.[1] ?? ''
}

function useReplacements(node: CelNode): void {
  if (node.op !== 'rcall') return
  const call = node.args as unknown as [string, ...unknown[]]
  if (REPLACED.has(call[0])) call[0] = `${call[0]}_`
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
    // What is shown of an event is read without a count.
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
  if (error instanceof RangeError)
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

/** As an expression, on one line. */
export function celText(tree: CelNode): string {
  return serialize(tree as never).replaceAll(/(\w)_\(/g, '$1(')
}
