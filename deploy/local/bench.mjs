// npm run bench [-- --only ROW --pairs N]
import { runOnNode24, setUp } from './setup.mjs'

await setUp()
process.exitCode = await runOnNode24(['test/bench/main.ts', ...process.argv.slice(2)])
