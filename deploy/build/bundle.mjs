// npm run build [-- FOLDER --without-types]: what ships, in dist or in the folder that is named. Tree-shaken and split, so that a process loads only what its configuration needs.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { licencesOf } from './licences.mjs'
import { builtinsByRequire, loadedLater, withoutSideEffects } from './plugins.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OUT = resolve(ROOT, process.argv[2] ?? 'dist')
process.chdir(ROOT)
rmSync(OUT, { recursive: true, force: true })

// With its exports by name: the package's own entry is CommonJS.
const LIQUID = 'node_modules/liquidjs/dist/liquid.node.mjs'
// Dependencies in CommonJS call require() for what Node brings along.
const banner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

const { metafile } = await build({
  entryPoints: {
    main: 'src/main.ts',
    // A thread's own file, found by its name.
    'reading-thread': 'src/commands/reading-thread.ts',
    sink: 'src/sink/index.ts',
    liquid: LIQUID,
    'sink/testkit': 'src/sink/testkit/index.ts',
  },
  outdir: OUT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  plugins: [
    builtinsByRequire,
    withoutSideEffects('@kubernetes/client-node'),
    loadedLater('liquidjs', /src\/sink\/template\/liquid\.ts$/, 'liquid'),
  ],
  legalComments: 'external',
  banner: { js: banner },
  metafile: true,
  logLevel: 'warning',
})

const main = readFileSync(`${OUT}/main.js`, 'utf8')
// Small young generation: buffers that wait for a collection cost more memory than collections cost time.
writeFileSync(`${OUT}/main.js`, `#!/usr/bin/env -S node --max-semi-space-size=4\n${main}`)
chmodSync(`${OUT}/main.js`, 0o755)
cpSync('rule-sets', `${OUT}/rule-sets`, { recursive: true, filter: (file) => !file.endsWith('.md') })
writeFileSync(`${OUT}/THIRD_PARTY_LICENSES.txt`, licencesOf(metafile.inputs, ROOT))

for (const [name, ...args] of [['kubeherald'], ['kubeherald-included', '--included']]) {
  const schema = spawnSync(process.execPath, [`${OUT}/main.js`, 'schema', ...args], { encoding: 'utf8' })
  if (schema.status !== 0) throw new Error(`the schema cannot be made: ${schema.stderr}`)
  writeFileSync(`${OUT}/${name}.schema.json`, schema.stdout)
}

if (!process.argv.includes('--without-types')) {
  const types = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'deploy/build/tsconfig.json', '--outDir', `${OUT}/types`],
    { stdio: 'inherit' },
  )
  if (types.status !== 0) process.exit(types.status ?? 1)
}

const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0)
console.log(`${OUT}: ${Object.keys(metafile.outputs).length} files, ${(bytes / 1024 / 1024).toFixed(1)} MiB`)
