// npm run test:crash [-- --minutes N --seed N]
import { runOnNode24, setUp } from './setup.mjs'

await setUp({ tests: true })
process.exitCode = await runOnNode24(['test/crash/main.ts', ...process.argv.slice(2)])
