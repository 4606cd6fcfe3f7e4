// npm run docs [-- build | dev | preview] [-- options of VitePress]. Builds the site into docs/.vitepress/dist.
import { runOnNode24, setUp } from './setup.mjs'
import { SITE } from './site.mjs'

const [command = 'build', ...args] = process.argv.slice(2)
await setUp({ site: true })
process.exitCode = await runOnNode24(
  ['node_modules/vitepress/bin/vitepress.js', command, '..', ...args],
  // VitePress looks for its settings from here; the compiler's settings of the root are not for it.
  { cwd: SITE },
)
