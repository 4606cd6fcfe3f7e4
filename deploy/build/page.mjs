// The page at `/`: one JS, one CSS and an index.html that names them. The names of both have a digest, so that browsers may keep them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const SOURCE = 'src/observe/page'

/** Builds the page in memory: its files by their path below the server's root (`/assets/page-….js`), and the inputs that the metafile names. */
export async function buildPage(root) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: join(SOURCE, 'main.tsx') },
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // The folder's tsconfig has it too, but not where a bundler for tests reads the files.
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    plugins: [smallerPlot],
    logLevel: 'warning',
  })
  const files = new Map(
    outputFiles.map(({ path, contents }) => [`/assets/${path.split('/').at(-1)}`, Buffer.from(contents)]),
  )
  const named = (end) => [...files.keys()].find((name) => name.endsWith(end))
  const index = readFileSync(join(root, SOURCE, 'index.html'), 'utf8')
    .replace('page.css', named('.css'))
    .replace('page.js', named('.js'))
  files.set('/index.html', Buffer.from(index))
  return { files, inputs: metafile.inputs }
}

const UNUSED =
  /^\s*(uPlot\.join = join;|\(paths\.(stepped|bars|spline)\s+= \w+\);|const localTz = new Intl\..*;)$/gm
const TEXTS_OF_TIMES = /^function (fmtDate|tzDate|timeAxis(?:Vals?|Stamps)|timeSeriesVal)\([\s\S]*?^\}/gm
const NAMES_OF_DAYS = /^(const (?:days|months)3 = )/gm

/**
 * Kinds of lines that the page does not draw, which uPlot keeps at its constructor, where a bundler cannot see that nobody uses them; and
 * its texts of times: axes and series of the page have their own.
 */
const smallerPlot = {
  name: 'smaller-plot',
  setup(build) {
    build.onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace(UNUSED, '')
        .replace(TEXTS_OF_TIMES, 'function $1() {}')
        .replace(NAMES_OF_DAYS, '$1/* @__PURE__ */ '),
    }))
  },
}
