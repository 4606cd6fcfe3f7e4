import { PatternError } from './pattern.ts'

export type Labels = Readonly<Record<string, string>>

/**
 * Compiles a Kubernetes label selector (labels.Parse of k8s.io/apimachinery): `a=b`, `a==b`, `a!=b`, `a in (x, y)`,
 * `a notin (x)`, `a`, `!a`, `a>1`, `a<1`, joined by commas. `!=` and `notin` also match where the label is missing.
 */
export function compileSelector(selector: string): (labels: Labels) => boolean {
  const requirements = parseSelector(selector)
  return (labels) => requirements.every((requirement) => requirement(labels[requirement.key]))
}

interface Requirement {
  (value: string | undefined): boolean
  key: string
}

function parseSelector(selector: string): Requirement[] {
  const reader = createReader(selector)
  const requirements: Requirement[] = []
  for (;;) {
    requirements.push(readRequirement(reader))
    if (reader.atEnd()) return requirements
    reader.expect(',')
  }
}

function readRequirement(reader: Reader): Requirement {
  if (reader.take('!')) return requirement(readKey(reader), (value) => value === undefined)
  const key = readKey(reader)
  const operator = reader.operator()
  switch (operator) {
    case '':
      return requirement(key, (value) => value !== undefined)
    case '=':
    case '==': {
      const wanted = readValue(reader)
      return requirement(key, (value) => value === wanted)
    }
    case '!=': {
      const unwanted = readValue(reader)
      return requirement(key, (value) => value !== unwanted)
    }
    case '<':
    case '>':
      return compare(key, operator, reader)
    default:
      return membership(key, operator, readSet(reader))
  }
}

function requirement(key: string, test: (value: string | undefined) => boolean): Requirement {
  return Object.assign((value: string | undefined) => test(value), { key })
}

function membership(key: string, operator: 'in' | 'notin', values: ReadonlySet<string>): Requirement {
  if (operator === 'in') return requirement(key, (value) => value !== undefined && values.has(value))
  return requirement(key, (value) => value === undefined || !values.has(value))
}

function compare(key: string, operator: '<' | '>', reader: Reader): Requirement {
  const at = reader.position()
  const text = reader.word()
  if (!/^-?\d+$/.test(text)) throw new PatternError(`"${operator}" needs a whole number`, at)
  const limit = Number(text)
  return requirement(key, (value) => {
    if (value === undefined || !/^-?\d+$/.test(value)) return false
    return operator === '<' ? Number(value) < limit : Number(value) > limit
  })
}

function readSet(reader: Reader): ReadonlySet<string> {
  reader.expect('(')
  const values = new Set<string>()
  do {
    values.add(readValue(reader))
  } while (reader.take(','))
  reader.expect(')')
  return values
}

const NAME = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/

function readKey(reader: Reader): string {
  const at = reader.position()
  const key = reader.word()
  if (key === '') throw new PatternError('a label key is missing', at)
  const name = key.slice(key.indexOf('/') + 1)
  if (!NAME.test(name) || name.length > 63) throw new PatternError(`"${key}" is no label key`, at)
  return key
}

function readValue(reader: Reader): string {
  const at = reader.position()
  const value = reader.word()
  if (value !== '' && (!NAME.test(value) || value.length > 63))
    throw new PatternError(`"${value}" is no label value`, at)
  return value
}

type Reader = ReturnType<typeof createReader>

function createReader(text: string) {
  let at = 0
  const skip = () => {
    while (text[at] === ' ' || text[at] === '\t') at++
  }
  skip()
  return {
    position: () => at,
    atEnd: () => at >= text.length,
    take(symbol: string): boolean {
      if (text[at] !== symbol || (symbol === '!' && text[at + 1] === '=')) return false
      at++
      skip()
      return true
    },
    expect(symbol: string): void {
      if (text[at] !== symbol) throw new PatternError(`"${symbol}" expected`, at)
      at++
      skip()
    },
    word(): string {
      const start = at
      while (at < text.length && !/[\s,()=!<>]/.test(text[at] as string)) at++
      const word = text.slice(start, at)
      skip()
      return word
    },
    operator(): '' | '=' | '==' | '!=' | '<' | '>' | 'in' | 'notin' {
      const match = /^(==|=|!=|<|>|notin(?=[\s(])|in(?=[\s(]))/.exec(text.slice(at))
      if (!match) {
        if (at < text.length && text[at] !== ',')
          throw new PatternError('"=", "!=", "in", "notin" or "," expected', at)
        return ''
      }
      at += match[0].length
      skip()
      return match[0] as '='
    },
  }
}
