import { NAMES } from '../../sink/template/view.ts'
import { nearest } from '../../text/closest-match.ts'
import { suggest } from '../error-messages/suggest.ts'
import type { ProblemCode } from '../problem-codes.ts'
import { reasonOf } from '../read-text.ts'

/** The sources of `${env:…}` and `${file:…}`. */
export interface Interpolation {
  env: NodeJS.ProcessEnv
  /** Returns the text of a file, by its path relative to the configuration's folder; throws if it cannot be read. */
  readFile(path: string): string
  /** Placeholder for values that are missing here, such as secrets that only a pod has; without it they are errors. */
  standIn?: string | undefined
}

/** A value with its references filled in. */
export interface Filled {
  text: string
  /** The values of environment variables and files: never print them. */
  secrets: readonly string[]
  faults: readonly ReferenceFault[]
}

export interface ReferenceFault {
  code: ProblemCode
  offset: number
  length: number
  message: string
  hint?: string
  /** For a text that is possibly not a reference. */
  severity?: 'warning'
  /** Its source is missing here, and a placeholder replaces it. */
  absent?: true
  /** The variable that was likely intended. */
  about?: string
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}|$)/g

/** The value of a variable within a text, or why it cannot be part of a text. */
export type VarText =
  | { text: string; secrets: readonly string[] }
  /** It is not defined; the names of those that are. */
  | { known: readonly string[] }
  /** It is a list or a map. */
  | { shape: string }
  /** It refers to itself. */
  | { circle: true }

type VarTextOf = (name: string) => VarText

const NO_VARS: VarTextOf = () => ({ known: [] })

/**
 * Fills `${env:NAME}`, `${file:PATH}` and `${var:NAME}` into a value; `$${` stays a plain `${`. A file loses one final
 * newline.
 */
export function interpolate(
  text: string,
  interpolation: Interpolation,
  varTextOf: VarTextOf = NO_VARS,
): Filled {
  const secrets: string[] = []
  const faults: ReferenceFault[] = nearReferences(text)
  const filled = text.replace(
    REFERENCE,
    (whole: string, reference: string | undefined, end: string, offset: number) => {
      if (reference === undefined) return '${'
      const result: Resolved =
        end === '}'
          ? resolve(reference, interpolation, varTextOf)
          : { code: 'invalid-reference', fault: 'the "}" is missing' }
      if ('value' in result) {
        secrets.push(...(result.secrets ?? [result.value]))
        return result.value
      }
      const { code, fault: message, hint, absent, about } = result
      const place = {
        code,
        offset,
        length: whole.length,
        message,
        ...(hint !== undefined && { hint }),
        ...(about !== undefined && { about }),
      }
      const { standIn } = interpolation
      if (!absent || standIn === undefined) {
        faults.push(place)
        return ''
      }
      faults.push({ ...place, severity: 'warning', absent })
      return standIn
    },
  )
  return { text: filled, secrets, faults }
}

/** `$env:NAME` and `$(env:NAME)`. */
const NEAR_REFERENCE = /\$\(?((?:env|file|var):[\w./-]+)\)?/g

/** `$NAME`, `$(NAME)` and `{{ env.NAME }}` as all of a text, as shells, manifests and other tools write variables. */
const SHELL_VARIABLE = /^(?:\$[A-Z_][A-Z0-9_]*|\$\([A-Z_][A-Z0-9_]*\))$/
const TEMPLATE_VARIABLE = /^\{\{-?\s*\.?(?:env|secrets?)\b[^{}]*\}\}$/i

function nearReferences(text: string): ReferenceFault[] {
  // No template has such a variable.
  const isTemplate = TEMPLATE_VARIABLE.test(text)
  if (isTemplate || SHELL_VARIABLE.test(text))
    return [
      {
        code: 'invalid-reference',
        offset: 0,
        length: text.length,
        // It may be a password: it is not quoted.
        message: isTemplate ? 'this is not a reference' : 'this is not a reference: it stays as it is',
        hint: `for an environment variable write "\${env:NAME}"`,
        ...(!isTemplate && { severity: 'warning' }),
      },
    ]
  return [...text.matchAll(NEAR_REFERENCE)].map(({ 0: whole, 1: reference = '', index }) => ({
    code: 'invalid-reference',
    ...(reference.startsWith('var:') && { about: reference.slice(4) }),
    offset: index,
    length: whole.length,
    message: `${whole} is not a reference: it stays as it is`,
    hint: `write \${${reference}}`,
    severity: 'warning',
  }))
}

interface Fault {
  code: ProblemCode
  fault: string
  hint?: string
  absent?: true
  about?: string
}

type Resolved =
  /** `secrets` are the secret parts of a variable. */
  { value: string; secrets?: readonly string[] } | Fault

function resolve(reference: string, { env, readFile }: Interpolation, varTextOf: VarTextOf): Resolved {
  const [, source, name = ''] = /^(env|file|var):(.+)$/.exec(reference) ?? []
  if (source === 'var') return resolveVar(name, varTextOf(name))
  if (source === 'env') {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined) return { value }
    const fault = `the environment variable ${name} is not set`
    return misspelt('env', name) ?? { code: 'unresolved-reference', fault, absent: true }
  }
  if (source === 'file') return readSecret(name, readFile)
  const isVar = !('known' in varTextOf(reference))
  return {
    code: 'invalid-reference',
    fault: `\${${reference}} is not a reference`,
    hint: `${referenceHint(reference, isVar)}, or $\${ for a plain \${`,
    ...(isVar && { about: reference }),
  }
}

/** Returns a fault for a name that no variable and no file has. A default value is not quoted: it may be a password. */
function misspelt(source: 'env' | 'file', name: string): Fault | undefined {
  const code = 'invalid-reference'
  const [, variable] = (source === 'env' && /^\s*(\w+):[-=?+]/.exec(name)) || []
  if (variable !== undefined)
    return {
      code,
      fault: `\${env:${variable}:…} has a default value, and references have none`,
      hint: `write \${env:${variable}}, and set the variable`,
    }
  if (name === name.trim() || name.trim() === '') return undefined
  return {
    code,
    fault: `the name of \${${source}: …} begins or ends with a blank`,
    hint: `write \${${source}:${name.trim()}}`,
  }
}

function referenceHint(reference: string, isVar: boolean): string {
  if (isVar) return `write \${var:${reference}}`
  const [root = ''] = /^\w+(?=$|[.[])/.exec(reference) ?? []
  if (Object.hasOwn(NAMES, root)) return `write {{ ${reference} }} in a template`
  return root === reference
    ? `write \${env:${reference}} for the environment variable`
    : `write \${env:NAME}, \${file:PATH} or \${var:NAME}`
}

function resolveVar(name: string, found: VarText): Resolved {
  if ('text' in found) return { value: found.text, secrets: found.secrets }
  if ('shape' in found)
    return {
      code: 'invalid-reference',
      fault: `the variable ${name} is ${found.shape}, and cannot be part of a text`,
      hint: `it can be all of a value only, such as namespace: \${var:${name}}`,
    }
  if ('circle' in found) return { code: 'invalid-reference', fault: `the variable ${name} is part of itself` }
  const hint = suggest(name, found.known, 'there are') ?? 'name it under "vars"'
  const about = nearest(name, found.known)
  const fault = `there is no variable "${name}"`
  return { code: 'unknown-variable', fault, hint, ...(about !== undefined && { about }) }
}

function readSecret(path: string, readFile: Interpolation['readFile']): Resolved {
  try {
    return { value: readFile(path).replace(/\r?\n$/, '') }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const fault = `the file ${path} cannot be read: ${reasonOf(error)}`
    if (code !== 'ENOENT') return { code: 'unresolved-reference', fault }
    return misspelt('file', path) ?? { code: 'unresolved-reference', fault, absent: true }
  }
}
