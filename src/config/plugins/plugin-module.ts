import { createRequire, isBuiltin, registerHooks } from 'node:module'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { printable } from '../../text/printable.ts'

/** Why a plug-in cannot be used, as a predicate: "is not there". */
export interface PluginFault {
  message: string
  hint?: string
}

type PluginModule =
  | { ok: true; file: string; exported: Readonly<Record<string, unknown>> }
  | { ok: false; file: string; fault: PluginFault }

const LOAD_LIMIT_MS = 15_000
const MAX_MESSAGE = 300

/** Imports a package or file, resolved from `folder`; whatever it throws becomes a fault. */
export async function importPlugin(name: string, folder: string): Promise<PluginModule> {
  provideContract()
  const found = resolvePlugin(name, folder)
  if ('fault' in found) return { ok: false, file: name, fault: found.fault }
  try {
    return { ok: true, file: found.file, exported: await inTime(import(found.url)) }
  } catch (error) {
    return { ok: false, file: found.file, fault: faultOf(error, found.file) }
  }
}

function resolvePlugin(name: string, folder: string): { file: string; url: string } | { fault: PluginFault } {
  const from = join(folder, 'kubeherald.yaml')
  if (isBuiltin(name)) return { fault: { message: 'is a part of Node, no plug-in' } }
  try {
    const file = createRequire(from).resolve(name)
    return { file, url: pathToFileURL(file).href }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'MODULE_NOT_FOUND') return { fault: notFound(name, folder) }
    // The package exports only the "import" condition: require.resolve() cannot find it, but import() can.
    if (code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') return { fault: faultOf(error, name) }
    return { file: name, url: `${FROM}${pathToFileURL(from).href}#${name}` }
  }
}

function notFound(name: string, folder: string): PluginFault {
  if (/^\.{0,2}\//.test(name))
    return { message: `is not there: ${join(name.startsWith('/') ? '/' : folder, name)}` }
  const isFile = /\.[cm]?[jt]s$/.test(name)
  const hint = isFile
    ? `a file is named with "./" in front: "./${name}"`
    : `install it next to the configuration: npm install --prefix ${folder} ${name}`
  return { message: `is not a package that can be found from ${folder}`, hint }
}

const FROM = 'kubeherald-from:'
/** The bundle has all modules in one folder. */
const CONTRACT = new URL(
  import.meta.url.endsWith('.ts') ? '../../sink/index.ts' : './sink.js',
  import.meta.url,
).href
let provided = false

/** Resolves `kubeherald/sink` to the running program, so that plug-ins need not install it and never get another version. */
function provideContract(): void {
  if (provided) return
  provided = true
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'kubeherald/sink') return { url: CONTRACT, shortCircuit: true }
      if (!specifier.startsWith(FROM)) return next(specifier, context)
      const [parentURL = '', name = ''] = specifier.slice(FROM.length).split('#')
      return next(name, { ...context, parentURL })
    },
  })
}

async function inTime<T>(loading: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`it did not end within ${LOAD_LIMIT_MS / 1_000} s`)),
    LOAD_LIMIT_MS,
  )
  try {
    return await Promise.race([loading, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the first line of an error of Node, with a hint. Never a stack. */
function faultOf(error: unknown, file: string): PluginFault {
  const { code = '' } = (error ?? {}) as { code?: string }
  const said = error instanceof Error ? error.message : String(error)
  const line = printable(shortened(said.split('\n')[0] ?? ''))
  switch (code) {
    case 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING':
      return {
        message: 'is TypeScript inside node_modules, which Node does not run',
        hint: 'a package must bring JavaScript: build it; a TypeScript file of your own can lie anywhere else',
      }
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
    case 'ERR_INVALID_TYPESCRIPT_SYNTAX':
      return {
        message: `cannot be read: ${line}`,
        hint: 'Node only takes types away: enums, namespaces and parameter properties do not work',
      }
    case 'ERR_MODULE_NOT_FOUND':
    case 'MODULE_NOT_FOUND':
      return { message: `imports a missing module: ${line}`, hint: 'install its dependencies in its folder' }
    case 'ERR_UNKNOWN_FILE_EXTENSION':
      return { message: `is no JavaScript or TypeScript: ${line}` }
  }
  if (
    error instanceof SyntaxError &&
    /import statement|import declaration|'export'|import\.meta/.test(said)
  ) {
    const module = `.m${extname(file).slice(1)}`
    return {
      message: 'is read as CommonJS, but is written as a module',
      hint: `let its name end in ${module}, or write "type": "module" into the package.json above it`,
    }
  }
  return { message: `failed while it was loaded: ${line || 'without a message'}` }
}

function shortened(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 1)}…` : text
}
