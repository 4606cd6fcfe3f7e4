import { Composer, type Document, Lexer, Parser, YAMLParseError } from 'yaml'

/** No honest file nests deeper: a message's map is at depth eight. */
const MAX_DEPTH = 100

/** Tokens of the YAML lexer, white space included; a thousand rules have 90,000. */
const MAX_LEXEMES = 200_000

/** In a text with more characters than this, tokens are counted before it is parsed. */
const COUNTED_FIRST = 400_000

/** The limit of a ConfigMap. */
export const MAX_FILE_CHARACTERS = 1_048_576

interface TooMuch {
  start: number
  message: string
  hint: string
}

/** Returns why a text is too large to parse, which would take seconds or exhaust memory; undefined if it may be parsed. */
export function tooMuch(text: string): TooMuch | undefined {
  if (text.length > MAX_FILE_CHARACTERS)
    return { start: 0, message: 'the file is larger than 1 MiB', hint: TOO_MANY.hint }
  if (text.length <= COUNTED_FIRST) return undefined
  let lexemes = 0
  for (const _ of new Lexer().lex(text)) {
    if (++lexemes > MAX_LEXEMES) return TOO_MANY
  }
  return undefined
}

const TOO_MANY: TooMuch = {
  start: 0,
  message: `the file has more than ${MAX_LEXEMES} YAML tokens`,
  hint: 'split it, and name the parts under "include"',
}

function tooDeep(start: number): TooMuch {
  const message = `this is nested deeper than ${MAX_DEPTH} levels`
  return { start, message, hint: 'a configuration needs hardly ten: is a bracket missing?' }
}

class Refused extends Error {
  readonly tooMuch: TooMuch
  constructor(tooMuch: TooMuch) {
    super()
    this.tooMuch = tooMuch
  }
}

/** Parses YAML; stops at values that are nested too deep. */
export function parseYaml(text: string): Document.Parsed | TooMuch {
  const limit = Error.stackTraceLimit
  // A thousand faults with their stacks take a second, and nobody sees the stacks.
  Error.stackTraceLimit = 0
  try {
    return compose(text)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return error.tooMuch
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
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme)
    if (parser.stack.length > MAX_DEPTH) throw new Refused(tooDeep(parser.offset))
    if (++lexemes > MAX_LEXEMES) throw new Refused(TOO_MANY)
  }
  yield* parser.end()
}
