import { globSync, readFileSync } from 'node:fs'
import { createContext, Script } from 'node:vm'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'
import { leastCpuMs } from '../cpu-time.ts'

const SHORT = 8 * 1024
const LONG = 32 * 1024
/** A linear scan of `LONG` characters takes about half a millisecond. Below this, its growth cannot be measured. */
const MEASURED_MS = 10
/** How many times longer a search takes in a text of four times the length: linear 4, quadratic 16. */
const GROWTH = 8
/** Above this, a scan of `SHORT` characters deserves the measurement with `LONG`. */
const SUSPICIOUS_MS = 0.5
const FROZEN_MS = 250

interface Expression {
  source: string
  flags: string
  where: string
}

interface SyntaxNode {
  type: string
  start: number
  regex?: { pattern: string; flags: string }
  callee?: { property?: { name?: string } }
  arguments?: SyntaxNode[]
}

/** Where an expression begins that only sees text of bounded length: `file: source`, and the bound in characters. */
const BOUNDS: Readonly<Record<string, number>> = {
  [String.raw`sinks/kafka/config.ts: (?:\s*\{\{-`]: 1_000,
  'src/sink/connectivity.ts: ALERT_(': 200,
  [String.raw`src/rules/cel/error-messages.ts: '(?:(.+)\.)?`]: 500,
  [String.raw`src/rules/cel/error-messages.ts: (\w+)\s*\.`]: 400,
  [String.raw`src/rules/cel/error-messages.ts: [\w.?]*(?:[lL]abels`]: 400,
}

const root = new URL('../../', import.meta.url)
const files = globSync('{src,sinks}/**/*.ts', { cwd: root.pathname })
const literals = files.flatMap(literalsIn)
const built = await builtWhileLoading()

test('the scanner finds the expressions of the source', () => {
  expect(literals.length).toBeGreaterThan(300)
  expect(built.length).toBeGreaterThan(10)
  const named = Object.keys(BOUNDS).map((it) => it.slice(0, it.indexOf(': ')))
  expect(files).toEqual(expect.arrayContaining(named))
})

test('no regular expression takes more than linear time, whatever text it gets', async () => {
  const slow: string[] = []
  for (const expression of distinct([...literals, ...built])) {
    const pump = await hostilePump(expression, boundOf(expression))
    if (pump !== undefined) slow.push(`${expression.where}: /${expression.source}/ on ${pump}`)
  }
  expect(slow).toEqual([])
})

test.each([
  ['(a+)+b', ''],
  ['\\s+$', ''],
  ['://[^@]*@', 'g'],
  ['(a*)*b', ''],
  ['-----BEGIN A-----[\\s\\S]+?-----END A-----', 'g'],
])('the search finds that /%s/ takes more than linear time', async (source, flags) => {
  expect(await hostilePump({ source, flags, where: '' })).toBeDefined()
})

function literalsIn(file: string): Expression[] {
  const text = readFileSync(new URL(file, root), 'utf8')
  const found: Expression[] = []
  const splitters = new Set<SyntaxNode>()
  function visit(node: SyntaxNode): void {
    if (node.type === 'CallExpression' && node.callee?.property?.name === 'split')
      for (const it of node.arguments ?? []) splitters.add(it)
    if (node.regex) {
      const { pattern, flags } = node.regex
      const isRepeated = splitters.has(node) && !flags.includes('g')
      const line = text.slice(0, node.start).split('\n').length
      found.push({ source: pattern, flags: isRepeated ? `${flags}g` : flags, where: `${file}:${line}` })
    }
    for (const value of Object.values(node))
      for (const it of [value].flat()) if (typeof it?.type === 'string') visit(it as SyntaxNode)
  }
  visit(parseAst(text, { lang: 'ts' }) as unknown as SyntaxNode)
  return found
}

/** The expressions that modules build of strings while they are loaded. */
async function builtWhileLoading(): Promise<Expression[]> {
  const found: Expression[] = []
  const original = globalThis.RegExp
  let where = ''
  globalThis.RegExp = new Proxy(original, {
    construct(target, [source, flags = '']: [string, string?]) {
      if (typeof source === 'string') found.push({ source, flags, where })
      return new target(source, flags)
    },
  })
  try {
    for (const file of files.filter((it) =>
      /^const .*new RegExp\(/ms.test(readFileSync(new URL(it, root), 'utf8')),
    )) {
      where = file
      await import(new URL(file, root).href)
    }
  } finally {
    globalThis.RegExp = original
  }
  return found
}

function boundOf({ where, source }: Expression): number {
  const named = `${where.replace(/:\d+$/, '')}: ${source}`
  return Object.entries(BOUNDS).find(([begin]) => named.startsWith(begin))?.[1] ?? LONG
}

function distinct(expressions: readonly Expression[]): Expression[] {
  return [...new Map(expressions.map((it) => [`${it.source}/${it.flags}`, it])).values()]
}

/** Returns the repeated text on which the expression takes more than linear time, undefined when none is found. */
async function hostilePump(expression: Expression, most = LONG): Promise<string | undefined> {
  const pumped = [...hostileTexts(expression.source)]
  const text = ({ prefix, unit, suffix }: Pumped, length: number) =>
    prefix + unit.repeat(Math.ceil(length / unit.length)) + suffix
  const times = elapsedMs(
    expression,
    pumped.map((it) => text(it, Math.min(SHORT, most))),
  )
  for (const [i, it] of pumped.entries()) {
    // A search that was interrupted has no times for what came behind.
    if ((times[i] ?? FROZEN_MS) < SUSPICIOUS_MS) continue
    let interruptions = 0
    const search = () => {
      if (elapsedMs(expression, [text(it, most)]).length === 0) interruptions++
    }
    const cpuMs = await leastCpuMs(MEASURED_MS, search)
    // One may come of a neighbour on the core.
    if (interruptions > 1) return `${JSON.stringify(it)}: more than ${FROZEN_MS} ms`
    if (cpuMs < MEASURED_MS) continue
    const shorterMs = await leastCpuMs(cpuMs / GROWTH, () => elapsedMs(expression, [text(it, most / 4)]))
    if (shorterMs < cpuMs / GROWTH) return `${JSON.stringify(it)}: ${Math.round(cpuMs)} ms`
  }
  return undefined
}

const context = createContext({ expression: /x/, texts: [], times: [], now: () => performance.now() })
const script = new Script(`
  for (const text of texts) {
    const start = now()
    if (expression.global) text.replace(expression, '')
    else expression.exec(text)
    times.push(now() - start)
  }
`)

/** Returns the time of a search through each text, until one is interrupted. */
function elapsedMs({ source, flags }: Expression, texts: readonly string[]): number[] {
  const times: number[] = []
  Object.assign(context, { expression: new RegExp(source, flags), texts, times })
  try {
    script.runInContext(context, { timeout: FROZEN_MS })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
  }
  return times
}

const CHARACTERS = [...'aZ0.-_/:=@%#,;&?!*+~|\\^$()[]{}<>"\'` \t\né']

interface Pumped {
  prefix: string
  unit: string
  suffix: string
}

/** Repetitions of single characters, of pairs and words of the expression, behind its own words. */
function* hostileTexts(source: string): Generator<Pumped> {
  const words = wordsIn(source)
  const own = [...new Set([...words.join('').slice(0, 200)])].slice(0, 12)
  const singles = new Set([...CHARACTERS, ...own])
  const prefixes = ['', ...new Set([...own.filter((it) => /\W/.test(it)), ...words.slice(0, 8)])]
  for (const prefix of prefixes) for (const unit of singles) yield { prefix, unit, suffix: '\u0001' }
  const pairable = new Set([...own, 'a', '0', ' '])
  for (const a of pairable)
    for (const b of pairable) if (a !== b) yield { prefix: '', unit: a + b, suffix: '\u0001' }
  for (const word of words.slice(0, 12))
    for (const unit of [word, `${word}a`, `${word} `, `a${word}`, ` ${word}`, `\n${word}`])
      yield { prefix: '', unit, suffix: '\u0001' }
}

/** The literal parts of an expression. */
function wordsIn(source: string): string[] {
  const plain = source
    .replace(/\\[bBdDwWsS]|\\[pP]\{[^}]*\}|\(\?(?:<?[=!]|:|<\w+>)|\{\d+,?\d*\}/g, '\u0000')
    .replace(/\\([nt])/g, (_, it) => (it === 'n' ? '\n' : '\t'))
    .replace(/\\u[\da-f]{4}|\\[\dcxk]\w*/gi, '\u0000')
    .replace(/(?<!\\)[[\]().*+?^$|]/g, '\u0000')
    .replace(/\\(.)/g, '$1')
  return [...new Set(plain.split('\u0000').filter((it) => it !== ''))]
}
