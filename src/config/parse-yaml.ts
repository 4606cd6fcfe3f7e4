import { Composer, type Document, Lexer, Parser, YAMLParseError } from 'yaml'

/** No honest file nests deeper: a message's map is at depth eight. */
const MAX_DEPTH = 100

/** Words, marks and blanks; a thousand rules have 90,000. */
const MAX_LEXEMES = 200_000

/** That of a ConfigMap. */
export const MAX_FILE_CHARACTERS = 1_048_576

export interface TooMuch {
  start: number
  message: string
  hint: string
}

/** What no configuration needs, and would cost seconds or the process; undefined when the text may be parsed. */
export function tooMuch(text: string): TooMuch | undefined {
  if (text.length > MAX_FILE_CHARACTERS)
    return { start: 0, message: 'the file is larger than 1 MiB', hint: SPLIT }
  if (text.length <= MAX_LEXEMES) return undefined
  let lexemes = 0
  for (const _ of new Lexer().lex(text)) {
    if (++lexemes > MAX_LEXEMES)
      return { start: 0, message: `the file has more than ${MAX_LEXEMES} words and marks`, hint: SPLIT }
  }
  return undefined
}

const SPLIT = 'split it, and name the parts under "include"'

class TooDeep extends Error {
  readonly offset: number
  constructor(offset: number) {
    super()
    this.offset = offset
  }
}

/** Parses YAML; what nests too deep is not built. */
export function parseYaml(text: string): Document.Parsed | TooMuch {
  const limit = Error.stackTraceLimit
  // A thousand faults with their stacks take a second, and nobody sees the stacks.
  Error.stackTraceLimit = 0
  try {
    return compose(text)
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    return {
      start: error.offset,
      message: `this stands deeper than ${MAX_DEPTH} levels`,
      hint: 'a configuration needs hardly ten: is a bracket missing?',
    }
  } finally {
    Error.stackTraceLimit = limit
  }
}

function compose(text: string): Document.Parsed {
  const composer = new Composer({
    prettyErrors: false,
    uniqueKeys: false,
    stringKeys: false,
    logLevel: 'error',
  })
  let first: Document.Parsed | undefined
  for (const document of composer.compose(tokensOf(text), true, text.length)) {
    if (!first) first = document as Document.Parsed
    else {
      const [start, end] = document.range
      first.errors.push(new YAMLParseError([start, end], 'MULTIPLE_DOCS', ''))
      break
    }
  }
  return first as Document.Parsed
}

function* tokensOf(text: string) {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme)
    if (parser.stack.length > MAX_DEPTH) throw new TooDeep(parser.offset)
  }
  yield* parser.end()
}
