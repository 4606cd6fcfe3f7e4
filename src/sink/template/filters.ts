import { createRequire } from 'node:module'
import type { Context, Liquid } from 'liquidjs'
import type { Markup } from '../sink.ts'
import { budgetOf, ELEMENT } from './budget.ts'
import { ageOf, durationOf, kubectlOf, quantityOf, shorten, textOf, yamlOf } from './formats.ts'

interface Tools {
  library: LiquidLibrary
  settingOf(context: Context): Setting
  /** Text that is not to be escaped any more. */
  written(text: string): unknown
}

interface This {
  context: Context
}

type Handler = (this: This, value: unknown, ...args: unknown[]) => unknown

/** The engine's own filters that take text; other values are converted first. */
const TEXT =
  'append prepend capitalize downcase upcase strip lstrip rstrip strip_newlines squish normalize_whitespace remove remove_first remove_last replace replace_first replace_last split truncate truncatewords url_encode cgi_escape uri_escape slugify base64_encode sha256 date'
const NUMBERS = 'abs at_least at_most ceil divided_by floor minus modulo plus round times'
/** Those that take lists, and property names as arguments. */
const LISTS =
  'compact concat find find_index first group_by has last map reject reverse size slice uniq where'
const OWN =
  'age as_is code default duration join json kubectl quantity raw shorten sort sort_natural sum yaml'

/** Data takes longer to write than text. */
const DATA = 4
const DATA_FILTERS = ['json', 'yaml']
/** Filters that process each character. */
const ENCODING = ['cgi_escape', 'slugify', 'uri_escape', 'url_encode']
/** The cost of a character there, and of splitting a text by "". */
const EACH_CHARACTER = 10
/** The cost of counting a character of a text, which "slice" from the end does. */
const COUNTED = 4
/** Own filters that pass a value on or read only its top level. */
const AT_TOP = ['as_is', 'default', 'duration', 'raw', 'sum']

/** All filters. */
export const FILTERS = [TEXT, NUMBERS, LISTS, OWN].flatMap((names) => names.split(' ')).toSorted()

/** Lets the engine have these filters and no others. */
export function registerFilters(engine: Liquid, { library, settingOf, written }: Tools): void {
  const { filters, toValue } = library
  const builtIn = filters as unknown as Record<string, Handler>
  for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name)

  /** Charges arguments before they are read. */
  function register(
    name: string,
    prepare: (value: unknown, index: number) => unknown,
    handler: Handler,
    readsAll: (index: number) => boolean,
  ): void {
    engine.registerFilter(name, {
      raw: name === 'raw' || name === 'as_is',
      handler(this: This, ...given: unknown[]) {
        const budget = budgetOf(this.context)
        const args = given.map((it, index) => {
          if (isNamed(it)) return it
          const value = toValue(it)
          if (isData(value) && readsAll(index)) budget.chargeAll(value)
          return prepare(value, index)
        })
        const factor = ENCODING.includes(name) ? EACH_CHARACTER : 1
        for (const it of args) budget.charge(costOf(it) * factor)
        if (typeof args[0] === 'string') {
          if (args[1] === '') budget.charge(args[0].length * EACH_CHARACTER)
          else if (name === 'slice' && Number(args[1]) < 0) budget.charge(args[0].length * COUNTED)
        }
        const result = budget.inCharacters(() => handler.apply(this, args as [unknown]))
        budget.charge(costOf(result) * (DATA_FILTERS.includes(name) ? DATA : 1))
        return result
      },
    } as never)
  }

  const asText = (value: unknown) => (typeof value === 'number' ? value : textOf(value).toWellFormed())
  for (const name of TEXT.split(' '))
    register(
      name,
      (value, index) => (index > 0 && value === undefined ? value : asText(value)),
      builtIn[name]!,
      () => true,
    )
  for (const name of NUMBERS.split(' '))
    register(
      name,
      (value) => (isData(value) ? 0 : value),
      builtIn[name]!,
      () => false,
    )
  for (const name of LISTS.split(' '))
    register(
      name,
      (value, index) => (index > 0 ? argument(name, value) : listOrText(name, value)),
      builtIn[name]!,
      (index) => index > 0 || name === 'slice',
    )

  const plain = (value: unknown) => value
  const own: Record<string, Handler> = {
    default: builtIn['default']!,
    raw: plain,
    as_is: plain,
    json(value, indent) {
      const spaces = Math.min(Math.max(Number(indent) || 0, 0), 10)
      if (spaces > 0) budgetOf(this.context).chargeAll(value, spaces)
      return JSON.stringify(value ?? null, null, spaces)
    },
    yaml(value) {
      const budget = budgetOf(this.context)
      return yamlOf(value, (characters) => budget.charge(characters * DATA))
    },
    join(value, separator = ' ') {
      const texts = listOf(value).map(textOf)
      const between = textOf(separator)
      budgetOf(this.context).charge(texts.length * between.length)
      return texts.join(between)
    },
    sum(value, key) {
      const read = reader(key)
      return listOf(value).reduce<number>((sum, it) => sum + numberOf(read(it)), 0)
    },
    sort: (value, key) => sorted(value, key, (it) => it),
    sort_natural: (value, key) =>
      sorted(value, key, (it) => (typeof it === 'string' ? it.toLowerCase() : it)),
    shorten: (value, length) => shorten(textOf(value), numberOf(length) || 80),
    quantity: (value) => quantityOf(textOf(value)),
    duration: (value) => durationOf(value),
    kubectl: (value) => kubectlOf(value),
    age(value) {
      return ageOf(textOf(value), settingOf(this.context).now())
    },
    code(value) {
      const text = textOf(value)
      const { code } = settingOf(this.context).markup
      return code && text !== '' ? written(code(text)) : text
    },
  }
  for (const [name, handler] of Object.entries(own))
    register(name, plain, handler, (index) => index > 0 || !AT_TOP.includes(name))
}

/** `key: value` behind a filter's name comes as a pair. */
function isNamed(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value[0] === 'allow_false'
}

function isData(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** A property's name is text; a value that is compared or appended stays as it is. */
function argument(name: string, value: unknown): unknown {
  return isData(value) && name !== 'concat' ? textOf(value) : value
}

function listOrText(name: string, value: unknown): unknown {
  return name === 'slice' && isData(value) && !Array.isArray(value) ? textOf(value) : value
}

function costOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return Array.isArray(value) ? value.length * ELEMENT : 1
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** Longer ones name no property. */
const MAX_KEY = 1_000

/** Returns a function that reads a property of an element. */
function reader(key: unknown): (value: unknown) => unknown {
  if (key === undefined) return (value) => value
  const steps = textOf(key).slice(0, MAX_KEY).split('.')
  return (value) =>
    steps.reduce<unknown>(
      (it, step) => (isData(it) && Object.hasOwn(it as object, step) ? (it as never)[step] : undefined),
      value,
    )
}

function numberOf(value: unknown): number {
  const number = isData(value) ? 0 : Number(value)
  return Number.isFinite(number) ? number : 0
}

/** Sorts numbers by size, other values as text; missing values come last. */
function sorted(value: unknown, key: unknown, fold: (value: unknown) => unknown): unknown[] {
  const read = reader(key)
  const pairs = listOf(value).map((it) => [keyOf(fold(read(it))), it] as const)
  return pairs.toSorted(([a], [b]) => compare(a, b)).map(([, it]) => it)
}

function keyOf(value: unknown): string | number | undefined {
  return typeof value === 'number' ? value : (value ?? undefined) === undefined ? undefined : textOf(value)
}

function compare(a: string | number | undefined, b: string | number | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [left, right] = [String(a), String(b)]
  return left < right ? -1 : Number(left > right)
}

export type LiquidLibrary = typeof import('liquidjs')

let loaded: LiquidLibrary | undefined

/** The template engine, loaded with the first template: most configurations use none. */
export function liquid(): LiquidLibrary {
  loaded ??= createRequire(import.meta.url)('liquidjs') as LiquidLibrary
  return loaded
}

/** The settings of a rendering that filters read. */
export interface Setting {
  markup: Markup
  now(): number
}
