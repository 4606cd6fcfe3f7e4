import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml'
import type { Problem } from './problem.ts'

export type Path = readonly PropertyKey[]

/** A YAML file that knows where each of its values stands. */
export interface ConfigDocument {
  value: unknown
  problems: Problem[]
  /** A problem at the value of a path, or at the key itself; `offset` points into a plain scalar. */
  problem(
    path: Path,
    message: string,
    options?: { atKey?: boolean; offset?: number; severity?: Problem['severity'] },
  ): Problem
  /** True when the value came from the environment or a file, and so must not be shown. */
  isSecret(path: Path): boolean
}

export interface Interpolation {
  env: NodeJS.ProcessEnv
  /** Gives a file's text; throws when it cannot be read. */
  readFile(path: string): string
}

/** Aliases may not blow a small file up into a huge one. */
const MAX_ALIASES = 100

/** Parses YAML, and fills `${env:NAME}` and `${file:PATH}` into its values (never into keys). */
export function readDocument(file: string, text: string, interpolation: Interpolation): ConfigDocument {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, merge: true })
  const secrets = new Set<Node>()

  function at(offset: number, message: string, severity: Problem['severity'] = 'error'): Problem {
    const { line, col } = lineCounter.linePos(offset)
    return { file, line, column: col, message, severity }
  }

  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) =>
    at(pos[0], yamlMessage(message)),
  )
  if (problems.length === 0) problems.push(...interpolate(document.contents, interpolation, secrets, at))

  function nodeAt(path: Path): { key?: Node; node?: Node } {
    let node: unknown = document.contents
    let key: Node | undefined
    for (const step of path) {
      const found = childOf(isAlias(node) ? node.resolve(document) : node, step)
      if (!found) break
      key = found.key ?? key
      node = found.value
    }
    return { ...(key && { key }), ...(isNode(node) && { node }) }
  }

  return {
    problems,
    get value() {
      return toValue(document, problems, at)
    },
    problem(path, message, { atKey = false, offset = 0, severity } = {}) {
      const { key, node } = nodeAt(path)
      const place = (atKey ? key : node) ?? key ?? node
      const quoted = isScalar(place) && place.type !== 'PLAIN' && offset > 0
      return at((place?.range?.[0] ?? 0) + offset + (quoted ? 1 : 0), message, severity)
    },
    isSecret: (path) => {
      const { node } = nodeAt(path)
      return node !== undefined && secrets.has(node)
    },
  }
}

function childOf(node: unknown, step: PropertyKey): { key?: Node; value: unknown } | undefined {
  if (isSeq(node))
    return node.items[Number(step)] === undefined ? undefined : { value: node.items[Number(step)] }
  if (!isMap(node)) return undefined
  const pair = node.items.find((it) => isScalar(it.key) && String(it.key.value) === String(step))
  return pair && { ...(isNode(pair.key) && { key: pair.key }), value: pair.value }
}

function toValue(
  document: ReturnType<typeof parseDocument>,
  problems: Problem[],
  at: (offset: number, message: string) => Problem,
): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (error) {
    problems.push(at(0, `the aliases cannot be resolved: ${(error as Error).message}`))
    return undefined
  }
}

function interpolate(
  contents: Node | null,
  interpolation: Interpolation,
  secrets: Set<Node>,
  at: (offset: number, message: string) => Problem,
): Problem[] {
  const problems: Problem[] = []
  visit(contents, {
    Scalar(key, node: Scalar, ancestors) {
      const isKey = key === 'key' && isPair(ancestors.at(-1))
      if (isKey || typeof node.value !== 'string' || !node.value.includes('${')) return
      const start = (node.range?.[0] ?? 0) + (node.type === 'PLAIN' ? 0 : 1)
      const filled = fill(node.value, interpolation, (message, offset) =>
        problems.push(at(start + offset, message)),
      )
      if (filled !== node.value) secrets.add(node)
      node.value = filled
    },
  })
  return problems
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g

function fill(
  text: string,
  { env, readFile }: Interpolation,
  report: (message: string, offset: number) => void,
): string {
  return text.replace(REFERENCE, (whole, reference: string | undefined, offset: number) => {
    if (reference === undefined) return '${'
    const [, kind, name = ''] = /^(env|file):(.+)$/.exec(reference) ?? []
    if (kind === 'env') {
      const value = env[name]
      if (value !== undefined) return value
      report(`the environment variable ${name} is not set`, offset)
    } else if (kind === 'file') {
      try {
        return readFile(name).replace(/\r?\n$/, '')
      } catch (error) {
        report(
          `the file ${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`,
          offset,
        )
      }
    } else
      report(
        `"${whole}" is no reference: write \${env:NAME} or \${file:PATH}, or $\${ for a plain \${`,
        offset,
      )
    return ''
  })
}

function yamlMessage(message: string): string {
  if (message.startsWith('Map keys must be unique')) return 'this key stands here twice'
  return `no valid YAML: ${message.replace(/ at line \d+, column \d+:?/, '').split('\n')[0]}`
}
