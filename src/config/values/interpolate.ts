import { suggest } from './suggest.ts'

/** Where values come from that are not written into the file. */
export interface Interpolation {
  env: NodeJS.ProcessEnv
  /** Gives a file's text, its path relative to the configuration's folder; throws when it cannot be read. */
  readFile(path: string): string
  /** Stands for what is not here, such as secrets that only a pod has; without it their absence is an error. */
  standIn?: string | undefined
}

/** A value with its references filled in. */
export interface Filled {
  text: string
  /** What came from outside: never to be shown. */
  secrets: readonly string[]
  faults: readonly ReferenceFault[]
}

export interface ReferenceFault {
  offset: number
  length: number
  message: string
  hint?: string
  /** The text may have been meant as it stands. */
  severity?: 'warning'
  /** What it names is not here, and something stands in for it. */
  absent?: true
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}|$)/g

/** What a variable of the file is within a text, or why it can be none. */
export type VarText =
  | { text: string; secrets: readonly string[] }
  /** Nobody defined it; those that are. */
  | { known: readonly string[] }
  /** It is no text. */
  | { shape: string }
  /** It is part of itself. */
  | { circle: true }

export type VarTextOf = (name: string) => VarText

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
        end === '}' ? resolve(reference, interpolation, varTextOf) : { fault: 'the "}" is missing' }
      if ('value' in result) {
        secrets.push(...(result.secrets ?? [result.value]))
        return result.value
      }
      const { fault: message, hint, absent } = result
      const place = { offset, length: whole.length, message, ...(hint !== undefined && { hint }) }
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

/** `$NAME` and `$(NAME)` as all of a text, as shells and manifests write variables. */
const SHELL_VARIABLE = /^(?:\$[A-Z_][A-Z0-9_]*|\$\([A-Z_][A-Z0-9_]*\))$/

function nearReferences(text: string): ReferenceFault[] {
  if (SHELL_VARIABLE.test(text))
    return [
      {
        offset: 0,
        length: text.length,
        // It may be a password: it is not quoted.
        message: 'this is no reference: it stays as it is',
        hint: `for an environment variable write "\${env:NAME}"`,
        severity: 'warning',
      },
    ]
  return [...text.matchAll(NEAR_REFERENCE)].map(({ 0: whole, 1: reference, index }) => ({
    offset: index,
    length: whole.length,
    message: `${whole} is no reference: it stays as it is`,
    hint: `write \${${reference}}`,
    severity: 'warning',
  }))
}

type Resolved =
  | { value: string /** Of a variable: what of it is secret. */; secrets?: readonly string[] }
  | { fault: string; hint?: string; absent?: true }

function resolve(reference: string, { env, readFile }: Interpolation, varTextOf: VarTextOf): Resolved {
  const [, source, name = ''] = /^(env|file|var):(.+)$/.exec(reference) ?? []
  if (source === 'var') return resolveVar(name, varTextOf(name))
  if (source === 'env') {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    return value === undefined
      ? { fault: `the environment variable ${name} is not set`, absent: true }
      : { value }
  }
  if (source === 'file') return readSecret(name, readFile)
  const isVar = !('known' in varTextOf(reference))
  const hint = /^\w+$/.test(reference)
    ? isVar
      ? `write \${var:${reference}}`
      : `write \${env:${reference}} for the environment variable`
    : `write \${env:NAME}, \${file:PATH} or \${var:NAME}`
  return { fault: `\${${reference}} is no reference`, hint: `${hint}, or $\${ for a plain \${` }
}

function resolveVar(name: string, found: VarText): Resolved {
  if ('text' in found) return { value: found.text, secrets: found.secrets }
  if ('shape' in found)
    return {
      fault: `the variable ${name} is ${found.shape}, and cannot be part of a text`,
      hint: `it can be all of a value only, such as namespace: \${var:${name}}`,
    }
  if ('circle' in found) return { fault: `the variable ${name} is part of itself` }
  const hint = suggest(name, found.known, 'there are') ?? 'name it under "vars"'
  return { fault: `there is no variable "${name}"`, hint }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  NO_PLAIN_FILE: 'it is no plain file',
  FILE_TOO_LARGE: 'it is larger than 1 MiB',
}

function readSecret(path: string, readFile: Interpolation['readFile']): Resolved {
  try {
    return { value: readFile(path).replace(/\r?\n$/, '') }
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const fault = `the file ${path} cannot be read: ${REASONS[code] ?? code}`
    return code === 'ENOENT' ? { fault, absent: true } : { fault }
  }
}
