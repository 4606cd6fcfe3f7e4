// node deploy/release/package.mjs FOLDER   Copies what npm publishes into the folder, once `npm run build` ran. The bundle has the code of
// all dependencies, so the package names only those that its types need: npm installs no others.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OF_USERS = ['README.md', 'LICENSE', 'CHANGELOG.md', 'dist']

/** package.json as it is published, for the types in a folder. Throws if they import what is no dependency. */
export function publishedManifest(types) {
  const { scripts, devDependencies, allowScripts, overrides, dependencies, ...manifest } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const names = [...importedBy(types)].sort()
  const missing = names.filter((name) => !dependencies[name])
  if (missing.length > 0) throw new Error(`the types in ${types} need ${missing.join(', ')}, no dependency`)
  return { ...manifest, dependencies: Object.fromEntries(names.map((name) => [name, dependencies[name]])) }
}

/** The packages that declarations import. */
function importedBy(types) {
  const files = readdirSync(types, { recursive: true }).filter((name) => name.endsWith('.d.ts'))
  const texts = files.map((name) => readFileSync(join(types, name), 'utf8'))
  const imports = texts.flatMap((text) => [...text.matchAll(/\b(?:from|import)[ (]+(['"])([^.'"][^'"]*)\1/g)])
  const paths = imports.map(([, , path]) => path).filter((path) => !path.startsWith('node:'))
  return new Set(paths.map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)[0]))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2]
  if (!folder) {
    console.error('usage: node deploy/release/package.mjs FOLDER')
    process.exit(2)
  }
  mkdirSync(folder, { recursive: true })
  for (const name of OF_USERS) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const manifest = publishedManifest(join(ROOT, 'dist/types'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
}
