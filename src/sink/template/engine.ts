import type { Context, Emitter, Liquid, Template as Node } from 'liquidjs'
import { Budget, budgetOf, ELEMENT, STEP } from './budget.ts'
import { registerFilters } from './filters.ts'
import { type LiquidLibrary, liquid } from './liquid.ts'
import type { Markup } from './markup.ts'
import { textOf } from './text-of.ts'

/** Tags that neither read files nor can surprise. */
export const TAGS = [
  'assign',
  'break',
  'capture',
  'case',
  'comment',
  'continue',
  'decrement',
  'echo',
  'for',
  'if',
  'increment',
  'liquid',
  'raw',
  'unless',
  '#',
]

export const MAX_SOURCE = 100_000

/** What filters need to know of the rendering that they are in. */
export interface Setting {
  markup: Markup
  now(): number
}

/** Where a rendering goes. */
export interface Sheet extends Emitter {
  /** What comes next stands so in the template, and is not filled in. */
  literal?: boolean
}

export interface Engine {
  library: LiquidLibrary
  liquid: Liquid
  /** Renders nodes onto a sheet. Throws a LiquidError. */
  render(
    nodes: Node[],
    view: object,
    sheet: (charge: (cost: number) => void) => Sheet,
    options: RenderOptions,
  ): void
}

export interface RenderOptions extends Setting {
  strict: boolean
}

let engine: Engine | undefined

/** The one engine: markup is given to each rendering. */
export function theEngine(): Engine {
  engine ??= createEngine(liquid())
  return engine
}

const SETTING = 'setting'

function createEngine(library: LiquidLibrary): Engine {
  const { Context, Drop, Liquid, LiquidError, RenderError, TokenKind, toValueSync } = library

  /** Text that is in the markup already. */
  class Written extends Drop {
    readonly #text: string
    constructor(text: string) {
      super()
      this.#text = text
    }
    override valueOf(): string {
      return this.#text
    }
    override toString(): string {
      return this.#text
    }
  }

  const engine = new Liquid({
    templates: {},
    relativeReference: false,
    dynamicPartials: false,
    jsTruthy: false,
    ownPropertyOnly: true,
    strictFilters: true,
    lenientIf: true,
    parseLimit: MAX_SOURCE,
    locale: 'en-US',
    timezoneOffset: 0,
    operators: safeOperators(library),
    outputEscape(this: { context: Context }, value: unknown) {
      if (value instanceof Written) return value.valueOf()
      const text = textOf(library.toValue(value))
      const { escape } = settingOf(this.context).markup
      return escape && text !== '' ? escape(text) : text
    },
  } as ConstructorParameters<typeof Liquid>[0])
  for (const name of Object.keys(engine.tags)) if (!TAGS.includes(name)) delete engine.tags[name]
  registerFilters(engine, { library, settingOf, written: (text) => new Written(text) })

  function* renderTemplates(nodes: Node[], context: Context, sheet?: Sheet): IterableIterator<unknown> {
    const budget = budgetOf(context)
    const captured = sheet ?? textSheet((cost) => budget.charge(cost))
    budget.charge(STEP)
    for (const node of nodes) {
      budget.charge(STEP)
      captured.literal = node.token.kind === TokenKind.HTML
      try {
        const text = yield node.render(context, captured)
        if (text) captured.write(text)
      } catch (error) {
        throw LiquidError.is(error) ? error : new RenderError(error as Error, node)
      }
      if (context.breakCalled || context.continueCalled) break
    }
    return sheet ? undefined : new Written(captured.buffer)
  }
  Object.assign(engine.renderer, { renderTemplates })

  return {
    library,
    liquid: engine,
    render(nodes, view, sheet, { strict, ...setting }) {
      const budget = new Budget()
      const context = new Context(
        view,
        engine.options,
        { sync: true, strictVariables: strict },
        { liquid: engine, memoryLimit: budget as never },
      )
      context.setRegister(SETTING, setting)
      toValueSync(
        renderTemplates(
          nodes,
          context,
          sheet((cost) => budget.charge(cost)),
        ) as never,
      )
    },
  }
}

function settingOf(context: Context): Setting {
  return context.getRegister(SETTING) as Setting
}

/** Collects text. */
export function textSheet(charge: (cost: number) => void): Sheet {
  return {
    buffer: '',
    write(value: unknown) {
      const text = textOf(value)
      charge(text.length)
      this.buffer += text
    },
  }
}

/** Comparisons that no value can break: an object may well have keys named toString and valueOf. */
function safeOperators({ defaultOperators, Drop, toValue }: LiquidLibrary): object {
  const isData = (value: unknown) => typeof value === 'object' && value !== null && !(value instanceof Drop)
  const ordered = (name: '<' | '>' | '<=' | '>=') =>
    function* (l: unknown, r: unknown, context: Context): IterableIterator<unknown> {
      return !isData(l) && !isData(r) && (yield defaultOperators[name]!(l, r, context))
    }
  const equality = (name: '==' | '!=') =>
    function* (l: unknown, r: unknown, context: Context): IterableIterator<unknown> {
      if (Array.isArray(l)) budgetOf(context).charge(l.length * ELEMENT)
      return yield defaultOperators[name]!(l, r, context)
    }
  function* contains(left: unknown, right: unknown, context: Context): IterableIterator<unknown> {
    const l = toValue(left)
    const r = toValue(right)
    if (Array.isArray(l) || typeof l === 'string') {
      budgetOf(context).charge(typeof l === 'string' ? l.length : l.length * ELEMENT)
      if (typeof l === 'string') return !isData(r) && l.includes(textOf(r))
      return yield defaultOperators['contains']!(l, right, context)
    }
    return isData(l) && typeof r === 'string' && Object.hasOwn(l as object, r)
  }
  const orders = { '<': ordered('<'), '>': ordered('>'), '<=': ordered('<='), '>=': ordered('>=') }
  return { ...defaultOperators, ...orders, '==': equality('=='), '!=': equality('!='), contains }
}
