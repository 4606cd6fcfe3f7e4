// npm test [-- arguments of vitest]. The last line of output is `N passed, N failed`, with `, N skipped` if any.
import { runOnNode24, setUp } from './setup.mjs'

await setUp({ tests: true })
process.exitCode = await runOnNode24(['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)])
