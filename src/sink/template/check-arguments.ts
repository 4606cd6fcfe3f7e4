import type { Tokenizer } from 'liquidjs'
import { checkExpression } from './check-expression.ts'
import { checkNames } from './check-names.ts'
import { type Checking, spanOf } from './checking.ts'

/** What stands behind the name of a tag; throws what the library cannot read. */
export function checkArguments(at: Checking, name: string, tokenizer: Tokenizer): void {
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
