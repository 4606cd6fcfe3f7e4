// npm test [-- arguments of vitest]. The last line of output is `N passed, N failed`, with `, N skipped` if any.
// `npm run test:fast` gives `--mode fast`: it needs nothing but Redis.
import { runOnNode24, setUp } from './setup.mjs'

const args = process.argv.slice(2)
const isFast = args[0] === '--mode' && args[1] === 'fast'
await setUp({ tests: !isFast })
process.exitCode = await runOnNode24(['node_modules/vitest/vitest.mjs', 'run', ...args])
