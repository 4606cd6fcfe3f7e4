import type { TagToken, Tokenizer, TopLevelToken } from 'liquidjs'
import { nearest } from '../../text/closest-match.ts'
import { foreignHint, tagHint } from './aliases.ts'
import { type Checking, checkExpression, checkNames, spanOf, syntaxProblem } from './check-expression.ts'
import { type Engine, TAGS } from './engine.ts'
import type { TemplateProblem } from './fault.ts'
import { NAMES } from './view.ts'

/** Tags that need an end. */
const ENDS = ['if', 'unless', 'case', 'for', 'capture', 'comment', 'raw']
/** Tags inside of blocks. */
const MIDDLES: Readonly<Record<string, readonly string[]>> = {
  else: ['if', 'unless', 'case', 'for'],
  elsif: ['if', 'unless'],
  when: ['case'],
}
/** Checks that each block ends, and that blocks are nested. */
function checkBlocks(at: Checking, tags: readonly TagToken[]): void {
  const open: TagToken[] = []
  const spanIn = ({ contentRange: [begin], name }: TagToken) => spanOf({ begin, end: begin + name.length })
  for (const tag of tags) {
    const last = open.at(-1)
    const owners = Object.hasOwn(MIDDLES, tag.name) ? MIDDLES[tag.name] : undefined
    if (ENDS.includes(tag.name)) open.push(tag)
    else if (owners && !owners.includes(last?.name ?? ''))
      at.report({ ...spanIn(tag), message: `"${tag.name}" is not inside of ${owners.join(' or ')}` })
    else if (tag.name.startsWith('end') && ENDS.includes(tag.name.slice(3))) {
      const from = open.findLastIndex(({ name }) => name === tag.name.slice(3))
      if (from === -1) {
        const hint = last && `write {% end${last.name} %}`
        at.report({
          ...spanIn(tag),
          message: `there is no "${tag.name.slice(3)}" that this could end`,
          ...(hint && { hint }),
        })
        if (last) open.pop()
        continue
      }
      for (const inner of open.splice(from).slice(1)) at.report(neverEnded(inner, spanIn))
    }
  }
  for (const tag of open) at.report(neverEnded(tag, spanIn))
}

function neverEnded(
  tag: TagToken,
  spanIn: (tag: TagToken) => { offset: number; length: number },
): TemplateProblem {
  return { ...spanIn(tag), message: `"${tag.name}" is never ended`, hint: `write {% end${tag.name} %}` }
}

interface Checked {
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
  return { problems: sortedOnce(problems), isTyped }
}

/** Sorts from left to right; of duplicates at one position the widest is kept. */
function sortedOnce(problems: readonly TemplateProblem[]): TemplateProblem[] {
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
  // An unclosed block is reported with the others.
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

/** Comments are not checked. */
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

/** Returns the names that a template defines anywhere: a name used too early is empty, not an error. */
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

/** An output that extends into the next one; the text between is not reported elsewhere. */
function unended({ begin }: Piece): TemplateProblem {
  return { message: 'this "{{" is not closed with "}}"', offset: begin, length: 2 }
}

/** Checks one token. Returns the filters of an output. */
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

const TAG_NAMES = [...TAGS, ...Object.keys(MIDDLES), ...ENDS.map((name) => `end${name}`)]

function checkTag(at: Checking, token: TagToken, options: Options): void {
  const { name, tokenizer } = token
  const span = spanOf({ begin: token.contentRange[0], end: token.contentRange[0] + name.length })
  if (!TAG_NAMES.includes(name)) {
    const near = nearest(name, TAG_NAMES)
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
    message: '"as_is" keeps the type of a value without text around it',
    offset,
    length: 'as_is'.length,
    hint,
  }
}

/** Checks a tag's arguments. Throws what the library cannot read. */
function checkArguments(at: Checking, name: string, tokenizer: Tokenizer): void {
  switch (name) {
    case 'if':
    case 'elsif':
    case 'unless':
    case 'case':
      checkExpression(at, tokenizer)
      return
    case 'echo':
      if (!tokenizer.end()) checkExpression(at, tokenizer)
      return
    case 'assign':
      if (tokenizer.readIdentifier().size() === 0) return missing(at, tokenizer, 'the name is missing')
      tokenizer.skipBlank()
      if (tokenizer.peek() !== '=')
        return missing(at, tokenizer, 'the "=" is missing', '{% assign word = name | upcase %}')
      tokenizer.advance()
      checkExpression(at, tokenizer)
      return
    case 'capture':
    case 'increment':
    case 'decrement':
      if (!tokenizer.readNonEmptyIdentifier() && !tokenizer.readQuoted())
        missing(at, tokenizer, 'the name is missing')
      return
    case 'when':
      return checkWhen(at, tokenizer)
    case 'for':
      return checkFor(at, tokenizer)
    case 'else':
      if (/^if\b/.test(tokenizer.remaining()))
        missing(at, tokenizer, '"else if" is one word', '{% elsif … %}')
      return
  }
}

function missing(at: Checking, tokenizer: Tokenizer, message: string, example?: string): void {
  const length = Math.max(1, tokenizer.N - tokenizer.p)
  at.report({ message, offset: tokenizer.p, length, ...(example && { hint: `write ${example}` }) })
}

function checkWhen(at: Checking, tokenizer: Tokenizer): void {
  while (!tokenizer.end()) {
    checkNames(at, tokenizer.readValueOrThrow())
    const [joint] = /^\s*(,|or\b)?/.exec(tokenizer.remaining()) as RegExpExecArray
    tokenizer.advance(joint.length)
    if (joint.trim() === '' && !tokenizer.end())
      return missing(at, tokenizer, 'values are separated by commas')
  }
}

const FOR = '{% for it in object.spec.containers %}'

function checkFor(at: Checking, tokenizer: Tokenizer): void {
  const variable = tokenizer.readIdentifier()
  const begin = tokenizer.p
  const word = tokenizer.readIdentifier()
  if (variable.size() === 0 || word.getText() !== 'in') {
    tokenizer.p = begin
    return missing(at, tokenizer, '"in" is missing', FOR)
  }
  const value = tokenizer.readValue()
  if (!value) return missing(at, tokenizer, 'the list is missing', FOR)
  checkNames(at, value)
  for (const hash of tokenizer.readHashes()) {
    const name = hash.name.getText()
    if (!['limit', 'offset', 'reversed'].includes(name))
      at.report({
        ...spanOf(hash),
        message: `"for" knows no "${name}"`,
        hint: 'it takes limit: 5, offset: 2 and reversed',
      })
    else if (hash.value) checkNames(at, hash.value)
  }
  tokenizer.skipBlank()
  if (!tokenizer.end())
    missing(at, tokenizer, 'this cannot stand here', '{% assign list = … | sort %} in front of it')
}
