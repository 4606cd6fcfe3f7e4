import type { Fault } from './fault.ts'

/** A word or sign of a selector, with its place in the text; `in` and `notin` are words. */
export interface Token {
  kind: 'word' | '(' | ')' | ',' | '!' | '=' | '==' | '!=' | '<' | '>' | 'end'
  text: string
  offset: number
}

/** Walks over tokens. The first failure sticks, and leaves nothing more to read. */
export interface TokenReader {
  readonly fault: Fault | undefined
  peek(): Token
  take(): Token
  /** Takes the next token when it is of this kind. */
  accept(kind: Token['kind']): boolean
  fail(message: string, token: Token): void
}

const SIGN = /==|!=|[()!,=<>]/y
const SPACE = /[ \t\r\n]*/y
const WORD = /[^ \t\r\n()!,=<>]+/y

export function readTokens(text: string): TokenReader {
  const tokens = tokensOf(text)
  const end = tokens.at(-1) as Token
  let at = 0
  let fault: Fault | undefined
  const peek = () => (fault ? end : (tokens[at] ?? end))
  return {
    get fault() {
      return fault
    },
    peek,
    take() {
      const token = peek()
      at++
      return token
    },
    accept(kind) {
      if (peek().kind !== kind) return false
      at++
      return true
    },
    fail(message, { kind, text, offset }) {
      fault ??= { path: [], message, offset, length: kind === 'end' ? 1 : text.length }
    },
  }
}

/** How a message calls a token. */
export function titleOf({ kind, text }: Token): string {
  return kind === 'end' ? 'the end' : `"${text}"`
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let offset = skipSpace(text, 0)
  while (offset < text.length) {
    const sign = readAt(SIGN, text, offset)
    const found = sign ?? readAt(WORD, text, offset) ?? ''
    tokens.push({ kind: sign === undefined ? 'word' : (sign as Token['kind']), text: found, offset })
    offset = skipSpace(text, offset + found.length)
  }
  tokens.push({ kind: 'end', text: '', offset: text.length })
  return tokens
}

function readAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(text)?.[0]
}

function skipSpace(text: string, offset: number): number {
  return offset + (readAt(SPACE, text, offset) ?? '').length
}
