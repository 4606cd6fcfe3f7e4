import type { TagToken, Tokenizer, TopLevelToken } from 'liquidjs'
import { nearest } from '../../nearest.ts'
import { checkArguments } from './check-arguments.ts'
import { checkBlocks, ENDS, MIDDLES } from './check-blocks.ts'
import { checkExpression, syntaxProblem } from './check-expression.ts'
import { type Checking, spanOf } from './checking.ts'
import { type Engine, TAGS } from './engine.ts'
import type { TemplateProblem } from './fault.ts'
import { foreignHint, tagHint } from './foreign.ts'
import { NAMES } from './view.ts'

export interface Checked {
  problems: readonly TemplateProblem[]
  /** It is one output that ends with `as_is`. */
  isTyped: boolean
}

/** Everything that is wrong with a template, and not only the first of it. `typed` permits `as_is`. */
export function checkSource({ library, liquid }: Engine, source: string, typed: boolean): Checked {
  const problems: TemplateProblem[] = []
  const report = (problem: TemplateProblem) => problems.push(problem)
  const bare = { library, source, locals: new Set<string>(), report }
  const tokens = withoutComments(tokensOf(bare, liquid.options))
  const locals = localsOf(bare, tokens)
  const at: Checking = { ...bare, locals }
  const filters = tokens.map((token) => checkToken(at, token, liquid.options))
  checkBlocks(at, tokens.filter(isTag))
  const isTyped = tokens.length === 1 && filters[0]?.at(-1) === 'as_is' && typed
  const count = filters.flat().filter((name) => name === 'as_is').length
  if (count > (isTyped ? 1 : 0)) report(misplacedAsIs(source, typed))
  return { problems: toldOnce(problems), isTyped }
}

/** From left to right; of several that say the same of one place the widest. */
function toldOnce(problems: readonly TemplateProblem[]): TemplateProblem[] {
  return problems
    .toSorted((a, b) => a.offset - b.offset || b.length - a.length)
    .filter(({ offset, message }, i, all) => {
      const before = all[i - 1]
      return before?.offset !== offset || before.message !== message
    })
}

type Options = Engine['liquid']['options']

/** An output has a content, a tag a name. */
type Piece = TopLevelToken & { name?: string; content?: string; contentRange?: [number, number] }

function tokensOf(at: Checking, options: Options): Piece[] {
  const tokenizer = new at.library.Tokenizer(at.source, options.operators)
  const tokens: Piece[] = []
  try {
    while (!tokenizer.end()) tokens.push(tokenizer.readTopLevelToken(options) as Piece)
  } catch (error) {
    const problem = unclosed(at, error)
    if (problem) at.report(problem)
  }
  return tokens
}

/** `{{` or `{%` without its end, or a tag without a name. */
function unclosed(at: Checking, error: unknown): TemplateProblem | undefined {
  const { offset, message } = syntaxProblem(at, error, at.source.length)
  const rest = at.source.slice(offset)
  const [line = ''] = rest.split('\n', 1)
  if (!/not closed/.test(message))
    return { message: 'the name of a tag is missing', offset, length: line.length }
  // That of a block is told with those of the others.
  if (message.startsWith('raw')) return undefined
  const [open, close] = rest.startsWith('{%') ? ['{%', '%}'] : ['{{', '}}']
  const isQuote = rest.includes(close)
  const sentence = isQuote
    ? `a quote behind this "${open}" is not closed`
    : `this "${open}" is not closed with "${close}"`
  const hint = !isQuote && /^\{\{[^{}]*\}/.test(rest) ? 'two brackets end it: }}' : undefined
  return { message: sentence, offset, length: isQuote ? line.length : 2, ...(hint !== undefined && { hint }) }
}

function isTag(token: Piece): token is TagToken & Piece {
  return token.name !== undefined
}

/** What stands in comments is no template. */
function withoutComments(tokens: readonly Piece[]): Piece[] {
  let isComment = false
  return tokens.filter((token) => {
    if (token.name === 'endcomment') isComment = false
    const isShown = !isComment
    if (token.name === 'comment') isComment = true
    return isShown
  })
}

const NAMING = /^(?:assign|capture|for|increment|decrement)\s+["']?([\w-]+)/

/** The names that a template gives: wherever it does, for a name that is used too early is empty and no mistake. */
function localsOf(at: Checking, tokens: readonly Piece[]): Set<string> {
  const locals = new Set<string>()
  for (const { content = '', contentRange: [begin] = [0], name } of tokens) {
    if (name === undefined) continue
    const lines = name === 'liquid' ? content.slice('liquid'.length).split('\n') : [content]
    for (const line of lines) {
      const [whole = '', given] = NAMING.exec(line.trim()) ?? []
      if (given === undefined) continue
      if (whole.startsWith('for')) locals.add('forloop')
      if (!Object.hasOwn(NAMES, given)) locals.add(given)
      else {
        const offset = at.source.indexOf(given, begin + content.indexOf(line.trim()))
        const message = `"${given}" has a meaning already`
        at.report({ message, offset, length: given.length, hint: 'choose another name' })
      }
    }
  }
  return locals
}

const QUOTED = /"[^"]*"|'[^']*'/g
const OPENING = /\{[{%]/

/** An output that runs on into the next: what lies between is told by nobody else. */
function unended({ begin }: Piece): TemplateProblem {
  return { message: 'this "{{" is not closed with "}}"', offset: begin, length: 2 }
}

/** Checks a token by itself; gives the filters of an output. */
function checkToken(at: Checking, token: Piece, options: Options): readonly string[] {
  if (isTag(token)) {
    checkTag(at, token, options)
    return []
  }
  if (token.contentRange === undefined) return []
  const content = token.content ?? ''
  const hint = foreignHint(content)
  const span = spanOf({ begin: token.contentRange[0], end: token.contentRange[1] })
  if (content === '') at.report({ ...spanOf(token), message: 'there is nothing between "{{" and "}}"' })
  else if (OPENING.test(content.replace(QUOTED, ''))) at.report(unended(token))
  else if (hint !== undefined) at.report({ ...span, message: 'this is another template language', hint })
  else {
    const tokenizer = new at.library.Tokenizer(at.source, options.operators, undefined, token.contentRange)
    return checkExpression(at, tokenizer)
  }
  return []
}

const WORDS = [...TAGS, ...Object.keys(MIDDLES), ...ENDS.map((name) => `end${name}`)]

function checkTag(at: Checking, token: TagToken, options: Options): void {
  const { name, tokenizer } = token
  const span = spanOf({ begin: token.contentRange[0], end: token.contentRange[0] + name.length })
  if (!WORDS.includes(name)) {
    const near = nearest(name, WORDS)
    const hint =
      tagHint(name) ?? (near === undefined ? `there are ${TAGS.join(', ')}` : `did you mean "${near}"?`)
    return at.report({ ...span, message: `there is no tag "${name}"`, hint })
  }
  try {
    if (name === 'liquid') checkLines(at, tokenizer, options)
    else checkArguments(at, name, tokenizer)
  } catch (error) {
    at.report(syntaxProblem(at, error, tokenizer.N))
  }
}

/** The lines of `{% liquid %}` are tags of their own. */
function checkLines(at: Checking, tokenizer: Tokenizer, options: Options): void {
  const tags = tokenizer.readLiquidTagTokens(options) as unknown as TagToken[]
  for (const tag of tags) checkTag(at, tag, options)
  checkBlocks(at, tags)
}

function misplacedAsIs(source: string, typed: boolean): TemplateProblem {
  const offset = source.search(/\bas_is\b/)
  const hint = typed
    ? 'write nothing around it: "{{ object.spec.replicas | as_is }}"'
    : 'leave it out: this is text'
  return {
    message: '"as_is" keeps the type of a value that stands alone',
    offset,
    length: 'as_is'.length,
    hint,
  }
}
