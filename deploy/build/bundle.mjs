// npm run build [-- FOLDER --without-types]: what ships, in dist or in the folder that is named. Tree-shaken and split, so that a process loads only what its configuration needs.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { licencesOf } from './licences.mjs'
import { MALLOC, NODE_FLAGS } from './node-flags.mjs'
import { onDemand, requiresOnDemand } from './on-demand.mjs'
import { buildPage } from './page.mjs'
import {
  builtinsByName,
  builtinsByRequire,
  loadedLater,
  loadedTogether,
  withoutSideEffects,
} from './plugins.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OUT = resolve(ROOT, process.argv[2] ?? 'dist')
process.chdir(ROOT)
rmSync(OUT, { recursive: true, force: true })

// With its exports by name: the package's own entry is CommonJS.
const LIQUID = 'node_modules/liquidjs/dist/liquid.node.mjs'
/** What `run` needs of them is little, or nothing. */
const ON_DEMAND = [
  { name: '@marcbachmann/cel-js' },
  { name: 're2js' },
  { name: './postgres', within: 'bullmq' },
  { name: 'cron-parser', within: 'bullmq' },
  { name: 'semver', within: 'bullmq' },
  { name: '@opentelemetry/api', within: 'prom-client' },
  { name: 'js-yaml', within: '@kubernetes/client-node' },
  { name: 'jsonpath-plus', within: '@kubernetes/client-node' },
  { name: 'openid-client', within: '@kubernetes/client-node' },
  { name: 'hpagent', within: '@kubernetes/client-node' },
  { name: 'socks', within: '@kubernetes/client-node' },
  { name: 'socks-proxy-agent', within: '@kubernetes/client-node' },
]
/** Commands that ask the cluster or Redis, and those that need not; the thread of a reload needs what these have. */
const WITH_OTHERS = [
  ...['queue/status', 'queue/dead-letters', 'queue/history', 'dry-run/tail', 'dry-run/backtest'],
  'replay/replay',
  'top/top',
  'control/silence',
  'control/incidents',
  ...[
    'dry-run/explain',
    'dry-run/why',
    'check/check-outside',
    'init/init',
    'rbac/rbac',
    'kinds/kinds',
    'send-test/send-test',
  ],
]
const ALONE = [
  ...['check/check', 'dry-run/test', 'schema', 'import/import', 'load-config/worker-answers'],
  ...['config/show', 'config/routes', 'completion/completion', 'version-report'],
]
const commands = (names) => names.map((name) => resolve(ROOT, `src/cli/${name}.ts`))
// Dependencies in CommonJS call require() for what Node brings along.
const banner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** The commit that is built, where git or the environment knows it. */
function commitOf() {
  const named = process.env.KUBEHERALD_COMMIT || process.env.GITHUB_SHA
  if (named) return named
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

const commit = commitOf()
const COMMON = {
  outdir: OUT,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'external',
  banner: { js: banner },
  define: commit === undefined ? {} : { 'process.env.KUBEHERALD_COMMIT': JSON.stringify(commit) },
  metafile: true,
  logLevel: 'warning',
}
/** For what asks the API server. */
const CLUSTER_PLUGINS = [
  withoutSideEffects('@kubernetes/client-node'),
  requiresOnDemand(/node_modules\/undici\/index\.js$/),
  requiresOnDemand(/node_modules\/undici\/lib\/dispatcher\/client\.js$/, ['connectH2']),
]
const program = await build({
  ...COMMON,
  entryPoints: {
    main: 'src/main.ts',
    // A thread's own file, found by its name.
    'reading-thread': 'src/cli/load-config/reading-thread.ts',
    sink: 'src/sink/index.ts',
    liquid: LIQUID,
    'sink/testkit': 'src/sink/testkit/index.ts',
  },
  splitting: true,
  plugins: [
    onDemand(ROOT, ON_DEMAND),
    builtinsByRequire,
    // The API has most of them; a chunk of its own would cut what every process loads into more files.
    loadedTogether('commands-with-others', [...commands(WITH_OTHERS), resolve(ROOT, 'src/app/api/site.ts')]),
    loadedTogether('commands-alone', commands(ALONE)),
    ...CLUSTER_PLUGINS,
    loadedLater('liquidjs', /src\/sink\/template\/filters\.ts$/, 'liquid'),
    builtinsByName,
  ],
})
// The library by itself: a chunk that it shared with the program would be one more to load at each start of the program.
const library = await build({
  ...COMMON,
  entryPoints: { watch: 'src/watch/library/index.ts' },
  plugins: [onDemand(ROOT, ON_DEMAND), builtinsByRequire, ...CLUSTER_PLUGINS, builtinsByName],
})

const page = await buildPage(ROOT)
for (const [path, body] of page.files) {
  mkdirSync(dirname(`${OUT}/page${path}`), { recursive: true })
  writeFileSync(`${OUT}/page${path}`, body)
}

const main = readFileSync(`${OUT}/main.js`, 'utf8')
const environment = Object.entries(MALLOC).map(([name, value]) => `${name}=${value}`)
// A shell runs the second line, which is a string and a comment to JavaScript: BusyBox's env has no -S.
const command = `export ${environment.join(' ')}; exec node ${NODE_FLAGS.join(' ')} "$0" "$@"`
writeFileSync(`${OUT}/main.js`, `#!/bin/sh\n":" //; ${command}\n${main}`)
chmodSync(`${OUT}/main.js`, 0o755)
cpSync('src/rules/sets', `${OUT}/rule-sets`, { recursive: true, filter: (file) => !/\.(md|ts)$/.test(file) })
writeFileSync(
  `${OUT}/THIRD_PARTY_LICENSES.txt`,
  licencesOf({ ...program.metafile.inputs, ...library.metafile.inputs, ...page.inputs }, ROOT),
)

for (const [name, ...args] of [['kubeherald'], ['kubeherald-included', '--included']]) {
  const schema = spawnSync(process.execPath, [`${OUT}/main.js`, 'schema', ...args], { encoding: 'utf8' })
  if (schema.status !== 0) throw new Error(`the schema cannot be made: ${schema.stderr}`)
  writeFileSync(`${OUT}/${name}.schema.json`, schema.stdout)
}

if (!process.argv.includes('--without-types')) {
  // The library's by itself: its public files name no type of the others.
  for (const config of ['tsconfig.json', 'tsconfig.library.json']) {
    const args = ['-p', `deploy/build/${config}`, '--outDir', `${OUT}/types`]
    const types = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args], {
      stdio: 'inherit',
    })
    if (types.status !== 0) process.exit(types.status ?? 1)
  }
}

const outputs = [program, library].flatMap(({ metafile }) => Object.values(metafile.outputs))
const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0)
console.log(`${OUT}: ${outputs.length} files, ${(bytes / 1024 / 1024).toFixed(1)} MiB`)
