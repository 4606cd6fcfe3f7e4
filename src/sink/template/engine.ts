import type { Context, Emitter, Liquid, Template as Node } from 'liquidjs'
import { Budget, budgetOf, ELEMENT, STEP } from './budget.ts'
import { type LiquidLibrary, liquid, registerFilters, type Setting } from './filters.ts'
import { textOf } from './formats.ts'

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

/** The output of a rendering. */
export interface Output extends Emitter {
  /**
   * If it is not undefined: whether the next text is a literal of the template or configuration, not a value of an
   * object.
   */
  literal?: boolean
}

export interface Engine {
  library: LiquidLibrary
  liquid: Liquid
  /** Renders nodes onto a sheet. Throws a LiquidError. */
  render(
    nodes: Node[],
    view: object,
    sheet: (charge: (cost: number) => void) => Output,
    setting: Setting,
  ): void
}

let engine: Engine | undefined

/** The one engine: each rendering gets its markup. */
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
      const shown = library.toValue(value)
      if (typeof shown === 'object' && shown !== null) budgetOf(this.context).chargeAll(shown)
      const text = textOf(shown)
      const { escape: write } = settingOf(this.context).markup
      return write && text !== '' ? write(text) : text
    },
  } as ConstructorParameters<typeof Liquid>[0])
  for (const name of Object.keys(engine.tags)) if (!TAGS.includes(name)) delete engine.tags[name]

  /** Charges for the list even if the loop ends immediately. */
  class ForTag extends library.ForTag {
    override *render(context: Context, sheet: Emitter): Generator<unknown, void, never> {
      const list: unknown = library.toValue(yield library.evalToken(this.collection, context))
      budgetOf(context).charge(sizeOf(list) * ELEMENT)
      yield super.render(context, sheet)
    }
  }
  engine.registerTag('for', ForTag as never)

  /** Lists are compared element by element, with each value that it might be. */
  class CaseTag extends library.CaseTag {
    override *render(context: Context, sheet: Emitter): Generator<unknown, void, never> {
      const target: unknown = library.toValue(yield this.value.value(context, true))
      const comparisons = this.branches.reduce((sum, { values }) => sum + values.length, 0)
      if (Array.isArray(target)) budgetOf(context).charge(elementsOf(target) * comparisons * ELEMENT)
      yield super.render(context, sheet)
    }
  }
  engine.registerTag('case', CaseTag as never)

  /** Counting the keys of a large map takes its time. */
  class Scope extends Context {
    override readProperty(data: object, key: never): unknown {
      if (key === 'size') budgetOf(this).charge(sizeOf(data) * 100)
      return super.readProperty(data as never, key)
    }
  }
  registerFilters(engine, { library, settingOf, written: (text) => new Written(text) })

  function* renderTemplates(nodes: Node[], context: Context, sheet?: Output): IterableIterator<unknown> {
    const budget = budgetOf(context)
    const captured = sheet ?? textOutput((cost) => budget.charge(cost))
    budget.charge(STEP)
    for (const node of nodes) {
      budget.charge(STEP)
      if (captured.literal !== undefined) captured.literal = isLiteral(node)
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

  /** Returns whether a node is literal text, or a value of the configuration. */
  function isLiteral({ token }: Node): boolean {
    if (token.kind === TokenKind.HTML) return true
    return token.kind === TokenKind.Output && /^\{\{-?\s*(cluster|rule)\s*-?\}\}$/.test(token.getText())
  }

  return {
    library,
    liquid: engine,
    render(nodes, view, sheet, setting) {
      const budget = new Budget()
      const context = new Scope(
        view,
        engine.options,
        { sync: true },
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

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 1
}

/** With those of the lists in it. */
function elementsOf(value: unknown): number {
  return Array.isArray(value) ? value.reduce<number>((sum, it) => sum + elementsOf(it), 1) : 1
}

function settingOf(context: Context): Setting {
  return context.getRegister(SETTING) as Setting
}

/** Collects text. */
export function textOutput(charge: (cost: number) => void): Output {
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
      if (Array.isArray(l)) budgetOf(context).charge(elementsOf(l) * ELEMENT)
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
