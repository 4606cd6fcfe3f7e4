import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = new URL('..', import.meta.url).pathname
const BUILDS = join(ROOT, 'node_modules/.cache/kubeherald')
const KEPT_MS = 24 * 3_600_000

/** What a build is made of, besides the dependencies that the lock file names. */
const SOURCES = ['src', 'sinks', 'deploy/build', 'package-lock.json']

let built: string | undefined

/**
 * The path of the bundle that ships, which the tests run as kubeherald: it starts in a third of the processor time that the
 * sources take. Built when the sources have changed since the last build; throws when that fails.
 */
export function programMain(): string {
  built ??= build()
  return built
}

/** The folder of that bundle, with its types: what ships. */
export function builtFolder(): string {
  const folder = dirname(programMain())
  const types = join(folder, 'types')
  if (existsSync(types)) return folder
  const partial = `${folder}-types-${process.pid}`
  for (const config of ['tsconfig.json', 'tsconfig.library.json'])
    runOrThrow('node_modules/typescript/bin/tsc', '-p', `deploy/build/${config}`, '--outDir', partial)
  renameOnce(partial, types)
  return folder
}

function build(): string {
  const folder = join(BUILDS, digestOfSources())
  const main = join(folder, 'main.js')
  if (existsSync(main)) return main
  mkdirSync(BUILDS, { recursive: true })
  removeOldBuilds()
  const partial = `${folder}-${process.pid}`
  runOrThrow('deploy/build/bundle.mjs', partial, '--without-types')
  renameOnce(partial, folder)
  return main
}

function runOrThrow(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`kubeherald cannot be built for the tests: ${stdout}${stderr}`)
}

function renameOnce(partial: string, folder: string): void {
  try {
    renameSync(partial, folder)
  } catch (error) {
    // Another worker was quicker.
    if (!existsSync(folder)) throw error
    rmSync(partial, { recursive: true, force: true })
  }
}

function digestOfSources(): string {
  const digest = createHash('sha256')
  for (const source of SOURCES) {
    const path = join(ROOT, source)
    const names = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()
      : ['']
    for (const name of names) {
      const file = join(path, name)
      if (!/\.(tsx?|mjs|json|yaml|css|html)$/.test(file) || file.includes('node_modules')) continue
      digest.update(`${source}/${name}\n`).update(readFileSync(file))
    }
  }
  return digest.digest('hex').slice(0, 16)
}

function removeOldBuilds(): void {
  for (const name of readdirSync(BUILDS)) {
    const path = join(BUILDS, name)
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
