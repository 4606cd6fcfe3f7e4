import { type Loaded, type LoadOptions, loadConfig } from '../../src/config/load.ts'
import { allSinks } from '../../src/sink-types.ts'

/** Loads a configuration as the program would, without touching the disk. */
export function loadText(text: string, options: Partial<LoadOptions> = {}): Promise<Loaded> {
  const readFile = (path: string) => {
    throw Object.assign(new Error(path), { code: 'ENOENT' })
  }
  return loadConfig({
    file: '/etc/kubeherald/kubeherald.yaml',
    text,
    env: {},
    readFile,
    sinkTypes: allSinks,
    ...options,
  })
}

/** `line:column message` of each problem, or of each warning when there is none. */
export async function messagesOf(text: string, options: Partial<LoadOptions> = {}): Promise<string[]> {
  const loaded = await loadText(text, options)
  const found = loaded.ok ? loaded.warnings : loaded.problems
  return found.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

/** Each problem as `severity line:column message = hint`. */
export async function problemsOf(text: string, options: Partial<LoadOptions> = {}): Promise<string[]> {
  const loaded = await loadText(text, options)
  const found = loaded.ok ? loaded.warnings : loaded.problems
  return found.map(
    ({ severity, line, column, message, hint }) => `${severity} ${line}:${column} ${message} = ${hint}`,
  )
}

/** Each problem, or each warning when there is none, as `code line:column`. */
export async function codesOf(text: string, options: Partial<LoadOptions> = {}): Promise<string[]> {
  const loaded = await loadText(text, options)
  const found = loaded.ok ? loaded.warnings : loaded.problems
  return found.map(({ code, line, column }) => `${code} ${line}:${column}`)
}

/** A configuration around some rules. */
export function withRules(rules: string, watch = '[Event, Pod, Deployment]'): string {
  return `watch: ${watch}\nsinks: { screen: { type: stdout } }\nrules:\n${rules}`
}
